#pragma once

// How to interpret a model's output, from its loss: class probabilities or plain values. Immutable; any thread.

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
  /// A class without a name is named by its number. Throws Error{kData} if there are more names than classes.
  Classes(const config::Typed& loss, const Shape& output, std::vector<std::string> names);

  bool known() const { return kind_ != Kind::kValues; }
  bool one_per_sample() const { return known() && positions() == 1; }
  std::int64_t width() const { return width_; }          ///< values per sample
  std::int64_t row_width() const { return row_width_; }  ///< values per position: the last axis
  std::int64_t positions() const {
    return width_ / row_width_;
  }  ///< positions per sample; each has one class if known()
  /// [H, W] if the output is [H, W, C] with a class at each of several positions; rank 0 otherwise.
  Shape map() const { return map_; }
  std::int64_t count() const;                  ///< classes; two for a single sigmoid
  std::string name(std::int64_t index) const;  ///< its number if it has no name

  /// Class probabilities from the row of one position; applies softmax or sigmoid to logits. Requires known().
  std::vector<float> probabilities(const float* row) const;
  /// The most probable class, the first one of equals. Requires known().
  std::int64_t class_of(const float* row) const;

 private:
  enum class Kind { kValues, kSoftmax, kBinary };
  Kind kind_ = Kind::kValues;
  bool from_logits_ = false;
  std::int64_t width_ = 0, row_width_ = 1;
  Shape map_{};
  std::vector<std::string> names_;
};

/// One for each output of the model, from its loss. Names without an output apply to every output with as many classes.
std::vector<Classes> classes_of_outputs(const experiment::Experiment& experiment, const graph::Graph& graph,
                                        const ClassNames& names);

/// Index of the largest value; the first one on ties.
std::int64_t argmax(const float* values, std::int64_t n);

}  // namespace dptrain::evaluation
