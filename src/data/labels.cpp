#include "data/labels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/images/pixel_finish.h"
#include "data/inspection.h"
#include "data/sources/wrapped_source.h"

namespace dptrain::data {
namespace {

constexpr float kIgnoredRow = -1;  ///< in the rows of an ignored class

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

float value_of(const ImageView& map, std::int64_t i) {
  return map.type == DType::kU8 ? static_cast<float>(map.u8()[i]) : map.f32()[i];
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
      one_class_(source_->label_type(which_) == LabelType::kClass),
      map_(source_->label_type(which_) == LabelType::kMap) {
  const std::int64_t positions = form_.positions;
  if (map_) {
    if (form_.map.rank() == 2) return;
    throw Error(ErrorKind::kData, fmt::format("{}: labels are a class for each pixel, but the output '{}' has no axes "
                                              "[height, width, classes] or its loss is not over classes",
                                              place(0), form_.output));
  }
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
  if (map_) return;
  const bool has_classes = classes() || (one_class_ ? form_.width > 1 : found_ < form_.width);
  if (!has_classes && !form_.probabilities) return;
  if (const float* all = source_->all_label_values(which_); all != nullptr && !has_classes && !form_.ignored) {
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

/// Why the map of a sample does not fit; "" if it does or cannot be read, which on_error handles.
std::string LabelWriter::map_problem(std::int64_t index) const {
  thread_local Array map;
  try {
    read_map(index, map);
  } catch (const SampleError&) {
    return "";
  }
  const std::string file = place(index);
  const auto size = [](const Shape& shape) { return fmt::format("{}x{}", shape[0], shape[1]); };
  const Shape picture = source_->peek_shape(index);
  if (picture.rank() == 3 && (map.shape[0] != picture[0] || map.shape[1] != picture[1]))
    return fmt::format("{}: {}, its picture is {}", file, size(map.shape), size(picture));
  const ImageView view = view_of(map);
  for (std::int64_t i = 0; i < map.shape.elements(); ++i) {
    const float value = value_of(view, i);
    if (is_ignored(value) || (value >= 0 && value < static_cast<float>(map_classes()) && value == std::floor(value)))
      continue;
    return fmt::format("{}: label {} at row {}, column {}", file, shortest(value), i / map.shape[1], i % map.shape[1]);
  }
  return "";
}

void LabelWriter::check_maps() const {
  constexpr std::size_t kListed = 20;
  if (!map_) return;
  const std::int64_t checked = std::min(source_->size(), kCheckedMaps);
  std::vector<std::string> problems(static_cast<std::size_t>(checked));
  for_each_sample("checking label maps", checked, [&](std::int64_t i) {
    problems[static_cast<std::size_t>(i)] = map_problem(i * source_->size() / checked);
  });
  std::erase(problems, "");
  if (problems.empty()) return;
  const std::size_t count = problems.size();
  if (count > kListed) problems.resize(kListed), problems.push_back(fmt::format("and {} more", count - kListed));
  throw Error(ErrorKind::kData,
              fmt::format("{} {} not fit; expected the size of the picture and labels 0..{}{}{}:\n  {}",
                          counted(static_cast<std::int64_t>(count), "label map"), count == 1 ? "does" : "do",
                          map_classes() - 1, form_.ignored ? fmt::format(" or {}", *form_.ignored) : "",
                          form_.ignored ? "" : "; if other labels mean \"unknown\", set ignore_class of the data set",
                          join(problems, "\n  ")));
}

void LabelWriter::to_rows(const ImageView& map, std::int64_t index, Array& rows) const {
  const std::int64_t classes = classes_each(), positions = map.shape[0] * map.shape[1];
  rows.shape = Shape{map.shape[0], map.shape[1], classes};
  rows.type = DType::kF32;
  rows.f32.assign(static_cast<std::size_t>(positions * classes), 0.0F);
  for (std::int64_t at = 0; at < positions; ++at) {
    const float value = value_of(map, at);
    float* const row = rows.f32.data() + at * classes;
    if (is_ignored(value))
      std::fill_n(row, classes, std::numeric_limits<float>::quiet_NaN());
    else if (classes == 1)
      *row = static_cast<float>(whole_class(value, index));
    else
      row[whole_class(value, index)] = 1;
  }
}

void LabelWriter::check_size(const ImageView& map, std::int64_t index) const {
  if (map.shape[0] == form_.map[0] && map.shape[1] == form_.map[1]) return;
  throw Error(ErrorKind::kData,
              fmt::format("{}: the label map is {}x{} after the transforms, but the output '{}' has {}x{} positions; "
                          "write `Resizing: {{height: {}, width: {}}}` in data.transforms, or change the model",
                          place(index), map.shape[0], map.shape[1], form_.output, form_.map[0], form_.map[1],
                          form_.map[0], form_.map[1]));
}

void LabelWriter::write_map(const ImageView& map, std::int64_t index, std::byte* out) const {
  check_size(map, index);
  if (!classes()) {
    thread_local Array rows;
    to_rows(map, index, rows);
    return write_rows(view_of(rows), index, out);
  }
  auto* const to = reinterpret_cast<std::int32_t*>(out);
  for (std::int64_t at = 0; at < form_.positions; ++at) to[at] = whole_class(value_of(map, at), index);
}

void LabelWriter::write_rows(const ImageView& rows, std::int64_t index, std::byte* out) const {
  check_size(rows, index);
  const float* const from = rows.f32();
  auto* const to = reinterpret_cast<float*>(out);
  for (std::int64_t i = 0; i < form_.width; ++i) to[i] = std::isnan(from[i]) ? kIgnoredRow : from[i];
}

void LabelWriter::write(std::int64_t index, std::vector<float>& scratch, std::byte* out) const {
  if (classes())
    classes_of(index, scratch, reinterpret_cast<std::int32_t*>(out));
  else
    values_of(index, scratch, reinterpret_cast<float*>(out));
}

std::int64_t LabelWriter::checked_class(std::int64_t index) const {
  const std::int64_t found = source_->label_class(index, which_);
  if (form_.ignored == found && classes()) return found;
  if (found < 0 || found >= form_.width)
    throw Error(ErrorKind::kData,
                fmt::format("{}: label {} is outside 0..{} (the model has {} {})", source_->label_place(index, which_),
                            found, form_.width - 1, form_.width, form_.width == 1 ? "output" : "outputs"));
  return found;
}

std::int32_t LabelWriter::whole_class(float value, std::int64_t index) const {
  const std::int64_t classes = map_ ? map_classes() : classes_each();
  if (is_ignored(value)) return static_cast<std::int32_t>(*form_.ignored);
  if (!(value >= 0) || value >= static_cast<float>(classes) || value != std::floor(value))
    throw Error(
        ErrorKind::kData,
        fmt::format("{}: label {} is not a class; expected a whole number in 0..{} (the model has {}{}){}",
                    place(index), shortest(value), classes - 1, counted(classes, "output"),
                    form_.positions > 1 ? " at each position" : "",
                    form_.positions > 1 ? "; to leave out such positions set ignore_class of the data set" : ""));
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
    if (classes_each() == 1)
      for (std::int64_t i = 0; i < form_.width; ++i)
        if (is_ignored(out[i])) out[i] = kIgnoredRow;
  } else {  // one class per position
    scratch.resize(static_cast<std::size_t>(found_));
    source_->label_values(index, scratch.data(), which_);
    std::fill_n(out, form_.width, 0.0F);
    for (std::int64_t at = 0; at < found_; ++at) {
      const float value = scratch[static_cast<std::size_t>(at)];
      if (is_ignored(value))
        std::fill_n(out + at * classes_each(), classes_each(), kIgnoredRow);
      else
        out[at * classes_each() + whole_class(value, index)] = 1.0F;
    }
  }
  if (form_.probabilities) check_probabilities(index, out);
}

void LabelWriter::check_probabilities(std::int64_t index, const float* values) const {
  for (const float* value = values; value != values + form_.width; ++value)
    if (!(*value >= 0 && *value <= 1) && !(form_.ignored && *value == kIgnoredRow))
      throw Error(ErrorKind::kData,
                  fmt::format("{}: label {} is outside 0..1, which the loss expects{}",
                              source_->label_place(index, which_), shortest(*value),
                              form_.width == 1 ? "; for more than two classes give the model an output for each and "
                                                 "a softmax, and use sparse_categorical_crossentropy"
                                               : ""));
}

namespace {

/// Changes labels, and shares the inputs in memory of the wrapped source.
class WithLabels : public WrappedSource {
 public:
  explicit WithLabels(std::shared_ptr<const Source> source) : WrappedSource(std::move(source)) {}
  bool view(std::int64_t index, int input, ImageView& out) const override { return wrapped().view(index, input, out); }
  const std::uint8_t* u8_rows(int input) const override { return wrapped().u8_rows(input); }
  const float* f32_rows(int input) const override { return wrapped().f32_rows(input); }
  std::int64_t row(std::int64_t index) const override { return wrapped().row(index); }
};

class LabelMap final : public WithLabels {
 public:
  LabelMap(std::shared_ptr<const Source> source, int which, Shape map)
      : WithLabels(std::move(source)), which_(which), map_(std::move(map)) {}

  LabelType label_type(int which) const override {
    return which == which_ ? LabelType::kMap : wrapped().label_type(which);
  }
  std::int64_t label_width(int which) const override { return which == which_ ? 0 : wrapped().label_width(which); }
  void read_label_map(std::int64_t index, Array& out, int which) const override {
    if (which != which_) return wrapped().read_label_map(index, out, which);
    out.shape = map_;
    out.type = DType::kF32;
    out.f32.resize(static_cast<std::size_t>(map_.elements()));
    wrapped().label_values(index, out.f32.data(), which);
  }
  Shape peek_label_map(std::int64_t index, int which) const override {
    return which == which_ ? map_ : wrapped().peek_label_map(index, which);
  }

 private:
  int which_;
  Shape map_;
};

class TransformedMaps final : public WithLabels {
 public:
  TransformedMaps(std::shared_ptr<const Source> source, Pipeline pipeline)
      : WithLabels(std::move(source)), pipeline_(std::move(pipeline)) {}

  void read_label_map(std::int64_t index, Array& out, int which) const override {
    thread_local Array map;
    thread_local Pipeline::Scratch scratch;
    wrapped().read_label_map(index, map, which);
    pipeline_.run_on_map(view_of(map), 0, scratch, out, {});
  }
  Shape peek_label_map(std::int64_t, int) const override { return {}; }

 private:
  Pipeline pipeline_;
};

}  // namespace

std::shared_ptr<const Source> with_label_map(std::shared_ptr<const Source> source, int which) {
  if (source->label_type(which) != LabelType::kValues) return source;
  for (int input = 0; input < source->inputs(); ++input) {
    const Shape image = source->input_shape(input);
    if (image.rank() < 2 || image.rank() > 3 || image[0] * image[1] != source->label_width(which)) continue;
    return std::make_shared<LabelMap>(std::move(source), which, Shape{image[0], image[1], 1});
  }
  return source;
}

std::shared_ptr<const Source> with_transformed_maps(std::shared_ptr<const Source> source, Pipeline pipeline) {
  for (int which = 0; which < source->labels(); ++which)
    if (source->label_type(which) == LabelType::kMap)
      return std::make_shared<TransformedMaps>(std::move(source), std::move(pipeline));
  return source;
}

}  // namespace dptrain::data
