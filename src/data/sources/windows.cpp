// Windows over a series as a Source: sample i has the steps start_index + i sequence_stride + j sampling_rate, j = 0
// ... sequence_length - 1 (keras/src/utils/timeseries_dataset_utils.py). Its label is `horizon` steps after its last
// step; in Keras the user shifts `targets`. Windows are not stored: read() copies one from the series.

#include "data/sources/windows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/split.h"
#include "data/sources/wrapped_source.h"

namespace dptrain::data {
namespace {

/// As in Normalization.
constexpr double kMinDeviation = 1e-7;

/// Scale of column `c`. One value of `mean` or `variance` serves all columns.
LabelScale scale_of(const WindowsSpec& spec, std::size_t c) {
  const auto at = [c](const std::vector<double>& list) { return list[list.size() == 1 ? 0 : c]; };
  return {.mean = at(spec.mean), .deviation = std::max(std::sqrt(at(spec.variance)), kMinDeviation)};
}

void check_scale(const WindowsSpec& spec, std::size_t columns) {
  for (const auto* list : {&spec.mean, &spec.variance})
    if (list->size() > 1 && list->size() != columns)
      throw Error(ErrorKind::kUsage, fmt::format("{} has {} values; expected one, or one for each of {} columns",
                                                 list == &spec.mean ? "mean" : "variance", list->size(), columns));
}

/// Windows whose columns are normalized with `mean` and `variance`.
class ScaledWindows final : public WrappedSource {
 public:
  ScaledWindows(std::shared_ptr<const Source> windows, const WindowsSpec& spec) : WrappedSource(std::move(windows)) {
    const auto columns = static_cast<std::size_t>(wrapped().input_shape(0).elements() / spec.sequence_length);
    check_scale(spec, columns);
    for (std::size_t c = 0; c < columns; ++c) scales_.push_back(scale_of(spec, c));
  }

  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    wrapped().read(index, input, out, hint);
    if (input > 0) return;
    if (out.type == DType::kU8) out.f32.assign(out.u8.begin(), out.u8.end());
    out.type = DType::kF32;
    for (std::size_t i = 0; i < out.f32.size(); ++i) {
      const LabelScale& scale = scales_[i % scales_.size()];
      out.f32[i] = static_cast<float>((static_cast<double>(out.f32[i]) - scale.mean) / scale.deviation);
    }
  }
  bool can_read_exact(int input, DType type) const override {
    return input > 0 && wrapped().can_read_exact(input, type);
  }
  bool view(std::int64_t index, int input, ImageView& out) const override {
    return input > 0 && wrapped().view(index, input, out);
  }
  const std::uint8_t* u8_rows(int input) const override { return input > 0 ? wrapped().u8_rows(input) : nullptr; }
  const float* f32_rows(int input) const override { return input > 0 ? wrapped().f32_rows(input) : nullptr; }

 private:
  std::vector<LabelScale> scales_;
};

class Windows final : public Source {
 public:
  Windows(std::shared_ptr<const Source> series, const WindowsSpec& spec, const ModelSide& model)
      : series_(std::move(series)), spec_(spec) {
    const std::int64_t steps = series_->size(), end = std::min(spec.end_index.value_or(steps), steps);
    const std::int64_t room = end - spec.start_index - span();
    if (room < 1)
      throw Error(ErrorKind::kData,
                  fmt::format("a window of {} steps with its label needs {} steps, but the series has {} from {} to {}",
                              spec.sequence_length, span() + 1, std::max<std::int64_t>(0, end - spec.start_index),
                              spec.start_index, end));
    for (int which = 0; which < series_->labels(); ++which)
      if (series_->label_type(which) == LabelType::kMap)
        throw Error(ErrorKind::kUsage, "the series has masks as labels; expected numbers or classes");
    size_ = (room - 1) / spec.sequence_stride + 1;
    for (int input = 0; input < series_->inputs(); ++input) shapes_.push_back(window_shape(input, model));
    set_columns();
    set_scale();
  }

