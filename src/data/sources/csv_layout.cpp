#include "data/sources/csv_layout.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "config/diagnostics.h"
#include "config/family.h"
#include "config/source_text.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data {
namespace {

using Json = nlohmann::json;
constexpr const char* kKind = "CSV";

constexpr std::pair<table::DateForm, const char*> kForms[] = {{table::DateForm::kIso, "iso"},
                                                              {table::DateForm::kDayFirst, "day_first"},
                                                              {table::DateForm::kMonthFirst, "month_first"}};

const char* form_name(table::DateForm form) {
  return std::ranges::find(kForms, form, &std::pair<table::DateForm, const char*>::first)->second;
}

table::DateForm form_of(const std::string& name) {
  for (const auto& [form, word] : kForms)
    if (name == word) return form;
  throw Error(ErrorKind::kCheckpoint, fmt::format("a column has dates of the unknown form '{}'", name));
}

config::Typed encoder_of(const Json& json) {
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  config::Typed encoder;
  if (const auto text = config::SourceText::check(json.dump(), "fitted state", "", diagnostics))
    encoder = encoder_family().read(config::parse_yaml(*text, diagnostics), reader);
  if (!encoder || !diagnostics.ok())
    throw Error(ErrorKind::kCheckpoint, "a column's encoder is unknown: " + json.dump());
  return encoder;
}

Json to_json(const table::NumberFormat& format) {
  Json json{{"decimal", std::string(1, format.decimal)}};
  if (format.thousands != '\0') json["thousands"] = std::string(1, format.thousands);
  if (!format.sign.empty()) json["sign"] = format.sign;
  return json;
}

Json to_json(const CsvLayout& layout) {
  Json inputs = Json::array(), columns = Json::array(), labels = Json::array();
  for (const auto& group : layout.inputs) inputs.push_back({{"name", group.name}, {"columns", group.columns}});
  for (const auto& column : layout.columns) {
    Json json{{"name", column.name},
              {"as", Json::parse(config::to_json(column.encoder.write(true)))},
              {"learned", Json::parse(column.fitted_state)}};
    if (column_type_of(column.encoder) == table::ColumnType::kDate) json["dates"] = form_name(column.form);
    columns.push_back(std::move(json));
  }
  for (const auto& label : layout.labels) {
    labels.push_back({{"name", label.name}, {"columns", label.columns}, {"classes", label.classes}});
    if (label.integers) labels.back()["integers"] = true;
    if (label.mask) labels.back()["mask"] = Json::parse(config::to_json(label.mask.write(true)));
  }
  Json json{{"data_set", kKind},
            {"separator", std::string(1, layout.dialect.separator)},
            {"header", layout.dialect.header},
            {"inputs", inputs},
            {"columns", columns},
            {"labels", labels}};
  for (const auto& [name, format] : layout.numbers) json["numbers"][name] = to_json(format);
  return json;
}

char mark_of(const Json& json, const char* key, const char* marks) {
  const auto mark = json.at(key).get<std::string>();
  if (mark.size() == 1 && std::string_view(marks).find(mark) != std::string_view::npos) return mark.front();
  throw Error(ErrorKind::kCheckpoint, fmt::format("a column of numbers has the unknown {} '{}'", key, printable(mark)));
}

table::NumberFormat format_of(const Json& json) {
  table::NumberFormat format{.decimal = mark_of(json, "decimal", ".,")};
  if (json.contains("thousands")) format.thousands = mark_of(json, "thousands", ",. '");
  format.sign = json.value("sign", "");
  return format;
}

CsvLayout from_json(const Json& json) {
  using Words = std::vector<std::string>;
  if (const auto kind = json.at("data_set").get<std::string>(); kind != kKind)
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("the model was trained on a data set of the type {}, not {}", kind, kKind));
  CsvLayout layout;
  if (const auto separator = json.at("separator").get<std::string>(); separator.size() == 1)
    layout.dialect.separator = separator.front();
  layout.dialect.header = json.at("header").get<bool>();
  for (const Json& group : json.at("inputs"))
    layout.inputs.push_back({group.at("name").get<std::string>(), group.at("columns").get<Words>()});
  for (const Json& column : json.at("columns"))
    layout.columns.push_back({.name = column.at("name").get<std::string>(),
                              .form = form_of(column.value("dates", "iso")),
                              .encoder = encoder_of(column.at("as")),
                              .fitted_state = column.at("learned").dump()});
  for (const Json& label : json.at("labels"))
    layout.labels.push_back({.name = label.at("name").get<std::string>(),
                             .columns = label.at("columns").get<Words>(),
                             .classes = label.at("classes").get<Words>(),
                             .integers = label.value("integers", false),
                             .mask = label.contains("mask") ? encoder_of(label.at("mask")) : config::Typed()});
  if (const auto numbers = json.find("numbers"); numbers != json.end())
    for (const auto& [name, format] : numbers->items()) layout.numbers[name] = format_of(format);
  return layout;
}

}  // namespace

const CsvLayout::Column& CsvLayout::column(const std::string& name) const {
  const auto found = std::ranges::find(columns, name, &Column::name);
  if (found == columns.end()) throw Error(ErrorKind::kCheckpoint, fmt::format("the column '{}' is not fitted", name));
  return *found;
}

bool CsvLayout::has_file_columns() const {
  return std::ranges::any_of(columns, [](const Column& column) { return reads_files(column.encoder); }) ||
         std::ranges::any_of(labels, [](const Label& label) { return static_cast<bool>(label.mask); });
}

std::string CsvLayout::text() const { return to_json(*this).dump(); }

ClassNames class_names_of_model(const std::string& fitted_state, const ClassNames& stored) {
  if (stored.has_named_output() || fitted_state.empty()) return stored;
  const Json json = Json::parse(fitted_state, nullptr, false);
  if (!json.is_object() || json.value("data_set", Json()) != kKind) return stored;
  ClassNames names;
  for (const CsvLayout::Label& label : CsvLayout::parse(fitted_state).labels) names.add(label.name, label.classes);
  return names.has_named_output() ? names : stored;
}

CsvLayout CsvLayout::parse(const std::string& text) try {
  return from_json(Json::parse(text));
} catch (const Json::exception& error) {
  throw Error(ErrorKind::kCheckpoint, fmt::format("the fitted state of the data cannot be read: {}", error.what()));
}

}  // namespace dptrain::data
