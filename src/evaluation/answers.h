#pragma once

// A model's answers to the samples of a data set. Classes of all samples are written as answers.csv, so that another
// model can be compared on the same samples; values of some samples as predicted.csv. Main thread.

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "distributed/processes.h"
#include "evaluation/classes.h"
#include "plot/regression.h"

namespace dptrain::evaluation {

struct Answer {
  std::int64_t sample = 0;  ///< index in the data set
  std::int64_t label = 0, answer = 0;
  std::int64_t id = 0;  ///< data::Source::whole_index()
  bool operator==(const Answer&) const = default;
};

/// The values of a regression for one sample.
struct ValueAnswer {
  static constexpr std::size_t kMaxValues = 8;

  std::int64_t sample = 0;  ///< index in the data set
  std::array<float, kMaxValues> labels{}, answers{};
};
/// Whether a sample is among about 1,000 chosen ones; depends only on its index and the number of samples.
bool is_chosen(std::int64_t sample, std::int64_t samples);

/// Replaces the values of this process by those of all processes, in order; the result is the same in each.
template <class Value>
void add_processes(std::vector<Value>& values, distributed::Processes& processes) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const std::vector<std::string> all =
      processes.gather({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)});
  values.clear();
  for (const std::string& given : all)
    for (std::size_t i = 0; i + sizeof(Value) <= given.size(); i += sizeof(Value))
      std::memcpy(&values.emplace_back(), given.data() + i, sizeof(Value));
}

/// Columns sample,label,answer (for several values: sample,label_1,answer_1,...), ordered by sample.
std::string values_csv(std::vector<ValueAnswer> answers, std::size_t values);
/// The label-answer pairs of each value, for the charts.
std::vector<plot::ValuePairs> value_pairs(const std::vector<ValueAnswer>& answers, std::size_t values);

/// Columns sample,label,answer,id with class names, ordered by sample.
std::string answers_csv(std::vector<Answer> answers, const Classes& classes);

/// Contents of an answers.csv.
struct SavedAnswers {
  std::string file;
  std::vector<std::string> names;  ///< class names, by Answer::label and Answer::answer
  std::vector<Answer> answers;
  bool has_ids = true;  ///< false: an older version wrote the file
};
/// Throws Error{kData} with the first invalid line.
SavedAnswers read_answers(const std::string& file);

/// A sample of this run, and the answers of the other runs to it.
struct PairedAnswer {
  Answer mine;
  std::vector<Answer> others;
};
struct PairedAnswers {
  std::vector<PairedAnswer> pairs;
  std::vector<std::string> notes;  ///< number of paired samples, and how they were paired
};
/// Pairs the samples that all runs have answered: by id, or by number for a file without ids. Throws Error{kData} if
/// labels differ, fewer than half of the samples are paired, or a file without ids has more or fewer samples.
PairedAnswers pair_answers(std::vector<Answer> mine, const Classes& classes,
                           const std::vector<const SavedAnswers*>& others);

}  // namespace dptrain::evaluation
