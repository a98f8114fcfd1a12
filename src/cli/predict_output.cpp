#include "cli/predict_output.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <future>
#include <numeric>
#include <span>
#include <utility>

#include "cli/passthrough_columns.h"
#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"
#include "core/quantity.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/images/image_info.h"
#include "data/sources/dataset.h"
#include "data/sources/image_masks.h"
#include "data/sources/npy.h"
#include "evaluation/mask_files.h"
#include "train/line_file.h"

namespace dptrain::cli {
namespace {

namespace fs = std::filesystem;

/// The most columns of a CSV for a class at each position, unless --probabilities requests them.
constexpr std::int64_t kMaxColumns = 1000;
/// Class numbers that a byte can store, as in a mask.
constexpr std::int64_t kMaxByteClasses = 256;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

/// The columns that predict writes for one output of the model. Immutable; any thread.
class PredictColumns {
 public:
  /// `top`: number of most probable classes per sample. `probabilities`: adds a column for each class. `output` must
  /// outlive the object.
  PredictColumns(const PredictedOutput& output, std::int64_t top, bool probabilities)
      : output_(output),
        classes_(output.classes),
        prefix_(output.name.empty() ? "" : output.name + "_"),
        top_(std::min(top, classes_.count())),
        probabilities_(probabilities) {}

  /// ",label,probability": each name after a comma.
  std::string header() const {
    std::string text;
    const auto add = [&](const std::string& name) { text += "," + csv_field(prefix_ + name); };
    if (!classes_.one_per_sample()) {
      if (has_position_probabilities())
        for (std::int64_t i = 0; i < classes_.positions(); ++i)
          for (std::int64_t c = 0; c < classes_.count(); ++c) add(fmt::format("p_{}_{}", i, classes_.name(c)));
      else
        for (std::int64_t i = 0; i < classes_.width(); ++i)
          add(!output_.layer.empty()  ? std::to_string(i)
              : classes_.width() == 1 ? "output"
                                      : fmt::format("output_{}", i));
      return text;
    }
    add("label"), add("probability");
    for (std::int64_t k = 2; k <= top_; ++k) add(fmt::format("label_{}", k)), add(fmt::format("probability_{}", k));
    for (std::int64_t c = 0; probabilities_ && c < classes_.count(); ++c) add("p_" + classes_.name(c));
    return text;
  }

  /// The fields for one sample's output.
  std::string row(const std::byte* values) const {
    std::string text;
    if (output_.type == DType::kI32) {
      for (const std::int32_t value : std::span(reinterpret_cast<const std::int32_t*>(values), width()))
        text += fmt::format(",{}", value);
      return text;
    }
    const auto* const output = reinterpret_cast<const float*>(values);
    if (has_position_probabilities()) {
      for (std::int64_t i = 0; i < classes_.positions(); ++i)
        for (const float value : classes_.probabilities(output + i * classes_.row_width()))
          text += fmt::format(",{:.9g}", value);
      return text;
    }
    if (!classes_.one_per_sample()) {
      for (std::size_t i = 0; i < width(); ++i) text += fmt::format(",{:.9g}", unscaled(output_, output, i));
      return text;
    }
    const std::vector<float> p = classes_.probabilities(output);
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto before = [&](std::size_t a, std::size_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; };
    std::partial_sort(order.begin(), order.begin() + top_, order.end(), before);
    for (std::int64_t k = 0; k < top_; ++k) {
      const std::size_t c = order[static_cast<std::size_t>(k)];
      text += fmt::format(",{},{:.9g}", csv_field(classes_.name(static_cast<std::int64_t>(c))), p[c]);
    }
    if (probabilities_)
      for (const float value : p) text += fmt::format(",{:.9g}", value);
    return text;
  }

  /// A value in the units of its label.
  static float unscaled(const PredictedOutput& output, const float* values, std::size_t i) {
    if (output.scales.empty()) return values[i];
    return static_cast<float>(values[i] * output.scales[i].deviation + output.scales[i].mean);
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(classes_.width()); }
  bool has_position_probabilities() const { return probabilities_ && classes_.known() && classes_.positions() > 1; }

