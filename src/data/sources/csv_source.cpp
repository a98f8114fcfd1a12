#include "data/sources/csv_source.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <future>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/quantity.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/sources/csv_columns.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"
#include "data/sources/labelled_source.h"

namespace dptrain::data {
namespace {

constexpr std::int64_t kHashedNames = 1000, kHashedContents = 64;

/// Hashes evenly spread rows: their paths as written in the table, and the sizes and ends of their files.
std::uint64_t hash_of_named_files(const CsvRows& rows, const CsvFeature& column) {
  std::uint64_t hash = kHashStart;
  const std::int64_t count = rows.size(), named = std::min(count, kHashedNames),
                     read = std::min(count, kHashedContents);
  for (std::int64_t i = 0; i < named; ++i) {
    const std::string name = column.cell_text(rows.row_of(i * count / named));
    hash = hash_bytes(name.data(), name.size(), hash);
  }
  for (std::int64_t i = 0; i < read; ++i) hash = hash_ends(column.path(rows.row_of(i * count / read)), hash);
  return hash;
}

/// Hashes the path, size and modification time of the files of all rows.
std::uint64_t stamps_of(const CsvRows& rows, const CsvFeature& column) {
  std::uint64_t hash = kHashStart;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const std::string path = column.path(rows.row_of(i));
    hash = hash_stamp(path, hash_bytes(path.data(), path.size(), hash));
  }
  return hash;
}

/// Base class of CsvSamples and UnfittedCsv.
class CsvBase : public LabelledSource {
 public:
  explicit CsvBase(std::shared_ptr<const CsvRows> rows) : LabelledSource("row", {}), rows_(std::move(rows)) {
    use_labels(rows_->labels);
    sample_weights_ = rows_->sample_weights;
    for (const CsvLayout::Label& label : rows_->layout.labels) class_names_.add(label.name, label.classes);
    fingerprint_ = rows_->fingerprint;
  }

  std::int64_t size() const override { return rows_->size(); }
  std::string label_place(std::int64_t index, int) const override { return rows_->table.place(rows_->row_of(index)); }
  std::shared_ptr<BadSamples> bad_samples() const override { return rows_->bad; }
  void prefetch_sample(std::int64_t index) const override {
    LabelledSource::prefetch_sample(index);
    rows_->table.prefetch_row(rows_->row_of(index));
  }
  std::string cache_key() const override { return fmt::format("{} of {}", fingerprint_, rows_->cache_key); }

 protected:
  std::shared_ptr<const CsvRows> rows_;
};

/// Samples of a table whose encoders are fitted.
class CsvSamples final : public CsvBase {
 public:
  CsvSamples(std::shared_ptr<const CsvRows> rows, const CsvLayout& layout) : CsvBase(std::move(rows)) {
    for (const auto& group : layout.inputs) {
      Input input{.name = group.name};
      for (const std::string& name : group.columns) {
        const CsvFeature& feature = input.features.emplace_back(rows_, layout.column(name));
        const Encoder& encoder = feature.encoder();
        input.floats = encoder.floats() == 0 || input.floats < 0 ? -1 : input.floats + encoder.floats();
        input.ids = encoder.ids() == 0 || input.ids < 0 ? -1 : input.ids + encoder.ids();
        warn_about_unknown(feature);
        if (const auto map = feature.linear()) input.linear.push_back({feature.cell(), *map});
      }
      check_files(input);
      inputs_.push_back(std::move(input));
    }
    for (const CsvLayout::Label& label : rows_->layout.labels) {
      std::optional<CsvFeature>& mask = masks_.emplace_back();
      if (label.mask)
        mask.emplace(
            rows_,
            CsvLayout::Column{.name = label.columns.front(), .form = {}, .encoder = label.mask, .fitted_state = "{}"});
    }
    const std::string text = layout.text();
    fingerprint_ = fmt::format("{} as {:016x}", rows_->fingerprint, hash_bytes(text.data(), text.size()));
  }

