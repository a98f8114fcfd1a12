// CSV: its keys, and how predict and the data commands open tables.

#include "data/sources/csv.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "config/json_fragment.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/encoders/files.h"
#include "data/images/image_info.h"
#include "data/sources/csv_layout.h"
#include "data/sources/csv_source.h"
#include "data/sources/csv_stream.h"
#include "data/sources/image_folder.h"

namespace dptrain::config {
namespace {

bool read_group(const Node& node, Reader& reader, const std::string& name, data::ColumnGroups& out) {
  data::ColumnGroups::Group group{.name = name, .columns = {}};
  if (!Value<std::vector<std::string>>::read(node, reader, group.columns)) return false;
  if (group.columns.empty()) return reader.expected(node, "the name of a column, or a list of them"), false;
  out.groups.push_back(std::move(group));
  return true;
}

Node group_node(const data::ColumnGroups::Group& group) {
  return group.columns.size() == 1 ? Node::text(group.columns.front())
                                   : Value<std::vector<std::string>>::write(group.columns);
}

}  // namespace

bool Value<data::ColumnGroups>::read(const Node& node, Reader& reader, data::ColumnGroups& out) {
  out.groups.clear();
  const Node found = reader.substituted(node);
  if (found.is_null()) return true;
  if (!found.is_map()) return read_group(found, reader, "", out);
  bool good = true;
  for (const Node::Entry& entry : found.entries()) {
    const Reader::Key element(reader, reader.key() + "." + entry.key);
    good = read_group(entry.value, reader, entry.key, out) && good;
  }
  return good;
}

Node Value<data::ColumnGroups>::write(const data::ColumnGroups& value) {
  if (value.groups.empty()) return {};
  if (value.groups.size() == 1 && value.groups.front().name.empty()) return group_node(value.groups.front());
  Node map = Node::map();
  for (const auto& group : value.groups) map.set(group.name, group_node(group));
  return map;
}

Node Value<data::ColumnGroups>::schema() {
  const Node columns = Value<std::vector<std::string>>::schema();
  return fragment::any_of({columns, detail::map_schema(columns)});
}

}  // namespace dptrain::config

namespace dptrain::data {
namespace {

std::string check_csv(const CSVSpec& spec) {
  if (spec.separator && spec.separator->size() != 1) return "separator must be one character, as in ';' or \"\\t\"";
  if (spec.separator && (*spec.separator == "\"" || *spec.separator == "\n" || *spec.separator == "\r"))
    return "separator must be neither a quote nor the end of a line";
  if (spec.decimal && *spec.decimal != "." && *spec.decimal != ",")
    return fmt::format("decimal must be \".\" or \",\", found \"{}\"", printable(*spec.decimal));
  constexpr std::array kThousands{",", ".", " ", "'", "none"};
  if (spec.thousands && std::ranges::find(kThousands, *spec.thousands) == kThousands.end())
    return fmt::format("thousands must be \",\", \".\", \" \", \"'\" or none, found \"{}\"",
                       printable(*spec.thousands));
  if (spec.thousands && *spec.thousands == spec.decimal)
    return fmt::format("decimal and thousands are both \"{}\"; write two different ones", *spec.decimal);
  return "";
}

/// The paths without patterns. Patterns are expanded when the data set is opened.
std::vector<config::Path> csv_paths(const CSVSpec& spec) {
  std::vector<config::Path> whole;
  for (const config::Path& path : spec.files)
    if (!is_pattern(path.value)) whole.push_back(path);
  return whole;
}

/// Rows of a table that predict holds in memory at a time.
constexpr std::int64_t kRowsAtOnce = 65'536;

/// Reads the files one after another, each as a stream.
PredictSource predict_rows(CSVSpec spec, const PredictFiles& files, const ModelSide& side) {
  ModelSide model = side;
  model.fitted_state = files.fitted_state;
  spec.on_error = files.policy(spec.on_error);
  struct State {
    std::vector<std::string> paths;
    std::size_t next = 0;
    std::unique_ptr<CsvStream> stream{};
    std::vector<BadSample> bad{};  ///< bad samples of completed files
  };
  const auto state = std::make_shared<State>(State{files.paths});
  const auto open_next = [state, spec, model](const table::PassthroughColumns& keep) {
    state->stream = std::make_unique<CsvStream>(spec, model, state->paths[state->next++], keep);
  };
  open_next(files.passthrough);
  const table::PassthroughColumns passthrough{.all = false, .names = state->stream->passthrough()};
  PredictSource input;
  input.key = "place";
  input.fingerprint = join(files.paths, ", ");
  input.passthrough = passthrough.names;
  input.passthrough_field = [state](std::int64_t sample, std::size_t which) {
    return state->stream->passthrough_field(sample, which);
  };
  const auto take_bad = [state] {
    std::ranges::move(state->stream->take_bad_samples(), std::back_inserter(state->bad));
  };
  input.next = [state, open_next, passthrough, take_bad]() -> std::shared_ptr<const Source> {
    for (;;) {
      if (!state->stream) {
        if (state->next == state->paths.size()) return nullptr;
        open_next(passthrough);
      }
      if (auto rows = state->stream->next(kRowsAtOnce)) return rows;
      take_bad();
      state->stream.reset();
    }
  };
  input.take_bad_samples = [state, take_bad] {
    if (state->stream) take_bad();
    return std::exchange(state->bad, {});
  };
  return input;
}

/// Reads all rows of the file at once, as the other parts of the Join do.
PredictSource predict_part(CSVSpec spec, const PredictFiles& files, const ModelSide& side) {
  ModelSide model = side;
  model.fitted_state = files.fitted_state;
  spec.on_error = files.policy(spec.on_error);
  const std::string& path = files.paths.front();
  const auto stream = std::make_shared<CsvStream>(spec, model, path, files.passthrough);
  std::shared_ptr<const Source> rows = stream->next(std::numeric_limits<std::int64_t>::max());
  if (rows == nullptr) throw Error(ErrorKind::kData, path + ": has no rows");
  if (const auto bad = stream->take_bad_samples(); !bad.empty())
    throw Error(
        ErrorKind::kData,
        fmt::format("{}; skipping it would shift the rows after it against the other inputs of the Join; repair it",
                    bad.front().str()));
  PredictSource input = whole_source(std::move(rows), "place");
  input.passthrough = stream->passthrough();
  input.passthrough_field = [stream](std::int64_t sample, std::size_t which) {
    return stream->passthrough_field(sample, which);
  };
  return input;
}

bool is_picture(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) || !format_of_name(path).empty();
}

/// Reads images for a model of a table whose only input column contains image paths. `picture`: one of `files.paths`.
PredictSource predict_pictures(const PredictFiles& files, const std::string& picture) {
  std::vector<std::string> names;
  const ImageSpec* images = nullptr;
  const CsvLayout table = CsvLayout::parse(files.fitted_state);
  for (const CsvLayout::Column& column : table.columns) {
    names.push_back(printable(column.name));
    images = column.encoder.get_if<ImageSpec>();
  }
  if (names.size() != 1 || images == nullptr)
    throw Error(ErrorKind::kUsage,
                fmt::format("--input {}: expected a table with the columns {}, found {}", picture, join(names, ", "),
                            std::filesystem::is_directory(picture) ? "a folder" : "an image"));
  ImageFolderSpec options;
  options.color_mode = images->color_mode;
  options.exif = images->exif;
  options.on_error = files.policy(options.on_error);
  return whole_source(open_images(files.paths, options), "file");
}

PredictSource predict_csv(const CSVSpec* spec, const PredictFiles& files, const ModelSide& model) {
  if (files.is_part) return predict_part(*spec, files, model);
  const auto picture = std::ranges::find_if(files.paths, is_picture);
  return picture == files.paths.end() ? predict_rows(*spec, files, model) : predict_pictures(files, *picture);
}

/// "iris.csv", "iris.tsv.gz".
bool is_table_name(std::string path) {
  if (path.ends_with(".gz")) path.resize(path.size() - 3);
  return path.ends_with(".csv") || path.ends_with(".tsv");
}

std::shared_ptr<const Source> open_table(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored) || !is_table_name(path)) return nullptr;
  CSVSpec spec;
  spec.files = {config::Path{path}};
  spec.on_error.skip = true;
  return open_sources({.train = dataset_family().make(std::move(spec)), .validation = {}, .test = {}}, {}, 0).train;
}

