#pragma once

// What the numbers at a model's output mean, from its loss: probabilities of classes, or plain values. Immutable; any
// thread.

#include <cstdint>
#include <string>
#include <vector>

#include "config/typed.h"
#include "core/class_names.h"
#include "core/shape.h"
#include "experiment/experiment.h"

namespace dptrain::evaluation {

class Classes {
 public:
  /// Classes without a name are numbers. Throws Error{kData} if there are more names than classes.
  Classes(const config::Typed& loss, const Shape& output, std::vector<std::string> names);

  bool known() const { return kind_ != Kind::kValues; }
  bool one_per_sample() const { return known() && positions() == 1; }
  std::int64_t width() const { return width_; }                   ///< floats of one sample's output
  std::int64_t row_width() const { return row_width_; }           ///< of one position of it: its last axis
  std::int64_t positions() const { return width_ / row_width_; }  ///< classes that one sample has where known()
  std::int64_t count() const;                                     ///< classes; two for a single sigmoid
  std::string name(std::int64_t index) const;                     ///< or its number

  /// One probability per class from the row of a position; logits go through softmax or sigmoid. Only when known().
  std::vector<float> probabilities(const float* row) const;

 private:
  enum class Kind { kValues, kSoftmax, kBinary };
  Kind kind_ = Kind::kValues;
  bool from_logits_ = false;
  std::int64_t width_ = 0, row_width_ = 1;
  std::vector<std::string> names_;
};

/// One for each output of the model, from its loss. Names without an output serve those of several outputs that have as
/// many classes.
std::vector<Classes> classes_of_outputs(const experiment::Experiment& experiment, const graph::Graph& graph,
                                        const ClassNames& names);

/// Index of the largest; the first of equals.
std::int64_t argmax(const float* values, std::int64_t n);

}  // namespace dptrain::evaluation
