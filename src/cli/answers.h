#pragma once

// What a model answers to each sample of a data set, where it has one class each: kept as answers.csv, so that another
// model can be compared with it on the same samples. Main thread.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/classes.h"
#include "mpi/processes.h"

namespace dptrain::cli {

struct Answer {
  std::int64_t sample = 0;  ///< its place in the data set
  std::int64_t label = 0, answer = 0;
  std::int64_t id = 0;  ///< data::Source::whole_index()
  bool operator==(const Answer&) const = default;
};

/// Puts those of all processes together, the same in all.
void add_processes(std::vector<Answer>& answers, mpi::Processes& processes);

/// "sample,label,answer,id", the classes by name, in order of the samples.
std::string answers_csv(std::vector<Answer> answers, const Classes& classes);

/// Such a file.
struct KeptAnswers {
  std::string file;
  std::vector<std::string> names;  ///< of the classes that occur, as Answer counts them
  std::vector<Answer> answers;
  bool has_ids = true;  ///< false: an older version wrote the file
};
/// Throws Error{kData} with the line that is none of these.
KeptAnswers read_answers(const std::string& file);

/// A sample of this run, and the answers of the other runs to it.
struct PairedAnswer {
  Answer mine;
  std::vector<Answer> others;
};
struct PairedAnswers {
  std::vector<PairedAnswer> pairs;
  std::vector<std::string> notes;  ///< how many samples are paired, and how
};
/// The samples that all runs have answered, by id; those of a file without ids by number. Throws Error{kData} where
/// labels differ, where fewer than half of the samples are paired, and for a file without ids that has other samples.
PairedAnswers pair_answers(std::vector<Answer> mine, const Classes& classes,
                           const std::vector<const KeptAnswers*>& others);

}  // namespace dptrain::cli