  std::int64_t size() const override { return size_; }
  int inputs() const override { return series_->inputs(); }
  std::string input_name(int input) const override { return series_->input_name(input); }
  Shape input_shape(int input) const override { return shapes_[static_cast<std::size_t>(input)]; }

  void read(std::int64_t index, int input, Array& out, const ReadHint&) const override {
    const bool bytes = scale_.empty() && series_->u8_rows(input) != nullptr;
    out.shape = input_shape(input);
    out.type = bytes ? DType::kU8 : DType::kF32;
    const std::int64_t elements = out.shape.elements() / spec_.sequence_length;
    bytes ? out.u8.resize(static_cast<std::size_t>(out.shape.elements()))
          : out.f32.resize(static_cast<std::size_t>(out.shape.elements()));
    for (std::int64_t j = 0; j < spec_.sequence_length; ++j) {
      const std::int64_t step = first_step(index) + j * spec_.sampling_rate;
      if (bytes)
        std::copy_n(series_->u8_rows(input) + series_->row(step) * elements, elements, out.u8.begin() + j * elements);
      else
        read_step(step, input, elements, out.f32.data() + j * elements);
    }
  }
  bool view(std::int64_t index, int input, ImageView& out) const override {
    const std::int64_t first = first_step(index), last = first + spec_.sequence_length - 1;
    if (spec_.sampling_rate != 1 || !scale_.empty()) return false;
    if (series_->row(last) - series_->row(first) != last - first) return false;
    out.shape = input_shape(input);
    const std::int64_t at = series_->row(first) * (out.shape.elements() / spec_.sequence_length);
    if (const std::uint8_t* const u8 = series_->u8_rows(input); u8 != nullptr)
      out.type = DType::kU8, out.data = u8 + at;
    else if (const float* const f32 = series_->f32_rows(input); f32 != nullptr)
      out.type = DType::kF32, out.data = f32 + at;
    else
      return false;
    return true;
  }
  bool can_read_exact(int input, DType type) const override {
    return (input > 0 || scale_.empty()) && series_->can_read_exact(input, type);
  }
  void read_exact(std::int64_t index, int input, DType type, void* out) const override {
    const std::int64_t elements = input_shape(input).elements() / spec_.sequence_length;
    for (std::int64_t j = 0; j < spec_.sequence_length; ++j)
      series_->read_exact(first_step(index) + j * spec_.sampling_rate, input, type,
                          static_cast<std::byte*>(out) + static_cast<std::size_t>(j * elements) * size_of(type));
  }
  std::shared_ptr<BadSamples> bad_samples() const override { return series_->bad_samples(); }
  std::int64_t shared_before() const override { return span() / spec_.sequence_stride; }

  int labels() const override { return has_own_labels() ? series_->labels() : 1; }
  std::string label_name(int which) const override { return has_own_labels() ? series_->label_name(which) : ""; }
  LabelType label_type(int which) const override {
    if (spec_.label_steps > 1) return LabelType::kValues;
    if (has_own_labels()) return series_->label_type(which);
    return is_number() ? LabelType::kClass : LabelType::kValues;
  }
  std::int64_t label_width(int which) const override { return spec_.label_steps * width_of_step(which); }
  std::int64_t label_class(std::int64_t index, int which) const override {
    const std::int64_t step = label_step(index, 0);
    return has_own_labels() ? series_->label_class(step, which) : whole_number(step);
  }
  void label_values(std::int64_t index, float* out, int which) const override {
    for (std::int64_t j = 0; j < spec_.label_steps; ++j, out += width_of_step(which))
      has_own_labels() ? own_label(label_step(index, j), which, out) : label_of_columns(label_step(index, j), out);
  }
  std::string label_place(std::int64_t index, int which) const override {
    return series_->label_place(label_step(index, 0), which);
  }
  bool has_sample_weights() const override { return series_->has_sample_weights(); }
  float sample_weight(std::int64_t index) const override { return series_->sample_weight(label_step(index, 0)); }