const RegisteredDataset kCsvSet =
    dataset_def<CSVSpec>(
        config::Schema::of<CSVSpec>("CSV")
            .doc("tables, one row per sample; an encoder converts each column to numbers")
            .positional(key("file", &CSVSpec::files)
                            .required()
                            .doc("a file, plain or .gz; a pattern such as `parts/*.csv`; or a list"))
            .key(key("labels", &CSVSpec::labels)
                     .doc("a column; several for a row of numbers; or {output name: columns}"))
            .key(key("inputs", &CSVSpec::inputs)
                     .doc("a column or a list; or {input name: columns}; default: all other columns"))
            .key(key("columns", &CSVSpec::columns).doc("{column: encoder}; default: the encoder of the detected type"))
            .key(key("sample_weight", &CSVSpec::sample_weight).doc("a column: one factor for each row's loss"))
            .key(key("separator", &CSVSpec::separator).doc("one character between fields; default: detected"))
            .key(key("header", &CSVSpec::header).doc("whether the first row has names; default: detected"))
            .key(key("decimal", &CSVSpec::decimal).doc("decimal mark of numbers, \".\" or \",\"; default: detected"))
            .key(key("thousands", &CSVSpec::thousands)
                     .doc("separator of groups of three digits: \",\", \".\", \" \", \"'\" or none; default: detected"))
            .key(key("missing_values", &CSVSpec::missing_values)
                     .doc("fields that count as missing; default: '', NA, N/A, NaN, nan, null, NULL, None and ?"))
            .key(key("missing_columns", &CSVSpec::missing_columns)
                     .doc("true: a later file can lack an input column; its values are missing"))
            .key(key("on_error", &CSVSpec::on_error)
                     .doc("unreadable rows, rows without a label, and rows that name an unreadable file: fail, skip, "
                          "or a "
                          "limit such as {skip: 10} or {skip: 0.1%}"))
            .rule<CSVSpec>(check_csv),
        open_csv, csv_paths)
        .needs_fit([](const CSVSpec&) { return true; })
        .open_path(open_table)
        .predict(predict_csv, {.expected_input = "rows of a CSV file",
                               .refused = {FileKind::Use::kArrays, FileKind::Use::kHdf5},
                               .supports_passthrough = true});

}  // namespace
}  // namespace dptrain::data