  /// Checks that some of the files that columns name exist, and adds their hash to the fingerprint.
  void check_file_columns() {
    for (const CsvFeature* const column : file_columns()) {
      column->require_files();
      fingerprint_ += fmt::format(", files {:016x}", hash_of_named_files(*rows_, *column));
    }
  }

  int inputs() const override { return static_cast<int>(inputs_.size()); }
  std::string input_name(int input) const override { return at(input).name; }
  /// Shape in floats, or in ids if the columns have only ids or choose_ids() chose them.
  Shape input_shape(int input) const override {
    const Input& of = at(input);
    if (const FileEncoder* const files = of.files()) {
      const Shape extents = files->extents();
      return extents.elements() > 0 ? extents : Shape();
    }
    return Shape{of.floats > 0 && !of.as_ids ? of.floats : of.ids};
  }
  Shape peek_shape(std::int64_t index, int input) const override {
    const FileEncoder* const files = at(input).files();
    return files == nullptr ? Shape() : files->peek(at(input).features.front().path(rows_->row_of(index)));
  }
  std::optional<ClipInfo> inspect(std::int64_t index) const override {
    std::optional<ClipInfo> info;
    for (const Input& input : inputs_)
      if (input.files() != nullptr)
        if (const auto found = input.features.front().inspect(rows_->row_of(index))) info = found;
    return info;
  }
  bool draws() const override {
    return std::ranges::any_of(inputs_, [](const Input& in) { return in.files() != nullptr && in.files()->draws(); });
  }
  std::string cache_key() const override {
    std::string key = CsvBase::cache_key();
    for (const CsvFeature* const column : file_columns())
      key += fmt::format(", files {:016x}", stamps_of(*rows_, *column));
    return key;
  }
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    const Input& of = at(input);
    if (of.files() != nullptr) return of.features.front().read(rows_->row_of(index), hint, out);
    out.shape = Shape{of.floats};
    out.type = DType::kF32;
    out.f32.resize(static_cast<std::size_t>(of.floats));
    write_floats(of, rows_->row_of(index), out.f32.data());
  }
  void read_label_map(std::int64_t index, Array& out, int which) const override {
    mask(which).read(rows_->row_of(index), {}, out);
  }
  Shape peek_label_map(std::int64_t index, int which) const override {
    return mask(which).files()->peek(mask(which).path(rows_->row_of(index)));
  }
  std::string label_map_place(std::int64_t index, int which) const override {
    return mask(which).path(rows_->row_of(index));
  }
  bool can_read_exact(int input, DType type) const override {
    return type == DType::kI32 ? at(input).ids > 0 : type == DType::kF32 && at(input).floats > 0;
  }
  void read_exact(std::int64_t index, int input, DType type, void* out) const override {
    if (type == DType::kF32) return write_floats(at(input), rows_->row_of(index), static_cast<float*>(out));
    auto* place = static_cast<std::int32_t*>(out);
    for (const CsvFeature& feature : at(input).features) {
      feature.encode_ids(rows_->row_of(index), place);
      place += feature.encoder().ids();
    }
  }

  std::vector<std::string> column_lines() const override {
    std::vector<std::string> lines;
    const std::size_t width = name_width();
    for (const Input& input : inputs_)
      for (const CsvFeature& feature : input.features)
        lines.push_back((input.name.empty() ? "" : input.name + ": ") + feature.line(width));
    return lines;
  }

  std::vector<std::string> cell_lines(std::int64_t index) const override {
    std::vector<std::string> lines;
    const std::size_t width = name_width();
    for (const Input& input : inputs_)
      for (const CsvFeature& feature : input.features) lines.push_back(feature.line_of(rows_->row_of(index), width));
    return lines;
  }

  /// Chooses floats or ids for each input, as the model requires.
  void choose_ids(const ModelSide& model) {
    for (Input& input : inputs_) {
      if (input.files() != nullptr) {
        compare_with_input(input, model);
        continue;
      }
      input.as_ids = input.ids > 0 && (input.floats <= 0 || model.is_id_input(input.name, inputs_.size()));
      if (input.ids <= 0 && input.floats <= 0)
        throw Error(
            ErrorKind::kUsage,
            "an input mixes columns that can only be floats with columns that can only be ids; use separate inputs");
    }
  }

