#include "data/sources/csv_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "config/family.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/encoders/encoder.h"
#include "data/encoders/files.h"
#include "data/encoders/lookup.h"
#include "data/table/sniffer.h"

namespace dptrain::data {
namespace {

using Groups = std::vector<ColumnGroups::Group>;
using Names = std::vector<std::string>;

bool is_ignored(const config::Typed& encoder) { return encoder.get_if<IgnoreSpec>() != nullptr; }

char thousands_of(const std::string& key) { return key == "none" ? '\0' : key.front(); }

table::SniffOptions sniff_options(const CSVSpec& spec) {
  table::SniffOptions options{.ranges = false};
  if (spec.separator) options.dialect.separator = spec.separator->front();
  options.dialect.header = spec.header;
  if (spec.decimal) options.dialect.decimal = spec.decimal->front();
  if (spec.thousands) options.dialect.thousands = thousands_of(*spec.thousands);
  if (spec.missing_values) options.missing = *spec.missing_values;
  return options;
}

Names names_of(const table::Schema& schema) {
  Names names;
  for (const table::Column& column : schema.columns) names.push_back(column.name);
  return names;
}

/// The column of that name. `what`: the key that names it, "labels".
table::Column& column_of(table::Schema& schema, const std::string& name, const std::string& what,
                         const std::string& file) {
  const int place = schema.find(name);
  if (place >= 0) return schema.columns[static_cast<std::size_t>(place)];
  const Names names = names_of(schema);
  throw Error(ErrorKind::kUsage, fmt::format("{} names the column '{}', but {} has {}{}", what, printable(name), file,
                                             printable(join(names, ", ")), did_you_mean(name, names)));
}

Names flat(const Groups& groups) {
  Names names;
  for (const auto& group : groups) names.insert(names.end(), group.columns.begin(), group.columns.end());
  return names;
}

/// Whether a column that the config does not name becomes an input. Logs the reason if not.
bool is_usable_input(const table::Column& column, const std::string& file) {
  const char* why = column.type == table::ColumnType::kId     ? "a different value in each row"
                    : column.type == table::ColumnType::kText ? "texts"
                                                              : nullptr;
  if (why == nullptr) return true;
  log::info(fmt::format("{}: column '{}' is not used: it contains {}; to use it, write `columns: {{{}: ...}}`", file,
                        column.name, why, column.name));
  return false;
}

/// Default inputs if the config names none.
Groups default_inputs(const CSVSpec& spec, const ModelSide& model, const table::Schema& schema,
                      const std::string& file) {
  if (model.input_names.size() > 1) {
    Groups groups;
    for (const std::string& input : model.input_names) {
      if (schema.find(input) < 0)
        throw Error(ErrorKind::kUsage, fmt::format("the model has the inputs {}, and no column is called '{}'; write "
                                                   "`inputs: {{{}: [COLUMN, ...]}}` to set the columns of each input",
                                                   join(model.input_names, ", "), input, input));
      groups.push_back({input, {input}});
    }
    return groups;
  }
  std::set<std::string> others;
  for (const std::string& label : flat(spec.labels.groups)) others.insert(label);
  if (spec.sample_weight) others.insert(*spec.sample_weight);
  ColumnGroups::Group all;
  for (const table::Column& column : schema.columns) {
    if (others.contains(column.name)) continue;
    const auto configured = spec.columns.find(column.name);
    if (configured == spec.columns.end() ? is_usable_input(column, file) : !is_ignored(configured->second))
      all.columns.push_back(column.name);
  }
  if (all.columns.empty()) throw Error(ErrorKind::kData, fmt::format("{}: no column is left for the inputs", file));
  return {all};
}

/// The columns of the files with their detected types.
class DetectedColumns {
 public:
  DetectedColumns(const CSVSpec& spec, table::SniffResult detected, std::string file)
      : spec_(spec), detected_(std::move(detected)), file_(std::move(file)) {
    for (table::Column& column : detected_.schema.columns) column.kept = false;
  }

