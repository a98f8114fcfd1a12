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
  bool operator==(const Answer&) const = default;
};

/// Puts those of all processes together, the same in all.
void add_processes(std::vector<Answer>& answers, mpi::Processes& processes);

/// "sample,label,answer", the classes by name, in order of the samples.
std::string answers_csv(std::vector<Answer> answers, const Classes& classes);

/// Such a file.
struct KeptAnswers {
  std::string file;
  std::vector<std::string> names;  ///< of the classes that occur, as Answer counts them
  std::vector<Answer> answers;
};
/// Throws Error{kData} with the line that is none of these.
KeptAnswers read_answers(const std::string& file);

}  // namespace dptrain::cli
