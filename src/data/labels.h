#pragma once

// LabelWriter: converts the labels of a source to the form that the loss needs, and checks them. Immutable; shared by
// the loader's threads.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/loader.h"

namespace dptrain::data {

/// Index of the source's labels for an output: those with its name, or the only ones without a name. Throws
/// Error{kData} if there are none.
int find_label(const Source& source, const std::string& output);

/// Conversions for an output with `positions` rows of width / positions classes each:
///
/// | source \ written            | kClass, [positions]                | kDense, [width]                     |
/// | a class                     | checked; one position only         | one class: the number itself; else a |
/// |                             |                                    | one-hot row                          |
/// | as many values as positions | whole numbers, checked             | as the row above, for each position  |
/// | as many values as the width | one-hot rows                       | as they are                          |
class LabelWriter {
 public:
  /// Throws Error{kData} if the source's labels do not fit.
  LabelWriter(std::shared_ptr<const Source> source, LabelForm form);

  bool classes() const { return form_.kind == nn::LabelKind::kClass; }
  std::int64_t width() const { return form_.width; }
  /// Size of a converted row.
  std::size_t row_bytes() const {
    return classes() ? static_cast<std::size_t>(form_.positions) * sizeof(std::int32_t)
                     : static_cast<std::size_t>(form_.width) * sizeof(float);
  }

  /// Checks the classes and probabilities of all samples, so that bad ones fail before training. Throws Error{kData}.
  void check_all() const;
  /// Writes row_bytes(). `scratch`: memory of the thread, for reuse. Throws Error{kData} for a class that the output
  /// does not have, and for a value outside 0..1 if probabilities are required.
  void write(std::int64_t index, std::vector<float>& scratch, std::byte* out) const;

 private:
  std::int64_t classes_each() const { return form_.width / form_.positions; }
  std::int64_t checked_class(std::int64_t index) const;
  /// Class number from a float.
  std::int32_t whole_class(float value, std::int64_t index) const;
  void classes_of(std::int64_t index, std::vector<float>& scratch, std::int32_t* out) const;
  void values_of(std::int64_t index, std::vector<float>& scratch, float* out) const;
  void check_probabilities(std::int64_t index, const float* values) const;

  std::shared_ptr<const Source> source_;
  LabelForm form_;
  int which_ = 0;           ///< index among the source's labels
  std::int64_t found_ = 1;  ///< values per sample in the source
  bool one_class_ = false;  ///< the source's labels are classes, one per sample
};

}  // namespace dptrain::data