 private:
  /// Width of the longest column name, for printed lines.
  std::size_t name_width() const {
    std::vector<std::string> names;
    for (const Input& input : inputs_)
      for (const CsvFeature& feature : input.features) names.push_back(printable(feature.name()));
    return column_width(names);
  }
  struct Mapped {
    int cell;
    LinearMap map;
  };
  struct Input {
    std::string name;
    std::vector<CsvFeature> features{};
    std::vector<Mapped> linear{};      ///< used only if all features are linear
    std::int64_t floats = 0, ids = 0;  ///< per sample; -1: a column has no such encoding
    bool as_ids = false;
    const FileEncoder* files() const { return features.front().files(); }
  };
  const Input& at(int input) const { return inputs_[static_cast<std::size_t>(input)]; }
  const CsvFeature& mask(int which) const { return masks_[static_cast<std::size_t>(which)].value(); }
  /// Columns of paths, of inputs and labels.
  std::vector<const CsvFeature*> file_columns() const {
    std::vector<const CsvFeature*> columns;
    for (const Input& input : inputs_)
      if (input.files() != nullptr) columns.push_back(&input.features.front());
    for (const std::optional<CsvFeature>& mask : masks_)
      if (mask) columns.push_back(&*mask);
    return columns;
  }

  static void check_files(const Input& input) {
    for (const CsvFeature& feature : input.features)
      if (feature.files() != nullptr && input.features.size() > 1)
        throw Error(
            ErrorKind::kUsage,
            fmt::format("column '{0}' contains file names, but shares the input{1} with other columns; use a separate "
                        "input, as in `inputs: {{{0}: {0}, others: [...]}}`, or `inputs: {0}` if it is the only one",
                        feature.name(), input.name.empty() ? "" : " '" + input.name + "'"));
  }
  /// Checks rank, type, channels and frames before the first file is read. No transform changes these.
  static void compare_with_input(const Input& input, const ModelSide& model) {
    const auto named = std::ranges::find(model.input_names, input.name);
    const bool only = input.name.empty() && model.input_shapes.size() == 1;
    if (!only && named == model.input_names.end()) return;
    const auto which = only ? 0 : static_cast<std::size_t>(named - model.input_names.begin());
    const Shape wanted = model.input_shapes[which], found = input.files()->extents();
    if (wanted.rank() == 0) return;
    const CsvFeature& feature = input.features.front();
    const auto fail = [&](const std::string& words) {
      throw Error(ErrorKind::kUsage, fmt::format("column '{}': {}", feature.name(), words));
    };
    if (wanted.rank() != found.rank() || model.input_type(which) != DType::kF32)
      fail(
          fmt::format("each file is {} of {} axes, the model's input is {} of {}; give the Input a shape as "
                      "{}",
                      input.files()->what(), found.rank(), name_of(model.input_type(which)), wanted.str(),
                      found.rank() == 3 ? "[height, width, channels]" : "[frames, height, width, channels]"));
    if (wanted.back() != found.back())
      fail(fmt::format(
          "files are read with {}, the model expects {}; write color_mode: grayscale, rgb or rgba for 1, 3 or 4",
          counted(found.back(), "channel"), wanted.back()));
    if (found.rank() == 4 && wanted[0] != found[0])
      fail(fmt::format("clips have {}, the model expects {}; write frames: {}", counted(found[0], "frame"), wanted[0],
                       wanted[0]));
  }

