#pragma once

// LabelWriter: converts the labels of a source to the form that the loss needs, and checks them. Immutable; shared by
// the loader's threads.

#include <algorithm>
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
/// | a map of classes            | checked, after the transforms       | one-hot rows, after the transforms   |
///
/// A dense row of LabelForm::ignored is -1.
class LabelWriter {
 public:
  /// Throws Error{kData} if the source's labels do not fit.
  LabelWriter(std::shared_ptr<const Source> source, LabelForm form);

  bool classes() const { return form_.kind == nn::LabelKind::kClass; }
  /// Whether the labels are maps: read_map(), transforms, and write_map() replace write().
  bool is_map() const { return map_; }
  std::int64_t width() const { return form_.width; }
  /// Size of a converted row.
  std::size_t row_bytes() const {
    return classes() ? static_cast<std::size_t>(form_.positions) * sizeof(std::int32_t)
                     : static_cast<std::size_t>(form_.width) * sizeof(float);
  }

  /// Checks the classes and probabilities of all samples but maps, so that bad ones fail before training. Throws
  /// Error{kData}.
  void check_all() const;
  /// Checks sizes and classes of at most kCheckedMaps label maps, evenly spread. Throws Error{kData} with all files
  /// that do not fit. The source must not be cached: its images have the size of the files.
  void check_maps() const;
  static constexpr std::int64_t kCheckedMaps = 1000;
  /// Writes row_bytes(). `scratch`: memory of the thread, for reuse. Throws Error{kData} for a class that the output
  /// does not have, and for a value outside 0..1 if probabilities are required.
  void write(std::int64_t index, std::vector<float>& scratch, std::byte* out) const;
  /// Only for maps. Throws as Source::read_label_map().
  void read_map(std::int64_t index, Array& out) const { source_->read_label_map(index, out, which_); }
  /// Label of positions that a transform takes from outside of the image.
  float fill() const { return static_cast<float>(form_.fill); }
  /// Converts [H, W, 1] class numbers to one-hot rows [H, W, classes], NaN for LabelForm::ignored, so that samples can
  /// be mixed. Throws Error{kData} as write().
  void to_rows(const ImageView& map, std::int64_t index, Array& rows) const;
  /// Writes row_bytes() from class numbers [H, W, 1] after the transforms. Throws Error{kData} for another size or
  /// class.
  void write_map(const ImageView& map, std::int64_t index, std::byte* out) const;
  /// As write_map(), from rows of to_rows() that may be mixed. Only for dense labels.
  void write_rows(const ImageView& rows, std::int64_t index, std::byte* out) const;

 private:
  std::int64_t classes_each() const { return form_.width / form_.positions; }
  /// One output at each position distinguishes two classes.
  std::int64_t map_classes() const { return std::max<std::int64_t>(classes_each(), 2); }
  bool is_ignored(float value) const { return form_.ignored && value == static_cast<float>(*form_.ignored); }
  std::string place(std::int64_t index) const {
    return map_ ? source_->label_map_place(index, which_) : source_->label_place(index, which_);
  }
  std::string map_problem(std::int64_t index) const;
  void check_size(const ImageView& map, std::int64_t index) const;
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
  bool map_ = false;        ///< the source's labels are maps
};

/// The source with label `which` as a map, if it has one value for each pixel of an input; else the source itself.
std::shared_ptr<const Source> with_label_map(std::shared_ptr<const Source> source, int which);
/// The source with the transforms applied to its label maps. The pipeline must not be random.
std::shared_ptr<const Source> with_transformed_maps(std::shared_ptr<const Source> source, Pipeline pipeline);

}  // namespace dptrain::data
