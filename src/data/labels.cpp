#include "data/labels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data {
namespace {

/// The one position that is 1 in a row of zeros, or -1.
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

LabelWriter::LabelWriter(std::shared_ptr<const Source> source, LabelDelivery delivery)
    : source_(std::move(source)), delivery_(std::move(delivery)), which_(find_label(*source_, delivery_.output)) {
  const LabelType type = source_->label_type(which_);
  const std::int64_t found = source_->label_width(which_);
  if (type == LabelType::kValues && found != delivery_.width && !(classes() && found == 1))
    throw Error(ErrorKind::kData, fmt::format("{}: labels have {} values per sample, the model has {} outputs",
                                              source_->label_place(0, which_), found, delivery_.width));
}

void LabelWriter::check_all() const {
  const bool one_hot = source_->label_type(which_) == LabelType::kClass && delivery_.width > 1;
  std::vector<float> row(static_cast<std::size_t>(std::max<std::int64_t>(1, delivery_.width)));
  for (std::int64_t i = 0; i < source_->size(); ++i) {
    if (classes())
      class_of(i, row.data());
    else if (one_hot)
      checked_class(i);
    else if (delivery_.probabilities)
      values_of(i, row.data());
  }
}

std::int64_t LabelWriter::checked_class(std::int64_t index) const {
  const std::int64_t found = source_->label_class(index, which_);
  if (found < 0 || found >= delivery_.width)
    throw Error(ErrorKind::kData,
                fmt::format("{}: label {} is outside 0..{} (the model has {} {})", source_->label_place(index, which_),
                            found, delivery_.width - 1, delivery_.width, delivery_.width == 1 ? "output" : "outputs"));
  return found;
}

std::int32_t LabelWriter::class_of(std::int64_t index, float* row) const {
  if (source_->label_type(which_) == LabelType::kClass) return static_cast<std::int32_t>(checked_class(index));
  source_->label_values(index, row, which_);
  const std::int64_t found = source_->label_width(which_);
  if (found > 1) {
    const std::int64_t position = one_hot_position(row, found);
    if (position < 0)
      throw Error(ErrorKind::kData,
                  fmt::format("{}: the row is not one-hot; expected a single 1 among zeros, or a loss that "
                              "takes rows, such as categorical_crossentropy",
                              source_->label_place(index, which_)));
    return static_cast<std::int32_t>(position);
  }
  const float value = row[0];
  if (!(value >= 0) || value >= static_cast<float>(delivery_.width) || value != std::floor(value))
    throw Error(
        ErrorKind::kData,
        fmt::format("{}: label {} is not a class; expected a whole number in 0..{} (the model has {} outputs)",
                    source_->label_place(index, which_), shortest(value), delivery_.width - 1, delivery_.width));
  return static_cast<std::int32_t>(value);
}

void LabelWriter::values_of(std::int64_t index, float* out) const {
  if (source_->label_type(which_) == LabelType::kValues) {
    source_->label_values(index, out, which_);
  } else if (delivery_.width == 1) {
    out[0] = static_cast<float>(source_->label_class(index, which_));
  } else {
    std::fill_n(out, delivery_.width, 0.0F);
    out[checked_class(index)] = 1.0F;
  }
  if (!delivery_.probabilities) return;
  for (const float* value = out; value != out + delivery_.width; ++value)
    if (!(*value >= 0 && *value <= 1))
      throw Error(
          ErrorKind::kData,
          fmt::format("{}: label {} is outside 0..1, which crossentropy wants{}", source_->label_place(index, which_),
                      shortest(*value),
                      delivery_.width == 1 ? "; for more than two classes give the model an output for each and "
                                             "a softmax, and use sparse_categorical_crossentropy"
                                           : ""));
}

}  // namespace dptrain::data
