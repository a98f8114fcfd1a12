#include "data/labels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"

namespace dptrain::data {
namespace {

/// Index of the only 1 in a row of zeros, or -1.
std::int64_t one_hot_position(const float* row, std::int64_t width) {
  std::int64_t position = -1;
  for (std::int64_t i = 0; i < width; ++i) {
    if (row[i] == 0) continue;
    if (row[i] != 1 || position >= 0) return -1;
    position = i;
  }
  return position;
}

}  // namespace

int find_label(const Source& source, const std::string& output) {
  if (source.labels() == 0) throw Error(ErrorKind::kData, "the data set has no labels, and the loss needs them");
  std::vector<std::string> names;
  for (int which = 0; which < source.labels(); ++which) names.push_back(source.label_name(which));
  if (names.size() == 1 && names.front().empty()) return 0;
  const auto found = std::ranges::find(names, output);
  if (found == names.end())
    throw Error(ErrorKind::kData,
                fmt::format("the data set has no labels '{}', which the loss of that output needs; it has {}{}", output,
                            join(names, ", "), did_you_mean(output, names)));
  return static_cast<int>(found - names.begin());
}

LabelWriter::LabelWriter(std::shared_ptr<const Source> source, LabelForm form)
    : source_(std::move(source)),
      form_(std::move(form)),
      which_(find_label(*source_, form_.output)),
      found_(source_->label_width(which_)),
      one_class_(source_->label_type(which_) == LabelType::kClass) {
  const std::int64_t positions = form_.positions;
  if (one_class_ && positions > 1)
    throw Error(
        ErrorKind::kData,
        fmt::format("{}: labels are one class per sample, the model's output has {} of {}; try "
                    "labels with a class for each, or Flatten or GlobalAveragePooling2D and a last Dense",
                    source_->label_place(0, which_), counted(positions, "row"), counted(classes_each(), "value")));
  const bool fits = found_ == form_.width || (found_ == positions && (classes() || positions > 1));
  if (one_class_ || fits) return;
  throw Error(ErrorKind::kData,
              fmt::format("{}: labels have {} per sample, the model has {}{}", source_->label_place(0, which_),
                          counted(found_, "value"), counted(form_.width, "output"),
                          positions > 1 ? fmt::format(" at {} positions", positions) : ""));
}

void LabelWriter::check_all() const {
  const bool has_classes = classes() || (one_class_ ? form_.width > 1 : found_ < form_.width);
  if (!has_classes && !form_.probabilities) return;
  if (const float* all = source_->all_label_values(which_); all != nullptr && !has_classes) {
    const auto count = source_->size() * found_;
    const auto bad = std::find_if_not(all, all + count, [](float value) { return value >= 0 && value <= 1; });
    if (const auto index = (bad - all) / found_; bad != all + count) check_probabilities(index, all + index * found_);
    return;
  }
  std::vector<float> scratch, row(row_bytes() / sizeof(float));
  for (std::int64_t i = 0; i < source_->size(); ++i) {
    if (one_class_ && form_.width > 1)
      checked_class(i);
    else
      write(i, scratch, reinterpret_cast<std::byte*>(row.data()));
  }
}

void LabelWriter::write(std::int64_t index, std::vector<float>& scratch, std::byte* out) const {
  if (classes())
    classes_of(index, scratch, reinterpret_cast<std::int32_t*>(out));
  else
    values_of(index, scratch, reinterpret_cast<float*>(out));
}

std::int64_t LabelWriter::checked_class(std::int64_t index) const {
  const std::int64_t found = source_->label_class(index, which_);
  if (form_.ignored == found) return found;
  if (found < 0 || found >= form_.width)
    throw Error(ErrorKind::kData,
                fmt::format("{}: label {} is outside 0..{} (the model has {} {})", source_->label_place(index, which_),
                            found, form_.width - 1, form_.width, form_.width == 1 ? "output" : "outputs"));
  return found;
}

std::int32_t LabelWriter::whole_class(float value, std::int64_t index) const {
  const std::int64_t classes = classes_each();
  if (form_.ignored && value == static_cast<float>(*form_.ignored)) return static_cast<std::int32_t>(*form_.ignored);
  if (!(value >= 0) || value >= static_cast<float>(classes) || value != std::floor(value))
    throw Error(ErrorKind::kData,
                fmt::format("{}: label {} is not a class; expected a whole number in 0..{} (the model has {}{}){}",
                            source_->label_place(index, which_), shortest(value), classes - 1,
                            counted(classes, "output"), form_.positions > 1 ? " at each position" : "",
                            form_.positions > 1 ? "; to leave out such positions set ignore_class of the loss" : ""));
  return static_cast<std::int32_t>(value);
}

void LabelWriter::classes_of(std::int64_t index, std::vector<float>& scratch, std::int32_t* out) const {
  if (one_class_) {
    *out = static_cast<std::int32_t>(checked_class(index));
    return;
  }
  scratch.resize(static_cast<std::size_t>(found_));
  source_->label_values(index, scratch.data(), which_);
  const bool one_hot = found_ != form_.positions;
  for (std::int64_t at = 0; at < form_.positions; ++at) {
    if (!one_hot) {
      out[at] = whole_class(scratch[static_cast<std::size_t>(at)], index);
      continue;
    }
    const std::int64_t place = one_hot_position(scratch.data() + at * classes_each(), classes_each());
    if (place < 0)
      throw Error(ErrorKind::kData, fmt::format("{}: the row is not one-hot; expected a single 1 among zeros, or a "
                                                "loss of rows, such as categorical_crossentropy",
                                                source_->label_place(index, which_)));
    out[at] = static_cast<std::int32_t>(place);
  }
}

void LabelWriter::values_of(std::int64_t index, std::vector<float>& scratch, float* out) const {
  if (one_class_ && form_.width == 1) {
    out[0] = static_cast<float>(source_->label_class(index, which_));
  } else if (one_class_) {
    std::fill_n(out, form_.width, 0.0F);
    out[checked_class(index)] = 1.0F;
  } else if (found_ == form_.width) {
    source_->label_values(index, out, which_);
  } else {  // one class per position
    scratch.resize(static_cast<std::size_t>(found_));
    source_->label_values(index, scratch.data(), which_);
    std::fill_n(out, form_.width, 0.0F);
    for (std::int64_t at = 0; at < found_; ++at)
      out[at * classes_each() + whole_class(scratch[static_cast<std::size_t>(at)], index)] = 1.0F;
  }
  if (form_.probabilities) check_probabilities(index, out);
}

void LabelWriter::check_probabilities(std::int64_t index, const float* values) const {
  for (const float* value = values; value != values + form_.width; ++value)
    if (!(*value >= 0 && *value <= 1))
      throw Error(ErrorKind::kData,
                  fmt::format("{}: label {} is outside 0..1, which the loss expects{}",
                              source_->label_place(index, which_), shortest(*value),
                              form_.width == 1 ? "; for more than two classes give the model an output for each and "
                                                 "a softmax, and use sparse_categorical_crossentropy"
                                               : ""));
}

}  // namespace dptrain::data