  const PredictedOutput& output_;
  const evaluation::Classes& classes_;
  const std::string prefix_;
  const std::int64_t top_;
  const bool probabilities_;
};

/// Writes rows to stdout batch by batch, or to a file once they are complete. Writes the header with the first rows, so
/// that unreadable input prints only an error.
class CsvWriter final : public PredictWriter {
 public:
  explicit CsvWriter(const WriterSetting& setting) : input_(setting.input), path_(setting.flags.output) {
    std::string answers;
    for (const PredictedOutput& output : setting.outputs) {
      columns_.emplace_back(output, setting.flags.top.value_or(1), setting.flags.probabilities);
      answers += columns_.back().header();
    }
    header_ = input_.key + passthrough_header(input_.passthrough, input_.key + answers) + answers + "\n";
  }

  void add(const PredictedSample& sample, const std::vector<const std::byte*>& values, std::string& rows) override {
    rows += csv_field(input_.is_named() ? sample.block.label_place(sample.index)
                                        : std::to_string(sample.before + sample.index));
    for (std::size_t k = 0; k < input_.passthrough.size(); ++k)
      rows += "," + csv_field(input_.passthrough_field(sample.index, k));
    for (std::size_t i = 0; i < columns_.size(); ++i) rows += columns_[i].row(values[i]);
    rows += "\n";
  }
  void write(const data::Source&, const std::string& rows) override { print(rows); }
  std::string finish(std::int64_t samples) override {
    print("");  // only the header if there are no rows
    if (path_)
      train::write_text(*path_, text_);
    else if (std::fflush(stdout) != 0)
      throw Error(ErrorKind::kWrite, "stdout: cannot write");
    return fmt::format("{} ({})", path_.value_or("stdout"), counted(samples, "row"));
  }

 private:
  void print(const std::string& rows) {
    const std::string text = std::exchange(header_, {}) + rows;
    if (path_)
      text_ += text;
    else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
      throw Error(ErrorKind::kWrite, "stdout: cannot write");
  }

  const data::PredictSource& input_;
  const std::optional<std::string> path_;
  std::vector<PredictColumns> columns_;
  std::string header_, text_;
};

/// A .npy file for each output: class numbers of outputs with a class at each position, else values or probabilities.
class ArrayWriter final : public PredictWriter {
 public:
  explicit ArrayWriter(const WriterSetting& setting) {
    for (const PredictedOutput& output : setting.outputs) {
      const evaluation::Classes& classes = output.classes;
      Array& array = arrays_.emplace_back(Array{.output = output,
                                                .path = array_path(*setting.flags.output, output.name),
                                                .probabilities = setting.flags.probabilities && classes.known(),
                                                .type = output.type});
      std::vector<std::int64_t> dims = output.shape.dims();
      if (array.probabilities) {
        dims.resize(std::max<std::size_t>(1, dims.size()));
        dims.back() = classes.count();
      } else if (classes.known() && classes.positions() > 1) {
        array.numbers = true;
        array.type = classes.count() <= kMaxByteClasses ? DType::kU8 : DType::kI32;
        dims.pop_back();
      }
      const Shape row(std::move(dims));
      array.row_bytes = static_cast<std::size_t>(row.elements()) * size_of(array.type);
      if (setting.is_first) array.file = std::make_unique<data::NpyWriter>(array.path, array.type, row);
    }
  }

  void add(const PredictedSample&, const std::vector<const std::byte*>& values, std::string& rows) override {
    for (std::size_t i = 0; i < arrays_.size(); ++i) add_row(arrays_[i], values[i], rows);
  }
  void write(const data::Source&, const std::string& rows) override {
    for (std::span<const std::byte> left = std::as_bytes(std::span(rows)); !left.empty();)
      for (const Array& array : arrays_) {
        array.file->append(left.first(array.row_bytes));
        left = left.subspan(array.row_bytes);
      }
  }
  std::string finish(std::int64_t samples) override {
    std::vector<std::string> paths;
    for (const Array& array : arrays_) array.file->finish(), paths.push_back(array.path);
    return fmt::format("{} ({})", join(paths, ", "), counted(samples, "row"));
  }