  std::vector<std::string> class_names(int which) const override {
    const std::vector<std::string>& names = spec_.class_names.names_of(label_name(which));
    return names.empty() && has_own_labels() ? series_->class_names(which) : names;
  }
  std::string fingerprint() const override { return words() + " of " + series_->fingerprint(); }
  std::string cache_key() const override { return words() + " of " + series_->cache_key(); }

 private:
  /// Distance from a window's first step to its last step or label.
  std::int64_t span() const {
    const std::int64_t last_label = spec_.horizon + (spec_.label_steps - 1) * spec_.sampling_rate;
    return (spec_.sequence_length - 1) * spec_.sampling_rate + std::max<std::int64_t>(0, last_label);
  }
  std::int64_t first_step(std::int64_t index) const { return spec_.start_index + index * spec_.sequence_stride; }
  std::int64_t label_step(std::int64_t index, std::int64_t j) const {
    return first_step(index) + (spec_.sequence_length - 1 + j) * spec_.sampling_rate + spec_.horizon;
  }
  /// Whether a step's label is one integer, a class, such as the next word of a text.
  bool is_number() const { return columns_.size() == 1 && scale_.empty() && series_->can_read_exact(0, DType::kI32); }
  std::int32_t whole_number(std::int64_t step) const {
    thread_local std::vector<std::int32_t> row;
    row.resize(static_cast<std::size_t>(series_->input_shape(0).elements()));
    series_->read_exact(step, 0, DType::kI32, row.data());
    return row[static_cast<std::size_t>(columns_[0])];
  }
  bool has_own_labels() const { return series_->labels() > 0; }
  std::int64_t width_of_step(int which) const {
    return has_own_labels() ? series_->label_width(which) : static_cast<std::int64_t>(columns_.size());
  }

  /// [steps] for a series of single numbers if the model's input has one axis, else [steps, ...shape of a step].
  Shape window_shape(int input, const ModelSide& model) const {
    const Shape step = series_->input_shape(input);
    if (step.rank() == 0)
      throw Error(ErrorKind::kUsage, "of: the steps of a series have one shape, found samples of several sizes");
    const std::string name = series_->input_name(input);
    const auto named = std::ranges::find(model.input_names, name);
    const auto which =
        named == model.input_names.end() ? 0 : static_cast<std::size_t>(named - model.input_names.begin());
    if (step == Shape{1} && which < model.input_shapes.size() && model.input_shapes[which].rank() == 1)
      return {spec_.sequence_length};
    std::vector<std::int64_t> dims{spec_.sequence_length};
    dims.insert(dims.end(), step.dims().begin(), step.dims().end());
    return Shape(std::move(dims));
  }

  void set_columns() {
    const std::int64_t all = series_->input_shape(0).elements();
    if (has_own_labels()) {
      if (!spec_.label_columns.empty())
        throw Error(ErrorKind::kUsage,
                    "label_columns makes labels of the inputs, but the series has labels of its own");
      return;
    }
    columns_ = spec_.label_columns;
    for (std::int64_t c = 0; columns_.empty() && c < all; ++c) columns_.push_back(c);
    for (const std::int64_t c : columns_)
      if (c < 0 || c >= all)
        throw Error(ErrorKind::kUsage,
                    fmt::format("label_columns: there is no column {}; a step has the columns 0 to {}", c, all - 1));
  }

  void set_scale() {
    if (spec_.mean.empty()) return;
    const auto all = static_cast<std::size_t>(series_->input_shape(0).elements());
    check_scale(spec_, all);
    for (std::size_t c = 0; c < all; ++c) {
      const LabelScale scale = scale_of(spec_, c);
      scale_.push_back(static_cast<float>(1 / scale.deviation));
      mean_.push_back(static_cast<float>(scale.mean));
    }
  }