  void write_floats(const Input& input, std::int64_t row, float* out) const {
    if (input.linear.size() == input.features.size() && map_numbers(input, rows_->table.row(row), out)) return;
    for (const CsvFeature& feature : input.features) {
      feature.encode(row, out);
      out += feature.encoder().floats();
    }
  }
  /// Returns false for a missing number that the encoder rejects.
  static bool map_numbers(const Input& input, const table::Cell* cells, float* out) {
    bool good = true;
    for (const auto& [cell, map] : input.linear) {
      const auto found = static_cast<double>(cells[cell].number);
      const double number = std::isnan(found) ? map.fill : found;
      good = good && !std::isnan(number);
      *out++ = static_cast<float>((number - map.mean) / map.deviation);
    }
    return good;
  }

  void warn_about_unknown(const CsvFeature& feature) const {
    if (feature.unknown() > 0)
      log::info(fmt::format("{}: {} of {} values of '{}' are outside the vocabulary", rows_->place,
                            with_commas(feature.unknown()), with_commas(rows_->table.rows()), feature.name()));
  }

  std::vector<Input> inputs_;
  std::vector<std::optional<CsvFeature>> masks_;  ///< of each label that is a mask
};

/// `is_whole`: the rows are a data set, not a block of a stream.
std::shared_ptr<const Source> samples_as(std::shared_ptr<const CsvRows> rows, const CsvLayout& layout,
                                         const ModelSide& model, bool is_whole) {
  auto samples = std::make_shared<CsvSamples>(std::move(rows), layout);
  samples->choose_ids(model);
  if (is_whole) samples->check_file_columns();
  return samples;
}

/// Rows whose encoders are not fitted yet. read() is an error.
class UnfittedCsv final : public CsvBase {
 public:
  UnfittedCsv(std::shared_ptr<const CsvRows> rows, ModelSide model)
      : CsvBase(std::move(rows)), model_(std::move(model)) {}

  int inputs() const override { return static_cast<int>(rows_->layout.inputs.size()); }
  std::string input_name(int input) const override {
    return rows_->layout.inputs[static_cast<std::size_t>(input)].name;
  }
  Shape input_shape(int) const override { return {}; }
  void read(std::int64_t, int, Array&, const ReadHint&) const override {
    throw Error(ErrorKind::kInternal, "a table was read before it was fitted");
  }

  std::string fit(const std::vector<std::int64_t>& samples) const override {
    CsvLayout layout = rows_->layout;
    const CsvStatistics found = compute_statistics(*rows_, samples, machine::cpus());
    TaskPool pool(machine::cpus());
    std::vector<std::future<std::string>> all;
    for (const CsvLayout::Column& column : layout.columns)
      all.push_back(pool.send([&, this, &column = column] {
        return column.fitted_state.empty() ? fit_column(samples, found, column) : column.fitted_state;
      }));
    for (std::size_t i = 0; i < all.size(); ++i) layout.columns[i].fitted_state = all[i].get();
    return layout.text();
  }
  std::shared_ptr<const Source> fitted_source(const std::string& fitted_state) const override {
    return samples_as(rows_, CsvLayout::parse(fitted_state), model_, true);
  }

 private:
  std::string fit_column(const std::vector<std::int64_t>& samples, const CsvStatistics& found,
                         const CsvLayout::Column& column) const {
    const auto cells = training_column(*rows_, samples, found, column.name);
    try {
      return data::fit(column.encoder, *cells)->fitted_state().dump();
    } catch (const Error& error) {
      throw error.within(fmt::format("{}: column '{}'", rows_->place, column.name));
    }
  }

  ModelSide model_;
};

}  // namespace

std::shared_ptr<const Source> csv_samples(std::shared_ptr<const CsvRows> rows, const ModelSide& model) {
  const CsvLayout& layout = rows->layout;
  return samples_as(rows, layout, model, false);
}

std::shared_ptr<const Source> open_csv(const CSVSpec& spec, const ModelSide& model, Role) {
  std::shared_ptr<const CsvRows> rows = read_csv(spec, model);
  if (model.fitted_state.empty() || model.fits_labels()) return std::make_shared<UnfittedCsv>(std::move(rows), model);
  const CsvLayout& layout = rows->layout;
  return samples_as(rows, layout, model, true);
}

}  // namespace dptrain::data