 private:
  struct Array {
    const PredictedOutput& output;
    std::string path;
    bool probabilities = false, numbers = false;
    DType type = DType::kF32;
    std::size_t row_bytes = 0;
    std::unique_ptr<data::NpyWriter> file{};
  };

  template <class Value>
  static void append(const Value& value, std::string& rows) {
    rows.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  static void add_row(const Array& array, const std::byte* values, std::string& rows) {
    const evaluation::Classes& classes = array.output.classes;
    if (array.output.type != DType::kF32) {
      rows.append(reinterpret_cast<const char*>(values), array.row_bytes);
      return;
    }
    const auto* const floats = reinterpret_cast<const float*>(values);
    if (!array.probabilities && !array.numbers) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(classes.width()); ++i)
        append(PredictColumns::unscaled(array.output, floats, i), rows);
      return;
    }
    for (std::int64_t i = 0; i < classes.positions(); ++i) {
      const float* const position = floats + i * classes.row_width();
      if (array.probabilities)
        for (const float value : classes.probabilities(position)) append(value, rows);
      else if (array.type == DType::kU8)
        append(static_cast<std::uint8_t>(classes.class_of(position)), rows);
      else
        append(static_cast<std::int32_t>(classes.class_of(position)), rows);
    }
  }

  std::vector<Array> arrays_;
};

/// A PNG for each image, with classes of the image's own pixels. Bytes of a sample: its index, then the class of each
/// position of each output with masks.
class MaskWriter final : public PredictWriter {
 public:
  MaskWriter(const WriterSetting& setting, const data::Source& samples) : pipeline_(setting.pipeline) {
    evaluation::MaskFiles::Options options{.outputs = {}, .overwrite = setting.flags.overwrite};
    for (std::size_t i = 0; i < setting.outputs.size(); ++i)
      if (setting.outputs[i].is_mask()) {
        outputs_.push_back({&setting.outputs[i], i});
        options.outputs.push_back(setting.outputs[i].name);
        record_ += static_cast<std::size_t>(setting.outputs[i].classes.positions());
      }
    if (const config::Typed& train = setting.data.train; train) {
      const std::optional<std::int64_t> ignored = data::def_of(train).common(train.spec()).ignore_class;
      if (ignored && *ignored >= 0 && *ignored < kMaxByteClasses) outside_ = static_cast<std::uint8_t>(*ignored);
      if (const auto* colored = train.get_if<data::ImageMasksSpec>())
        for (const auto& [name, color] : colored->classes.entries) options.palette.push_back(color);
    }
    if (!setting.is_first) return;
    std::vector<std::string> images;
    for (std::int64_t i = 0; i < samples.size(); ++i)
      images.push_back(setting.input.is_named() ? samples.label_place(i) : std::to_string(i));
    folder_ = *setting.flags.output;
    files_ = std::make_unique<evaluation::MaskFiles>(folder_, setting.flags.inputs, images, std::move(options));
    pool_ = std::make_unique<TaskPool>(machine::cpus());
  }

  void add(const PredictedSample& sample, const std::vector<const std::byte*>& values, std::string& rows) override {
    rows.append(reinterpret_cast<const char*>(&sample.index), sizeof(sample.index));
    for (const Masked& masked : outputs_) {
      const evaluation::Classes& classes = masked.output->classes;
      const auto* const floats = reinterpret_cast<const float*>(values[masked.place]);
      for (std::int64_t i = 0; i < classes.positions(); ++i)
        rows += static_cast<char>(classes.class_of(floats + i * classes.row_width()));
    }
  }
  void write(const data::Source& block, const std::string& rows) override {
    std::vector<std::future<void>> tasks;
    for (std::size_t at = 0; at + record_ <= rows.size(); at += record_)
      tasks.push_back(pool_->send([this, &block, record = rows.data() + at] { write_masks(block, record); }));
    for (std::future<void>& task : tasks) task.wait();  // all of them, because they read `rows`
    for (std::future<void>& task : tasks) task.get();
  }
  std::string finish(std::int64_t samples) override {
    return fmt::format("{} ({})", folder_, counted(samples * static_cast<std::int64_t>(outputs_.size()), "mask"));
  }

