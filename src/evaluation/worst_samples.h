#pragma once

// The samples of a data set with the largest loss, for outputs with a class for each pixel with labels and answers.
// Pure but for add_processes(); main thread.

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "distributed/processes.h"
#include "evaluation/answers.h"
#include "plot/rgb_image.h"

namespace dptrain::evaluation {

/// The result of one sample at an output of the model. The kind of output determines which fields are used.
struct WorstSample {
  static constexpr std::size_t kMaxValues = ValueAnswer::kMaxValues;

  std::int64_t index = 0;  ///< in the data set
  /// Classes: -log of the label's probability, averaged over positions. Values: mean absolute error.
  double loss = 0;
  std::int64_t label = 0, answer = 0;     ///< if the sample has one class
  double probability = 0;                 ///< of the answer
  std::int64_t wrong = 0, positions = 0;  ///< classes at several positions: the wrong ones of all
  std::size_t values = 0;                 ///< size of the two lists; 0: too many to store
  std::array<float, kMaxValues> labels{}, answers{};
};

/// Label and answer at each pixel, small enough to be drawn next to each other.
struct SampleMaps {
  static constexpr std::int64_t kMaxPixels = 192;  ///< height and width

  plot::ClassMap label, answer;
};

/// -log of a probability, clipped to at least 1e-7 as in Keras; NaN gives the largest loss.
double class_loss(float probability);

/// Keeps the samples with the largest loss; on ties, the earliest in the data set.
class WorstSamples {
 public:
  static constexpr std::size_t kMost = 24;
  static constexpr std::size_t kMostMaps = 12;  ///< each is drawn as three pictures

  explicit WorstSamples(std::size_t most = kMost) : most_(most) {}

  /// Whether add() would keep the sample, so that its maps are needed.
  bool accepts(const WorstSample& sample) const;
  void add(const WorstSample& sample);
  void add(const WorstSample& sample, SampleMaps maps);
  /// Merges the samples of all processes; the result is the same in each.
  void add_processes(distributed::Processes& processes);
  std::vector<WorstSample> sorted() const;  ///< the largest loss first
  /// Of samples that were added with maps, by index in the data set.
  const std::map<std::int64_t, SampleMaps>& maps() const { return maps_; }

 private:
  void add_maps_of_processes(distributed::Processes& processes);

  std::size_t most_;
  std::vector<WorstSample> heap_;  // heap with the smallest loss in front
  std::map<std::int64_t, SampleMaps> maps_;
};

}  // namespace dptrain::evaluation