  /// Reads a step as floats and normalizes the first input.
  void read_step(std::int64_t step, int input, std::int64_t elements, float* out) const {
    if (const float* const f32 = series_->f32_rows(input); f32 != nullptr) {
      std::copy_n(f32 + series_->row(step) * elements, elements, out);
    } else {
      thread_local Array read;
      series_->read(step, input, read);
      read.type == DType::kU8 ? std::copy_n(read.u8.data(), elements, out)
                              : std::copy_n(read.f32.data(), elements, out);
    }
    if (input > 0) return;
    for (std::size_t c = 0; c < scale_.size(); ++c) out[c] = (out[c] - mean_[c]) * scale_[c];
  }

  void own_label(std::int64_t step, int which, float* out) const {
    if (series_->label_type(which) == LabelType::kClass)
      *out = static_cast<float>(series_->label_class(step, which));
    else
      series_->label_values(step, out, which);
  }
  void label_of_columns(std::int64_t step, float* out) const {
    thread_local std::vector<float> row;
    row.resize(static_cast<std::size_t>(series_->input_shape(0).elements()));
    read_step(step, 0, static_cast<std::int64_t>(row.size()), row.data());
    for (const std::int64_t c : columns_) *out++ = row[static_cast<std::size_t>(c)];
  }

  std::string words() const {
    std::string columns;
    for (const std::int64_t c : columns_) columns += fmt::format(" {}", c);
    for (std::size_t c = 0; c < scale_.size(); ++c)
      columns += fmt::format(" {}*{}", shortest(mean_[c]), shortest(scale_[c]));
    return fmt::format("windows:{}:{}+{}*{}:{}*{}:{}+{}:{}", size_, spec_.start_index, spec_.sequence_length,
                       spec_.sampling_rate, spec_.sequence_stride, span(), spec_.horizon, spec_.label_steps, columns);
  }

  std::shared_ptr<const Source> series_;
  WindowsSpec spec_;
  std::int64_t size_ = 0;
  std::vector<Shape> shapes_;
  std::vector<std::int64_t> columns_;  ///< label columns
  std::vector<float> mean_, scale_;    ///< of the first input's columns; empty: not normalized
};

std::string check_windows(const WindowsSpec& spec) {
  if (spec.of && def_of(spec.of).part)
    return fmt::format(
        "of must be the data set with the series, found a {}; split the windows instead: "
        "{{Split: {{fraction: 0.2, shuffle: false}}}}",
        spec.of.name());
  if (spec.end_index && *spec.end_index <= spec.start_index)
    return fmt::format("end_index must be above start_index, {}, found {}", spec.start_index, *spec.end_index);
  if (const std::int64_t least = -(spec.sequence_length - 1) * spec.sampling_rate; spec.horizon < least)
    return fmt::format("horizon must be >= {}, where the window begins, found {}", least, spec.horizon);
  if (spec.mean.empty() != spec.variance.empty()) return "mean and variance must be given together";
  if (spec.of && needs_fit(spec.of))
    return fmt::format(
        "of must be arrays, one row a step, found a {}; write its columns to a .npy file and name that: "
        "{{Numpy: {{inputs: series.npy}}}}",
        spec.of.name());
  return "";
}

std::shared_ptr<const Source> open_windows(const WindowsSpec& spec, const ModelSide& model, Role role) {
  std::shared_ptr<const Source> series = def_of(spec.of).open(spec.of.spec(), model, role);
  if (const auto& count = def_of(spec.of).common(spec.of.spec()).take) series = take(std::move(series), *count);
  return make_windows(std::move(series), spec, model);
}

/// Makes windows of arrays; reads other files without a data set.
PredictSource predict_windows(const WindowsSpec* spec, const PredictFiles& files, const ModelSide& model) {
  PredictFiles with_series = files;
  with_series.sets.insert(with_series.sets.begin(), spec->of);
  PredictSource arrays = open_by_format(with_series, model);
  if (arrays.is_named()) return arrays;
  PredictSource input = whole_source(windows_of_inputs(arrays.next(), *spec, model));
  input.label_scales = [spec = *spec](std::int64_t width) { return label_scales(spec, width); };
  return input;
}

const RegisteredDataset kWindowsSet =
    dataset_def<WindowsSpec>(
        config::Schema::of<WindowsSpec>("Windows")
            .doc("windows over a series, as `keras.utils.timeseries_dataset_from_array`")
            .key(key("of", &WindowsSpec::of).required().doc("data set whose samples are the steps of a series"))
            .key(key("sequence_length", &WindowsSpec::sequence_length).required().at_least(1).doc("steps of a window"))
            .key(key("sequence_stride", &WindowsSpec::sequence_stride)
                     .at_least(1)
                     .doc("steps from the start of a window to the next start"))
            .key(key("sampling_rate", &WindowsSpec::sampling_rate)
                     .at_least(1)
                     .doc("steps of the series from one step of a window to the next"))
            .key(key("start_index", &WindowsSpec::start_index).at_least(0).doc("first step that is used"))
            .key(key("end_index", &WindowsSpec::end_index)
                     .at_least(1)
                     .doc("first step that is not used; default: the end of the series"))
            .key(key("horizon", &WindowsSpec::horizon)
                     .doc("steps of the series from the last one of a window to its label"))
            .key(key("label_steps", &WindowsSpec::label_steps)
                     .at_least(1)
                     .doc("labels of a window, `sampling_rate` apart"))
            .key(key("label_columns", &WindowsSpec::label_columns)
                     .doc("columns that are the label; not for a series with labels; default: all"))
            .key(key("mean", &WindowsSpec::mean)
                     .doc("with `variance`, normalizes columns and labels made of them: (x - mean) / "
                          "max(sqrt(variance), 1e-7); one value, or one per column"))
            .key(key("variance", &WindowsSpec::variance).at_least(0).doc("with `mean`: one value, or one per column"))
            .rule<WindowsSpec>(check_windows),
        open_windows,
        [](const WindowsSpec& spec) {
          return spec.of ? def_of(spec.of).paths(spec.of.spec()) : std::vector<config::Path>{};
        })
        .predict(predict_windows, {.refused = {}, .reads_parts = false});

}  // namespace