 private:
  struct Masked {
    const PredictedOutput* output;
    std::size_t place;  ///< among all outputs
  };

  void write_masks(const data::Source& block, const char* record) const {
    std::int64_t index = 0;
    std::memcpy(&index, record, sizeof(index));
    const auto* classes = reinterpret_cast<const std::uint8_t*>(record + sizeof(index));
    Shape image = block.input_shape(0);
    if (image.rank() == 0) image = block.peek_shape(index, 0);
    if (image.rank() == 2) image = {image[0], image[1], 1};
    if (image.rank() != 3)
      throw Error(ErrorKind::kData, fmt::format("{}: cannot read the size of the image", block.label_place(index)));
    const std::array<double, 4> covered = pipeline_.covered(image);
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      const Shape& shape = outputs_[k].output->shape;
      const auto positions = static_cast<std::size_t>(shape[0] * shape[1]);
      const Size2 size{image[0], image[1]};
      files_->write(static_cast<std::size_t>(index), k,
                    evaluation::classes_of_pixels({classes, positions}, {shape[0], shape[1]}, covered, size, outside_),
                    size);
      classes += positions;
    }
  }

  const data::Pipeline& pipeline_;
  std::vector<Masked> outputs_;
  std::size_t record_ = sizeof(std::int64_t);  ///< bytes of a sample
  std::uint8_t outside_ = 0;
  std::string folder_;
  std::unique_ptr<evaluation::MaskFiles> files_;  ///< process 0
  std::unique_ptr<TaskPool> pool_;                ///< process 0
};

bool has_masks(const std::vector<PredictedOutput>& outputs) {
  return std::ranges::any_of(outputs, [](const PredictedOutput& output) { return output.is_mask(); });
}

/// "64x64 positions of 3 classes".
std::string describe(const PredictedOutput& output) {
  std::vector<std::int64_t> dims = output.shape.dims();
  dims.pop_back();
  return fmt::format("{} positions of {}", Shape(std::move(dims)).str(), counted(output.classes.count(), "class"));
}

void check_csv(const PredictOutputFlags& flags, const std::vector<PredictedOutput>& outputs) {
  for (const PredictedOutput& output : outputs) {
    if (!output.layer.empty() && output.shape.rank() > 1)
      refuse(fmt::format("--layer {}: a row of CSV cannot contain an output of the shape {}; give --output {}.npy",
                         output.layer, output.shape.str(), fs::path(flags.output.value_or("layer")).stem().string()));
    const evaluation::Classes& classes = output.classes;
    if (classes.known() && classes.positions() > 1 && classes.width() > kMaxColumns && !flags.probabilities)
      refuse(fmt::format(
          "the output has {}, which are {} columns of CSV; write the class of each position with {}"
          "--output classes.npy, or add --probabilities to write the columns",
          describe(output), with_commas(classes.width()), output.is_mask() ? "--output masks/ (PNG files) or " : ""));
  }
}

void check_masks(const PredictOutputFlags& flags, const std::vector<PredictedOutput>& outputs) {
  if (flags.probabilities)
    refuse(fmt::format("--output {}: masks contain no probabilities; give --output FILE.npy", *flags.output));
  for (const PredictedOutput& output : outputs)
    if (output.is_mask() && output.classes.count() > kMaxByteClasses)
      refuse(fmt::format("--output {}: a mask has at most {} classes, the output has {}; give --output FILE.npy",
                         *flags.output, kMaxByteClasses, with_commas(output.classes.count())));
}

}  // namespace

