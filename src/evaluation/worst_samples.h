#pragma once

// The samples of a data set that a model does worst on. Pure but for add_processes(); main thread.

#include <array>
#include <cstdint>
#include <vector>

#include "distributed/processes.h"
#include "evaluation/answers.h"

namespace dptrain::evaluation {

/// One sample as an output of the model answers it. The kind of the output decides which fields are used.
struct WorstSample {
  static constexpr std::size_t kMostValues = ValueAnswer::kMostValues;

  std::int64_t index = 0;  ///< in the data set
  /// Of classes -log of the label's probability, of several positions their mean; of values the mean absolute error.
  double loss = 0;
  std::int64_t label = 0, answer = 0;     ///< of one class
  double probability = 0;                 ///< of the answer
  std::int64_t wrong = 0, positions = 0;  ///< of classes at several positions: how many are wrong, of how many
  std::size_t values = 0;                 ///< of the two lists; 0: they would be too long
  std::array<float, kMostValues> labels{}, answers{};
};

/// -log of a probability, which counts as 1e-7 at least, as in Keras; of what is no number the largest.
double class_loss(float probability);

/// Keeps those with the largest loss, of equal ones those that come first in the data set.
class WorstSamples {
 public:
  explicit WorstSamples(std::size_t most = 24) : most_(most) {}

  void add(const WorstSample& sample);
  /// Adds those of the other processes, the same in all.
  void add_processes(distributed::Processes& processes);
  std::vector<WorstSample> sorted() const;  ///< the largest loss first

 private:
  std::size_t most_;
  std::vector<WorstSample> heap_;  // the one to go first in front
};

}  // namespace dptrain::evaluation