  table::Schema& schema() { return detected_.schema; }
  const std::string& file() const { return file_; }
  table::Column& at(const std::string& name, const std::string& what) {
    return column_of(detected_.schema, name, what, file_);
  }
  const table::ColumnFacts& facts(const std::string& name) const {
    return detected_.facts[static_cast<std::size_t>(detected_.schema.find(name))];
  }
  /// Marks an input or label column as read. Throws Error{kUsage} if it seems to contain numbers that cannot be parsed.
  table::Column& use(const std::string& name, const std::string& what) {
    table::Column& column = at(name, what);
    const auto encoder = spec_.columns.find(name);
    const bool numbers =
        encoder == spec_.columns.end() || column_type_of(encoder->second) == table::ColumnType::kNumber;
    if (const std::string& format_problem = facts(name).format_problem; numbers && !format_problem.empty())
      throw Error(ErrorKind::kUsage, fmt::format("{}: column '{}': {}; `columns: {{{}: StringLookup}}` reads words",
                                                 file_, printable(name), format_problem, printable(name)));
    if (column.type == table::ColumnType::kId) column.type = table::ColumnType::kCategory;
    column.kept = true;
    return column;
  }

 private:
  const CSVSpec& spec_;
  table::SniffResult detected_;
  std::string file_;
};

bool is_number_word(const std::string& word) {
  double ignored = 0;
  return table::read_number(word, ignored) == table::NumberFault::kNone;
}

/// Words of a label column in class order, from its encoder; empty: sorted later. Throws Error{kUsage} for encoder
/// arguments other than the vocabulary.
Names label_vocabulary(const std::string& name, const config::Typed& encoder) {
  Names words;
  config::Typed others = encoder;
  if (const auto* lookup = encoder.get_if<StringLookupSpec>()) {
    words = lookup->vocabulary;
    StringLookupSpec rest = *lookup;
    rest.vocabulary.clear();
    others = encoder_family().make(rest);
  }
  if (others.write(true).is_map())
    throw Error(
        ErrorKind::kUsage,
        fmt::format(
            "the label '{}' has {} in columns, but a label accepts only the vocabulary of StringLookup; write `{}: {}`",
            printable(name), config::to_json(others.write(true)), printable(name), encoder.name()));
  return words;
}

/// The column's encoder Mask in the config, or null.
const MaskSpec* mask_of(const CSVSpec& spec, const std::string& column) {
  const auto encoder = spec.columns.find(column);
  return encoder == spec.columns.end() ? nullptr : encoder->second.get_if<MaskSpec>();
}

/// The encoder with the data set's ignore_class.
config::Typed with_ignore_class(const CSVSpec& spec, MaskSpec mask) {
  mask.ignore_class = spec.ignore_class;
  return encoder_family().make(std::move(mask));
}

void plan_mask(const CSVSpec& spec, const MaskSpec& mask, CsvLayout::Label& label, DetectedColumns& columns) {
  const std::string& name = label.columns.front();
  if (label.columns.size() > 1)
    throw Error(ErrorKind::kUsage,
                fmt::format("labels has several columns, but '{}' contains masks; a mask is the only column of its "
                            "label",
                            printable(name)));
  if (const std::string error = check_mask_colors(mask, spec.ignore_class); !error.empty())
    throw Error(ErrorKind::kUsage, fmt::format("column '{}': {}", printable(name), error));
  const Names& class_names = spec.class_names.names_of(label.name);
  label.classes = mask.classes.entries.empty() ? class_names : mask.classes.names();
  if (!class_names.empty() && label.classes != class_names)
    throw Error(ErrorKind::kUsage,
                fmt::format("class_names and the classes of '{}' differ; write one of them", printable(name)));
  columns.use(name, "labels").type = table::ColumnType::kText;
  label.mask = with_ignore_class(spec, mask);
}

/// Determines whether label columns are masks, numbers or words: by the encoder in `columns`, else by the loss, else by
/// their fields.
void plan_label(const CSVSpec& spec, LabelUse use, CsvLayout::Label& label, DetectedColumns& columns) {
  const bool alone = label.columns.size() == 1;
  const Names& class_names = spec.class_names.names_of(label.name);
  for (const std::string& name : label.columns)
    if (const MaskSpec* const mask = mask_of(spec, name)) return plan_mask(spec, *mask, label, columns);
  for (const std::string& name : label.columns) {
    table::Column& column = columns.use(name, "labels");
    const auto encoder = spec.columns.find(name);
    const bool numbers = columns.facts(name).numbers;
    if (column.type == table::ColumnType::kText) column.type = table::ColumnType::kCategory;
    if (column.type == table::ColumnType::kDate)
      throw Error(ErrorKind::kUsage, fmt::format("labels names the column '{}', which contains dates", name));
    if (encoder != spec.columns.end()) {
      label.classes = label_vocabulary(name, encoder->second);
      if (use == LabelUse::kNumbers && column.type == table::ColumnType::kCategory && label.classes.empty() &&
          class_names.empty())
        throw Error(ErrorKind::kUsage,
                    fmt::format("columns makes classes of the label '{0}', but its loss compares numbers; remove the "
                                "column from `columns`, use a loss of classes, or set the order of the words: `{0}: "
                                "{{StringLookup: {{vocabulary: [...]}}}}`",
                                printable(name)));
    } else if (use == LabelUse::kNumbers) {
      column.type = table::ColumnType::kNumber;
    } else if (alone && numbers && (use == LabelUse::kClasses || !class_names.empty())) {
      // class_names that are all numbers list the column's words in class order.
      label.integers = class_names.empty() || !std::ranges::all_of(class_names, is_number_word);
      column.type = label.integers ? table::ColumnType::kNumber : table::ColumnType::kCategory;
    }
    if (column.type == table::ColumnType::kCategory && !alone)
      throw Error(
          ErrorKind::kUsage,
          fmt::format("labels has several columns, but '{}' contains words; several columns must all be numbers",
                      name));
  }
  const bool words = columns.at(label.columns.front(), "labels").type == table::ColumnType::kCategory;
  if (!words && !label.integers) return;
  if (!label.classes.empty() && !class_names.empty() && label.classes != class_names)
    throw Error(ErrorKind::kUsage,
                fmt::format("class_names and the vocabulary of '{}' differ; write one of them", label.columns.front()));
  if (label.classes.empty()) label.classes = class_names;
}

void plan_labels(const CSVSpec& spec, const ModelSide& model, CsvLayout& layout, DetectedColumns& columns) {
  bool any = spec.labels.groups.empty();  // whether any label has classes
  for (const auto& group : spec.labels.groups) {
    CsvLayout::Label& label = layout.labels.emplace_back();
    label.name = group.name;
    label.columns = group.columns;
    plan_label(spec, model.label_use(group.name), label, columns);
    any = any || label.integers || label.mask ||
          columns.at(group.columns.front(), "labels").type == table::ColumnType::kCategory;
  }
  if (!any && !spec.class_names.empty())
    throw Error(ErrorKind::kUsage, "class_names are names of classes, but the labels are numbers; remove class_names");
}

void fail_on_difference(const std::string& key, const std::string& now) {
  throw Error(
      ErrorKind::kCheckpoint,
      fmt::format("the config's {} {} not those of the model's training; restore them, or train again", key, now));
}

std::string label_text(const std::string& output, const Names& columns) {
  return (output.empty() ? "" : output + ": ") + printable(join(columns, ", "));
}

std::string mask_text(const config::Typed& encoder) {
  return encoder ? config::to_json(encoder.write(true)) : "without a Mask";
}

void check_labels(const CSVSpec& spec, const CsvLayout& layout, FittedUse use) {
  const ErrorKind kind = use == FittedUse::kResume ? ErrorKind::kCheckpoint : ErrorKind::kUsage;
  const auto fail = [&](const std::string& key, const Names& now, const Names& before) {
    throw Error(kind, fmt::format("the config's {} are {}, the model was trained with {}; restore these, or train with "
                                  "the new ones: dptrain fit CONFIG --init-from FILE",
                                  key, printable(join(now, ", ")), printable(join(before, ", "))));
  };
  Names now, before;
  for (const auto& group : spec.labels.groups) now.push_back(label_text(group.name, group.columns));
  for (const CsvLayout::Label& label : layout.labels) before.push_back(label_text(label.name, label.columns));
  if (!now.empty() && !before.empty() && now != before) fail("labels", now, before);
  for (const CsvLayout::Label& label : layout.labels) {
    const Names& names = spec.class_names.names_of(label.name);
    if (!names.empty() && !label.classes.empty() && names != label.classes) fail("class_names", names, label.classes);
    const auto encoder = spec.columns.find(label.columns.front());
    const std::string mask = mask_text(label.mask);
    if (encoder != spec.columns.end() && (label.mask || encoder->second.get_if<MaskSpec>() != nullptr) &&
        mask_text(encoder->second) != mask)
      fail("columns", {mask_text(encoder->second)}, {mask});
    const auto* const lookup = encoder == spec.columns.end() ? nullptr : encoder->second.get_if<StringLookupSpec>();
    if (lookup == nullptr || lookup->vocabulary.empty() || lookup->vocabulary == label.classes) continue;
    // Older versions ignored the vocabulary of a label.
    log::warn(fmt::format("the vocabulary of the label '{}' is not used: the model was trained with the classes {}",
                          printable(label.columns.front()), printable(join(label.classes, ", "))));
  }
}

/// Rejects a label that is an input of the model: the model would read its target.
void check_no_label_is_input(const CSVSpec& spec, const CsvLayout& layout) {
  if (!spec.inputs.groups.empty()) return;
  for (const std::string& label : flat(spec.labels.groups))
    if (std::ranges::find(layout.columns, label, &CsvLayout::Column::name) != layout.columns.end())
      throw Error(
          ErrorKind::kUsage,
          fmt::format(
              "labels names the column '{}', which is an input of the model that the initial weights belong to; "
              "list the inputs without it, as in `inputs: [COLUMN, ...]`, and train again",
              printable(label)));
}

void check_against_config(const CSVSpec& spec, const CsvLayout& layout) {
  for (const auto& [name, encoder] : spec.columns) {
    const auto found = std::ranges::find(layout.columns, name, &CsvLayout::Column::name);
    if (found == layout.columns.end()) continue;
    if (config::to_json(found->encoder.write()) != config::to_json(encoder.write()))
      fail_on_difference("columns", fmt::format("('{}': {}) are", name, config::to_json(encoder.write(true))));
  }
  if (!spec.inputs.groups.empty() && spec.inputs.groups != layout.inputs) fail_on_difference("inputs", "are");
}

/// Number format of a column: from the config, else from the training files.
table::NumberFormat format_of(const CSVSpec& spec, const CsvLayout& layout, const std::string& name) {
  const auto found = layout.numbers.find(name);
  table::NumberFormat format = found == layout.numbers.end() ? table::NumberFormat{} : found->second;
  if (spec.decimal) format.decimal = spec.decimal->front();
  if (spec.thousands) format.thousands = thousands_of(*spec.thousands);
  if (format.thousands == format.decimal) format.thousands = '\0';
  return format;
}

/// Logs detected number formats with the keys that set them.
void log_formats(const CSVSpec& spec, const CsvLayout& layout, const std::string& file) {
  std::map<std::string, Names> columns;  // column names by format
  for (const auto& [name, format] : layout.numbers) {
    if (format.decimal == ',' && !spec.decimal)
      columns["a decimal comma (`decimal: \",\"`)"].push_back(printable(name));
    if (format.thousands != '\0' && !spec.thousands)
      columns[fmt::format("groups of thousands (`thousands: \"{}\"`)", format.thousands)].push_back(printable(name));
    if (!format.sign.empty()) columns[fmt::format("the sign {}", format.sign)].push_back(printable(name));
  }
  for (const auto& [what, names] : columns)
    log::info(fmt::format("{}: numbers have {}: {}", file, what, join(names, ", ")));
}

void store_formats(const table::Schema& schema, CsvLayout& layout) {
  for (const table::Column& column : schema.columns)
    if (column.kept && column.type == table::ColumnType::kNumber && column.numbers != table::NumberFormat{})
      layout.numbers[column.name] = column.numbers;
}

}  // namespace

CsvPlan plan_from_detection(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files) {
  table::SniffOptions options = sniff_options(spec);
  for (const auto& [name, encoder] : spec.columns) options.declared[name] = column_type_of(encoder);
  if (spec.sample_weight) options.declared[*spec.sample_weight] = table::ColumnType::kNumber;
  DetectedColumns columns(spec, table::sniff(files, options), files.front());
  CsvPlan plan;
  plan.layout.dialect = columns.schema().dialect;
  plan_labels(spec, model, plan.layout, columns);
  if (spec.sample_weight) columns.use(*spec.sample_weight, "sample_weight");
  plan.layout.inputs =
      spec.inputs.groups.empty() ? default_inputs(spec, model, columns.schema(), columns.file()) : spec.inputs.groups;
  std::set<std::string> seen;
  for (const std::string& name : flat(plan.layout.inputs)) {
    columns.use(name, "inputs");
    if (!seen.insert(name).second) continue;
    const auto configured = spec.columns.find(name);
    if (mask_of(spec, name) != nullptr)
      throw Error(
          ErrorKind::kUsage,
          fmt::format("the column '{0}' is an input, but Mask is for labels; write `labels: {0}`, or read it as "
                      "an input with `columns: {{{0}: {{Image: {{color_mode: grayscale}}}}}}`",
                      printable(name)));
    if (configured != spec.columns.end() && is_ignored(configured->second))
      throw Error(ErrorKind::kUsage, fmt::format("inputs names the column '{}', which `columns` ignores", name));
    plan.layout.columns.push_back({.name = name, .form = {}, .encoder = {}, .fitted_state = {}});
    if (configured != spec.columns.end()) plan.layout.columns.back().encoder = configured->second;
  }
  store_formats(columns.schema(), plan.layout);
  log_formats(spec, plan.layout, files.front());
  plan.schema = std::move(columns.schema());
  return plan;
}

CsvPlan plan_as_fitted(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files,
                       bool with_labels) {
  CsvLayout layout = CsvLayout::parse(model.fitted_state);
  check_against_config(spec, layout);
  model.fits_labels() ? check_no_label_is_input(spec, layout) : check_labels(spec, layout, model.fitted_use);
  table::SniffOptions options = sniff_options(spec);
  const bool fits_labels = with_labels && model.fits_labels();
  for (const std::string& label : fits_labels ? flat(spec.labels.groups) : Names())
    if (const auto encoder = spec.columns.find(label); encoder != spec.columns.end())
      options.declared[label] = column_type_of(encoder->second);
  DetectedColumns columns(spec, table::sniff(files, options), files.front());
  table::Schema& schema = columns.schema();
  const auto want = [&](const std::string& name, table::ColumnType type, table::DateForm form, bool optional) {
    if (schema.find(name) < 0) {
      if (!optional || !schema.dialect.header) {
        const Names names = names_of(schema);
        Names others = names;  // suggest no column that the model already uses
        std::erase_if(others, [&](const std::string& other) {
          return std::ranges::find(layout.columns, other, &CsvLayout::Column::name) != layout.columns.end();
        });
        throw Error(
            ErrorKind::kData,
            fmt::format(
                "{}: has no column '{}', which the model needs; it has {}{}{}", files.front(), printable(name),
                printable(join(names, ", ")), did_you_mean(name, others),
                optional
                    ? ""
                    : "; with `missing_columns: true` in the arguments of CSV such columns count as missing values"));
      }
      log::warn(fmt::format("{}: has no column '{}'; its values are missing", files.front(), printable(name)));
      schema.columns.push_back({.name = name, .optional = true});
    }
    table::Column& column = schema.columns[static_cast<std::size_t>(schema.find(name))];
    column.type = type;
    column.form = form;
    column.numbers = format_of(spec, layout, name);
    column.kept = true;
  };
  for (const CsvLayout::Column& column : layout.columns)
    want(column.name, column_type_of(column.encoder), column.form, spec.missing_columns);
  if (!with_labels || model.fits_labels()) layout.labels.clear();
  for (CsvLayout::Label& label : layout.labels) {
    for (const std::string& name : label.columns) want(name, label.column_type(), {}, false);
    if (label.mask) label.mask = with_ignore_class(spec, label.mask.as<MaskSpec>());
  }
  if (fits_labels) {
    plan_labels(spec, model, layout, columns);
    store_formats(schema, layout);
  }
  if (with_labels && spec.sample_weight) want(*spec.sample_weight, table::ColumnType::kNumber, {}, false);
  return {.schema = std::move(schema), .layout = std::move(layout)};
}

CsvPlan plan_of_stream(const CSVSpec& spec, const ModelSide& model) {
  CsvLayout layout = CsvLayout::parse(model.fitted_state);
  check_against_config(spec, layout);
  check_labels(spec, layout, model.fitted_use);
  CsvPlan plan;
  plan.schema.dialect = layout.dialect;
  if (spec.separator) plan.schema.dialect.separator = spec.separator->front();
  if (spec.header) plan.schema.dialect.header = *spec.header;
  if (!plan.schema.dialect.header)
    throw Error(
        ErrorKind::kUsage,
        "rows from stdin need a first line with the columns' names, and `header: true`; the model was trained on "
        "files without one");
  if (spec.missing_values) plan.schema.missing = *spec.missing_values;
  for (const CsvLayout::Column& column : layout.columns)
    plan.schema.columns.push_back({.name = column.name,
                                   .type = column_type_of(column.encoder),
                                   .optional = spec.missing_columns,
                                   .form = column.form,
                                   .numbers = format_of(spec, layout, column.name)});
  layout.labels.clear();
  plan.layout = std::move(layout);
  return plan;
}

void choose_encoders(const table::Schema& schema, CsvLayout& layout) {
  for (CsvLayout::Column& column : layout.columns) {
    const table::Column& found = schema.columns[static_cast<std::size_t>(schema.find(column.name))];
    column.form = found.form;
    if (column.encoder) continue;
    if (found.type == table::ColumnType::kText)
      throw Error(ErrorKind::kUsage,
                  fmt::format("column '{}' contains texts; write how they become numbers, as in `columns: {{{}: "
                              "{{TextVectorization: {{max_tokens: 20000, output_sequence_length: 100}}}}}}`",
                              column.name, column.name));
    column.encoder = default_encoder(found.type);
  }
}

}  // namespace dptrain::data
