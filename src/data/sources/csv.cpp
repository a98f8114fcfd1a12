// The keys of CSV.

#include "data/sources/csv.h"

#include <algorithm>
#include <array>

#include "config/json_fragment.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/csv_source.h"

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
  if (found.is_null()) return true;  // none
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

/// Patterns are looked at when the data set is opened.
std::vector<config::Path> csv_paths(const CSVSpec& spec) {
  std::vector<config::Path> whole;
  for (const config::Path& path : spec.files)
    if (!is_pattern(path.value)) whole.push_back(path);
  return whole;
}

std::unique_ptr<DatasetDef> csv_def() {
  auto def = dataset_def<CSVSpec>(
      config::Schema::of<CSVSpec>("CSV")
          .positional(key("file", &CSVSpec::files)
                          .required()
                          .doc("a file, plain or .gz, a pattern such as part-*.csv, or a list"))
          .key(key("labels", &CSVSpec::labels).doc("a column, several, or {output name: column}"))
          .key(key("inputs", &CSVSpec::inputs).doc("columns of the input, or {input name: columns}; else all others"))
          .key(key("columns", &CSVSpec::columns).doc("{column: how it becomes numbers}, where looking is not enough"))
          .key(key("sample_weight", &CSVSpec::sample_weight).doc("a column: a factor of each row's loss"))
          .key(key("separator", &CSVSpec::separator).doc("between fields; found by looking"))
          .key(key("header", &CSVSpec::header).doc("whether the first row has names; found by looking"))
          .key(key("decimal", &CSVSpec::decimal).doc("decimal mark of numbers, \".\" or \",\"; found by looking"))
          .key(key("thousands", &CSVSpec::thousands)
                   .doc("between groups of three digits: \",\", \".\", \" \", \"'\" or none; found by looking"))
          .key(key("missing_values", &CSVSpec::missing_values)
                   .doc("fields that mean nothing, in place of '', NA, NaN, null and the like"))
          .key(key("missing_columns", &CSVSpec::missing_columns)
                   .doc("take a column that is not there for one of missing values"))
          .key(key("on_error", &CSVSpec::on_error).doc("rows that cannot be read or lack a label"))
          .rule<CSVSpec>(check_csv),
      open_csv, csv_paths);
  def->learns = [](const void*) { return true; };
  return def;
}

const RegisteredDataset kCsvSet = csv_def();

}  // namespace
}  // namespace dptrain::data
