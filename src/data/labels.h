#pragma once

// From what a source has for labels to what the loss wants, checked. Immutable; shared by the loader's threads.

#include <cstdint>
#include <memory>

#include "data/loader.h"

namespace dptrain::data {

/// | source \ delivered | kClass                         | kDense                                          |
/// | classes            | checked against 0..width-1     | width 1: the number itself; else a one-hot row  |
/// | rows of values     | a one-hot row, or whole number | as they are; as wide as the output              |
class LabelWriter {
 public:
  /// Throws Error{kData} when the source has no labels that would do.
  LabelWriter(std::shared_ptr<const Source> source, LabelDelivery delivery);

  bool wanted() const { return delivery_.wanted; }
  bool classes() const { return delivery_.kind == optim::LabelKind::kClass; }
  std::int64_t width() const { return delivery_.width; }

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
};

}  // namespace dptrain::data
