#pragma once

// What the numbers at a model's output mean, from its loss: probabilities of classes, or plain values. Immutable; any
// thread.

#include <cstdint>
#include <string>
#include <vector>

#include "config/family.h"
#include "core/shape.h"
#include "experiment/experiment.h"

namespace dptrain::cli {

class Classes {
 public:
  /// `names` may be empty: classes are numbers then. Throws Error{kData} when there are not as many names as classes.
  Classes(const config::Typed& loss, const Shape& output, std::vector<std::string> names);

  bool known() const { return kind_ != Kind::kValues; }
  std::int64_t width() const { return width_; }  ///< floats of one output row
  std::int64_t count() const;                    ///< classes; two for a single sigmoid
  std::string name(std::int64_t index) const;    ///< or its number

  /// One probability per class from an output row; logits go through softmax or sigmoid. Only when known().
  std::vector<float> probabilities(const float* row) const;

 private:
  enum class Kind { kValues, kSoftmax, kBinary };
  Kind kind_ = Kind::kValues;
  bool from_logits_ = false;
  std::int64_t width_ = 0;
  std::vector<std::string> names_;
};

/// One for each output of the model that a checkpoint's loss, or none, stands for: `names` are the classes' where as
/// many are told apart; with a single output they must be.
std::vector<Classes> classes_of_outputs(const experiment::Experiment& experiment, const graph::Graph& graph,
                                        const std::vector<std::string>& names);

/// Index of the largest; the first of equals.
std::int64_t argmax(const float* values, std::int64_t n);

}  // namespace dptrain::cli