std::shared_ptr<const Source> make_windows(std::shared_ptr<const Source> series, const WindowsSpec& spec,
                                           const ModelSide& model) {
  return std::make_shared<Windows>(std::move(series), spec, model);
}

std::shared_ptr<const Source> windows_of_inputs(std::shared_ptr<const Source> arrays, const WindowsSpec& spec,
                                                const ModelSide& model) {
  const Shape found = arrays->input_shape(0), window = model.input_shapes.front();
  if (found.elements() == window.elements())
    return spec.mean.empty() ? arrays : std::make_shared<ScaledWindows>(std::move(arrays), spec);
  if (found.elements() * spec.sequence_length != window.elements()) return arrays;  // the loader reports the shapes
  WindowsSpec whole = spec;
  whole.start_index = 0;
  whole.end_index.reset();
  whole.horizon = 0;
  whole.label_steps = 1;
  whole.label_columns.clear();
  return make_windows(std::move(arrays), whole, model);
}

std::vector<LabelScale> label_scales(const WindowsSpec& spec, std::int64_t width) {
  if (spec.mean.empty()) return {};
  const config::Node of = spec.of.write();
  if (of.is_map() && !of.entries().empty() && of.entries().front().value.is_map())
    if (const config::Node* labels = of.entries().front().value.find("labels"); labels != nullptr && !labels->is_null())
      return {};
  const std::size_t columns =
      spec.label_columns.empty() ? std::max(spec.mean.size(), spec.variance.size()) : spec.label_columns.size();
  if (width % static_cast<std::int64_t>(columns) != 0) return {};
  std::vector<LabelScale> scales;
  for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
    const std::size_t c = i % columns;
    scales.push_back(scale_of(spec, spec.label_columns.empty() ? c : static_cast<std::size_t>(spec.label_columns[c])));
  }
  return scales;
}

}  // namespace dptrain::data
