#pragma once

// From what a source has for labels to what the loss wants, checked. Immutable; shared by the loader's threads.

#include <cstdint>
#include <memory>

#include "data/loader.h"

namespace dptrain::data {

/// Which of the source's labels serve an output of that name: its own, or the only ones without a name. Throws
/// Error{kData} where there are none.
int find_label(const Source& source, const std::string& output);

/// | source \ delivered | kClass                         | kDense                                          |
/// | classes            | checked against 0..width-1     | width 1: the number itself; else a one-hot row  |
/// | rows of values     | a one-hot row, or whole number | as they are; as wide as the output              |
class LabelWriter {
 public:
  /// Throws Error{kData} when the source has no labels that would do.
  LabelWriter(std::shared_ptr<const Source> source, LabelDelivery delivery);

  bool classes() const { return delivery_.kind == optim::LabelKind::kClass; }
  std::int64_t width() const { return delivery_.width; }
  /// Of one row as it is delivered.
  std::size_t row_bytes() const {
    return classes() ? sizeof(std::int32_t) : static_cast<std::size_t>(width()) * sizeof(float);
  }

  /// Reads every class once, so that a bad label shows before training, not in the middle of it. Throws Error{kData}.
  void check_all() const;
  /// The class of a sample; for kClass. `row` is room for width() floats. Throws Error{kData} when out of range.
  std::int32_t class_of(std::int64_t index, float* row) const;
  /// Writes width() floats; for kDense. Throws Error{kData} for what is no probability where those are wanted.
  void values_of(std::int64_t index, float* out) const;

 private:
  std::int64_t checked_class(std::int64_t index) const;

  std::shared_ptr<const Source> source_;
  LabelDelivery delivery_;
  int which_ = 0;  ///< of the source's labels
};

}  // namespace dptrain::data
