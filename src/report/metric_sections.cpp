#include <algorithm>

#include "core/format.h"
#include "core/text.h"
#include "nn/metric.h"
#include "picture/chart.h"
#include "report/html.h"
#include "report/numbers.h"
#include "report/sections.h"

namespace dptrain::report {
namespace {

std::string cell(const std::optional<double>& value) { return value ? metric_text(*value) : ""; }

/// Beyond what was logged: of an evaluation with other metrics.
std::vector<std::string> names_of(const RunRecord& run) {
  std::vector<std::string> names = metrics_of(run);
  for (const EvaluationRecord& evaluation : run.evaluations)
    for (const auto& [name, value] : evaluation.values)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

std::optional<double> value_in(const EvaluationRecord& evaluation, const std::string& name) {
  for (const auto& [key, value] : evaluation.values)
    if (key == name) return value;
  return std::nullopt;
}

}  // namespace

Section curves_section(const RunRecord& run) {
  Section section{.id = "curves", .title = "Learning curves"};
  section.html = run.curves ? charts(train::curves_chart("", {*run.curves}, false), "learning curves of " + run.name)
                            : note("There are none: the run has no train.csv with an epoch in it yet.");
  return section;
}

Section metrics_section(const RunRecord& run) {
  Section section{.id = "metrics", .title = "Metrics"};
  const std::vector<std::string> names = names_of(run);
  const std::string not_evaluated =
      !run.evaluations.empty() ? ""
      : run.has_validation
          ? note("The run has not been evaluated: dptrain eval " + shell_quoted(run.folder) + " adds its pictures.")
          : note("The config has no data to evaluate on: data.validation, or data.test, adds the pictures of eval.");
  if (names.empty()) {
    section.html = not_evaluated;
    return section;
  }
  const bool validated = is_validated(run);
  std::vector<Column> columns{{"metric"}};
  if (run.curves) columns.push_back({"training, last epoch", true});
  if (validated) columns.push_back({"validation, last epoch", true});
  if (run.curves) {
    columns.push_back({validated ? "validation, best" : "training, best", true});
    columns.push_back({"in epoch", true});
  }
  for (const EvaluationRecord& evaluation : run.evaluations) columns.push_back({evaluated_text(evaluation), true});
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : names) {
    std::vector<std::string> row{escaped(name)};
    const std::optional<Best> best = best_of(run, (validated ? "val_" : "") + name);
    if (run.curves) row.push_back(cell(last_of(run, name)));
    if (validated) row.push_back(cell(last_of(run, "val_" + name)));
    if (run.curves) {
      row.push_back(best ? element("span", "best", metric_text(best->value)) : "");
      row.push_back(best ? std::to_string(best->epoch) : "");
    }
    for (const EvaluationRecord& evaluation : run.evaluations) row.push_back(cell(value_in(evaluation, name)));
    rows.push_back(std::move(row));
  }
  section.html = table(columns, rows);
  if (!validated && run.curves)
    section.html += note("The values are of training alone: data.validation in the config adds those of validation.");
  section.html += not_evaluated;
  return section;
}

}  // namespace dptrain::report