std::string array_path(const std::string& path, const std::string& output) {
  if (output.empty()) return path;
  std::string name = output;
  std::ranges::replace(name, '/', '_');
  const fs::path file(path);
  return (file.parent_path() / (file.stem().string() + "-" + name + file.extension().string())).string();
}

OutputKind output_kind(const std::optional<std::string>& path, const std::vector<PredictedOutput>& outputs) {
  static constexpr std::array kTexts{".csv", ".tsv", ".txt"};
  static constexpr std::array kOthers{".npz", ".h5", ".hdf5", ".json", ".parquet", ".tif", ".tiff", ".zip"};
  if (!path) return OutputKind::kCsv;
  std::error_code ignored;
  const bool is_folder = path->ends_with('/') || fs::is_directory(*path, ignored);
  if (is_folder && !has_masks(outputs))
    refuse(
        fmt::format("--output {}: a folder is for masks of a model with a class at each position of an image; give "
                    "a .csv or .npy file",
                    *path));
  if (is_folder) return OutputKind::kMasks;
  const std::string suffix = fs::path(*path).extension().string();
  if (suffix == ".npy") return OutputKind::kArrays;
  const bool is_device = fs::exists(*path, ignored) && !fs::is_regular_file(*path, ignored);
  if (!has_masks(outputs) || is_device || std::ranges::find(kTexts, suffix) != kTexts.end()) return OutputKind::kCsv;
  if (!data::format_of_name(*path).empty() || std::ranges::find(kOthers, suffix) != kOthers.end())
    refuse(fmt::format("--output {}: predict writes no {} file; give a folder for masks, or a .npy or .csv file", *path,
                       suffix));
  return OutputKind::kMasks;
}

void check_output(OutputKind kind, const PredictOutputFlags& flags, const std::vector<PredictedOutput>& outputs) {
  bool classes = false, class_of_sample = false;
  std::int64_t most = 0;
  for (const PredictedOutput& output : outputs) {
    classes |= output.classes.known();
    class_of_sample |= output.classes.one_per_sample();
    if (output.classes.one_per_sample()) most = std::max(most, output.classes.count());
  }
  if (flags.probabilities && !classes)
    refuse(!outputs.front().layer.empty() ? "--probabilities does not apply to --layer, which writes the layer's values"
                                          : "--probabilities needs an output with classes; this model has none");
  if (flags.top && !class_of_sample) refuse("--top needs an output with one class per sample; this model has none");
  if (flags.top.value_or(1) > most && class_of_sample)
    refuse(fmt::format("--top {}: the model has {} classes", *flags.top, most));
  if (flags.overwrite && kind != OutputKind::kMasks) refuse("--overwrite is for --output DIR, a folder of masks");
  if (kind != OutputKind::kCsv && (flags.top || !flags.keep.empty()))
    refuse(fmt::format("--output {}: {} adds columns to a CSV file; give --output FILE.csv", *flags.output,
                       flags.top ? "--top" : "--keep"));
  if (kind == OutputKind::kCsv) check_csv(flags, outputs);
  if (kind == OutputKind::kMasks) check_masks(flags, outputs);
}

std::unique_ptr<PredictWriter> make_writer(OutputKind kind, const WriterSetting& setting, const data::Source* samples) {
  switch (kind) {
    case OutputKind::kCsv: return std::make_unique<CsvWriter>(setting);
    case OutputKind::kArrays: return std::make_unique<ArrayWriter>(setting);
    case OutputKind::kMasks: break;
  }
  const std::vector<Shape>& inputs = setting.model.input_shapes;
  if (inputs.size() != 1 || inputs.front().rank() != 3 || setting.input.samples == 0 || samples == nullptr)
    refuse(fmt::format("--output {}: masks need images or an array of images as the only input; give --output FILE.npy",
                       *setting.flags.output));
  return std::make_unique<MaskWriter>(setting, *samples);
}

}  // namespace dptrain::cli
