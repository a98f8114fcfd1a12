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
  std::int64_t sample = 0;  ///< index in the data set
  std::int64_t label = 0, answer = 0;
  std::int64_t id = 0;  ///< data::Source::whole_index()
  bool operator==(const Answer&) const = default;
};

/// Puts those of all processes together, the same in all.
void add_processes(std::vector<Answer>& answers, mpi::Processes& processes);

/// "sample,label,answer,id", the classes by name, in order of the samples.
std::string answers_csv(std::vector<Answer> answers, const Classes& classes);

/// An answers.csv.
struct KeptAnswers {
  std::string file;
  std::vector<std::string> names;  ///< class names, by Answer::label and Answer::answer
  std::vector<Answer> answers;
  bool has_ids = true;  ///< false: an older version wrote the file
};
/// Throws Error{kData} with the first line that cannot be read.
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
/// Pairs the samples that all runs have answered by id, or by number for a file without ids. Throws Error{kData} if
/// labels differ, fewer than half of the samples are paired, or a file without ids has other samples.
PairedAnswers pair_answers(std::vector<Answer> mine, const Classes& classes,
                           const std::vector<const KeptAnswers*>& others);

}  // namespace dptrain::cli
