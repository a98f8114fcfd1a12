#include "data/sources/csv_plan.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/encoders/ignore.h"
#include "table/look.h"

namespace dptrain::data {
namespace {

using Groups = std::vector<ColumnGroups::Group>;
using Names = std::vector<std::string>;

bool is_ignored(const config::Typed& encoder) { return encoder.get_if<IgnoreSpec>() != nullptr; }

table::LookOptions look_options(const CSVSpec& spec) {
  table::LookOptions options;
  if (spec.separator) options.dialect.separator = spec.separator->front();
  options.dialect.header = spec.header;
  if (spec.missing_values) options.missing = *spec.missing_values;
  return options;
}

Names names_of(const table::Schema& schema) {
  Names names;
  for (const table::Column& column : schema.columns) names.push_back(column.name);
  return names;
}

/// The column of that name. `what` the config calls it: "labels".
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

/// Whether a column that nobody has asked for is of use to a network; else says why not.
bool is_of_use(const table::Column& column, const std::string& file) {
  const char* why = column.type == table::ColumnType::kId     ? "another value in each row"
                    : column.type == table::ColumnType::kText ? "texts"
                                                              : nullptr;
  if (why == nullptr) return true;
  log::info(fmt::format("{}: column '{}' is left out: it holds {}; `columns: {{{}: ...}}` says otherwise", file,
                        column.name, why, column.name));
  return false;
}

/// Where the config names no inputs.
Groups usual_inputs(const CSVSpec& spec, const ModelSide& model, const table::Schema& schema, const std::string& file) {
  if (model.input_names.size() > 1) {
    Groups groups;
    for (const std::string& input : model.input_names) {
      if (schema.find(input) < 0)
        throw Error(
            ErrorKind::kUsage,
            fmt::format("the model has the inputs {}, and no column is called '{}': `inputs: {{{}: [COLUMN, ...]}}` "
                        "says which columns are which input",
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
    const auto said = spec.columns.find(column.name);
    if (said == spec.columns.end() ? is_of_use(column, file) : !is_ignored(said->second))
      all.columns.push_back(column.name);
  }
  if (all.columns.empty()) throw Error(ErrorKind::kData, fmt::format("{}: no column is left for the inputs", file));
  return {all};
}

/// What an input or a label column that was not declared is read as.
void make_readable(table::Column& column) {
  if (column.type == table::ColumnType::kId) column.type = table::ColumnType::kCategory;
  column.kept = true;
}

void plan_labels(const CSVSpec& spec, table::Schema& schema, CsvLearned& plan, const std::string& file) {
  for (const auto& group : spec.labels.groups) {
    CsvLearned::Label label{.name = group.name, .columns = group.columns, .classes = {}};
    for (const std::string& name : group.columns) {
      table::Column& column = column_of(schema, name, "labels", file);
      make_readable(column);
      if (column.type == table::ColumnType::kText) column.type = table::ColumnType::kCategory;
      if (column.type == table::ColumnType::kDate)
        throw Error(ErrorKind::kUsage, fmt::format("labels names the column '{}', which holds dates", name));
      if (column.type == table::ColumnType::kCategory && group.columns.size() > 1)
        throw Error(ErrorKind::kUsage,
                    fmt::format("labels names the column '{}' beside others, but it holds words; several columns are "
                                "one row of numbers",
                                name));
    }
    plan.labels.push_back(std::move(label));
  }
}

void complain_of_difference(const std::string& key, const std::string& now) {
  throw Error(ErrorKind::kCheckpoint,
              fmt::format("the config's {} {} not what the model has learned its data with; train afresh, or put back "
                          "what was there",
                          key, now));
}

std::string label_text(const std::string& output, const Names& columns) {
  return (output.empty() ? "" : output + ": ") + printable(join(columns, ", "));
}

void check_labels(const CSVSpec& spec, const CsvLearned& learned, FittedUse use) {
  const ErrorKind kind = use == FittedUse::kResume ? ErrorKind::kCheckpoint : ErrorKind::kUsage;
  const auto fail = [&](const std::string& key, const Names& now, const Names& before) {
    throw Error(kind,
                fmt::format("the config's {} are {}, the model was trained with {}; put these back, or train with "
                            "the new ones: dptrain fit CONFIG --init-from FILE",
                            key, printable(join(now, ", ")), printable(join(before, ", "))));
  };
  Names now, before;
  for (const auto& group : spec.labels.groups) now.push_back(label_text(group.name, group.columns));
  for (const CsvLearned::Label& label : learned.labels) before.push_back(label_text(label.name, label.columns));
  if (!now.empty() && !before.empty() && now != before) fail("labels", now, before);
  for (const CsvLearned::Label& label : learned.labels)
    if (const Names& names = spec.class_names.names_of(label.name);
        !names.empty() && !label.classes.empty() && names != label.classes)
      fail("class_names", names, label.classes);
}

/// A model that had the column among its inputs would read its answer.
void check_no_label_is_input(const CSVSpec& spec, const CsvLearned& learned) {
  if (!spec.inputs.groups.empty()) return;
  for (const std::string& label : flat(spec.labels.groups))
    if (std::ranges::find(learned.columns, label, &CsvLearned::Column::name) != learned.columns.end())
      throw Error(ErrorKind::kUsage,
                  fmt::format("labels names the column '{}', which is an input of the model that the "
                              "weights come from; list the inputs without it, as in `inputs: "
                              "[COLUMN, ...]`, and train afresh",
                              printable(label)));
}

void check_against_config(const CSVSpec& spec, const CsvLearned& learned) {
  for (const auto& [name, encoder] : spec.columns) {
    const auto found = std::ranges::find(learned.columns, name, &CsvLearned::Column::name);
    if (found == learned.columns.end()) continue;
    if (config::to_json(found->encoder.write()) != config::to_json(encoder.write()))
      complain_of_difference("columns", fmt::format("('{}': {}) are", name, config::to_json(encoder.write(true))));
  }
  if (!spec.inputs.groups.empty() && spec.inputs.groups != learned.inputs) complain_of_difference("inputs", "are");
}

}  // namespace

CsvPlan plan_by_looking(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files) {
  table::LookOptions options = look_options(spec);
  for (const auto& [name, encoder] : spec.columns) options.declared[name] = column_type_of(encoder);
  if (spec.sample_weight) options.declared[*spec.sample_weight] = table::ColumnType::kNumber;
  CsvPlan plan;
  plan.schema = table::look(files, options).schema;
  plan.learned.dialect = plan.schema.dialect;
  for (table::Column& column : plan.schema.columns) column.kept = false;
  const std::string& file = files.front();
  plan_labels(spec, plan.schema, plan.learned, file);
  if (spec.sample_weight) column_of(plan.schema, *spec.sample_weight, "sample_weight", file).kept = true;
  plan.learned.inputs = spec.inputs.groups.empty() ? usual_inputs(spec, model, plan.schema, file) : spec.inputs.groups;
  std::set<std::string> seen;
  for (const std::string& name : flat(plan.learned.inputs)) {
    make_readable(column_of(plan.schema, name, "inputs", file));
    if (!seen.insert(name).second) continue;
    const auto said = spec.columns.find(name);
    if (said != spec.columns.end() && is_ignored(said->second))
      throw Error(ErrorKind::kUsage, fmt::format("inputs names the column '{}', which `columns` ignores", name));
    plan.learned.columns.push_back({.name = name, .form = {}, .encoder = {}, .learned = {}});
    if (said != spec.columns.end()) plan.learned.columns.back().encoder = said->second;
  }
  return plan;
}

CsvPlan plan_as_fitted(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files,
                       bool with_labels) {
  CsvLearned learned = CsvLearned::of(model.learned);
  check_against_config(spec, learned);
  model.fits_labels() ? check_no_label_is_input(spec, learned) : check_labels(spec, learned, model.fitted_use);
  CsvPlan plan;
  plan.schema = table::look(files, look_options(spec)).schema;
  for (table::Column& column : plan.schema.columns) column.kept = false;
  const auto want = [&](const std::string& name, table::ColumnType type, table::DateForm form, bool optional) {
    if (plan.schema.find(name) < 0) {
      if (!optional || !plan.schema.dialect.header) {
        const Names names = names_of(plan.schema);
        Names others = names;  // a column that the model wants, too, is no misspelling of this one
        std::erase_if(others, [&](const std::string& other) {
          return std::ranges::find(learned.columns, other, &CsvLearned::Column::name) != learned.columns.end();
        });
        throw Error(ErrorKind::kData,
                    fmt::format("{}: has no column '{}', which the model wants; it has {}{}{}", files.front(),
                                printable(name), printable(join(names, ", ")), did_you_mean(name, others),
                                optional ? "" : "; `missing_columns: true` takes such columns for missing values"));
      }
      log::warn(fmt::format("{}: has no column '{}'; its values are missing", files.front(), printable(name)));
      plan.schema.columns.push_back({.name = name, .optional = true});
    }
    table::Column& column = plan.schema.columns[static_cast<std::size_t>(plan.schema.find(name))];
    column.type = type;
    column.form = form;
    column.kept = true;
  };
  for (const CsvLearned::Column& column : learned.columns)
    want(column.name, column_type_of(column.encoder), column.form, spec.missing_columns);
  if (!with_labels || model.fits_labels()) learned.labels.clear();
  for (const CsvLearned::Label& label : learned.labels)
    for (const std::string& name : label.columns)
      want(name, label.classes.empty() ? table::ColumnType::kNumber : table::ColumnType::kCategory, {}, false);
  if (with_labels && model.fits_labels()) plan_labels(spec, plan.schema, learned, files.front());
  if (with_labels && spec.sample_weight) want(*spec.sample_weight, table::ColumnType::kNumber, {}, false);
  plan.learned = std::move(learned);
  return plan;
}

CsvPlan plan_of_stream(const CSVSpec& spec, const ModelSide& model) {
  CsvLearned learned = CsvLearned::of(model.learned);
  check_against_config(spec, learned);
  check_labels(spec, learned, model.fitted_use);
  CsvPlan plan;
  plan.schema.dialect = learned.dialect;
  if (spec.separator) plan.schema.dialect.separator = spec.separator->front();
  if (spec.header) plan.schema.dialect.header = *spec.header;
  if (!plan.schema.dialect.header)
    throw Error(
        ErrorKind::kUsage,
        "rows from stdin need a first line with the columns' names, and `header: true`; the model was trained on "
        "files without one");
  if (spec.missing_values) plan.schema.missing = *spec.missing_values;
  for (const CsvLearned::Column& column : learned.columns)
    plan.schema.columns.push_back({.name = column.name,
                                   .type = column_type_of(column.encoder),
                                   .optional = spec.missing_columns,
                                   .form = column.form});
  learned.labels.clear();
  plan.learned = std::move(learned);
  return plan;
}

void choose_encoders(const table::Schema& schema, CsvLearned& plan) {
  for (CsvLearned::Column& column : plan.columns) {
    const table::Column& found = schema.columns[static_cast<std::size_t>(schema.find(column.name))];
    column.form = found.form;
    if (column.encoder) continue;
    if (found.type == table::ColumnType::kText)
      throw Error(ErrorKind::kUsage,
                  fmt::format("column '{}' holds texts; say how they become numbers, as in `columns: {{{}: "
                              "{{TextVectorization: {{max_tokens: 20000, output_sequence_length: 100}}}}}}`",
                              column.name, column.name));
    column.encoder = default_encoder(found.type);
  }
}

}  // namespace dptrain::data
