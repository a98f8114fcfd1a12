#include "report/comparison.h"

#include <algorithm>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "plot/chart.h"
#include "report/html.h"

namespace dptrain::report {
namespace {

/// A column of the table of runs.
struct Figures {
  Column column;
  std::vector<std::optional<double>> values{};
  bool larger_is_better = false, marked = true;
  std::string (*text)(double) = metric_text;
};

std::vector<std::string> all_metrics(const std::vector<RunRecord>& runs) {
  std::vector<std::string> all;
  for (const RunRecord& run : runs)
    for (const std::string& metric : metrics_of(run))
      if (std::ranges::find(all, metric) == all.end()) all.push_back(metric);
  return all;
}

std::vector<Figures> figures_of(const std::vector<RunRecord>& runs) {
  std::vector<Figures> all;
  const bool validated = std::ranges::any_of(runs, is_validated);
  for (const std::string& metric : all_metrics(runs)) {
    const std::string column = (validated ? "val_" : "") + metric;
    Figures figures{.column = {"best " + column, true}};
    for (const RunRecord& run : runs) {
      if (run.curves && run.curves->direction_of(column) == nn::Direction::kLarger) figures.larger_is_better = true;
      const std::optional<Best> best = best_of(run, column);
      figures.values.push_back(best ? std::optional(best->value) : std::nullopt);
    }
    all.push_back(std::move(figures));
  }
  const auto add = [&](const char* title, const auto& value, std::string (*text)(double), bool larger, bool marked) {
    Figures figures{.column = {title, true}, .values = {}, .larger_is_better = larger, .marked = marked, .text = text};
    for (const RunRecord& run : runs) figures.values.push_back(value(run));
    all.push_back(std::move(figures));
  };
  const auto of_result = [](auto member) {
    return [member](const RunRecord& run) -> std::optional<double> {
      return run.result ? std::optional(static_cast<double>(run.result.value().*member)) : std::nullopt;
    };
  };
  add("epochs", of_result(&ResultRecord::epochs), count_text, false, false);
  add("time", of_result(&ResultRecord::seconds), duration_text, false, false);
  add("samples/s", of_result(&ResultRecord::examples_per_second), count_text, true, true);
  const auto parameters = [](const RunRecord& run) -> std::optional<double> {
    return run.layers.empty() ? std::nullopt : std::optional(static_cast<double>(run.parameters));
  };
  add("parameters", parameters, count_text, false, false);
  return all;
}

/// Where it is one of several that differ.
std::optional<double> best_value(const Figures& figures) {
  std::vector<double> known;
  for (const std::optional<double>& value : figures.values)
    if (value) known.push_back(*value);
  if (!figures.marked || known.size() < 2) return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(known);
  return *least == *most ? std::nullopt : std::optional(figures.larger_is_better ? *most : *least);
}

void compare(const std::vector<RunRecord>& runs, Fields RunRecord::*fields, const std::vector<std::string>& only,
             std::vector<Difference>& out) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs)
    for (const auto& [name, value] : run.*fields)
      if (std::ranges::find(names, name) == names.end() &&
          (only.empty() || std::ranges::find(only, name) != only.end()))
        names.push_back(name);
  for (const std::string& name : names) {
    Difference difference{.name = name, .values = {}};
    for (const RunRecord& run : runs) difference.values.push_back(value_of(run.*fields, name));
    if (std::ranges::adjacent_find(difference.values, std::not_equal_to{}) != difference.values.end())
      out.push_back(std::move(difference));
  }
}

std::string code(const std::string& text) { return text.empty() ? "" : element("code", "", escaped(text)); }

}  // namespace

std::vector<Difference> differences(const std::vector<RunRecord>& runs) {
  std::vector<Difference> all;
  compare(runs, &RunRecord::settings, {}, all);
  compare(runs, &RunRecord::environment,
          {"dptrain", "git", "devices", "machine.host", "machine.cpu", "data_fingerprint"}, all);
  return all;
}

/// "units" of "model.layers.hidden.units"
std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string runs_table(const std::vector<RunRecord>& runs) {
  constexpr std::size_t kFew = 4;
  const std::vector<Figures> figures = figures_of(runs);
  std::vector<Difference> keys = differences(runs);
  if (keys.size() > kFew) keys.clear();
  std::vector<Column> columns{{"run"}, {"ended"}};
  for (const Difference& key : keys) {
    const std::string name = last_part(key.name);
    const bool is_taken =
        std::ranges::any_of(figures, [&](const Figures& one) { return one.column.title == name; }) ||
        std::ranges::count_if(keys, [&](const Difference& other) { return last_part(other.name) == name; }) > 1;
    columns.push_back({is_taken ? key.name : name});
  }
  for (const Figures& one : figures) columns.push_back(one.column);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    rows.push_back({fmt::format("<a href=\"#run{}\">{}</a>", i + 1, escaped(run.name)), escaped(exit_word(run))});
    for (const Difference& key : keys) rows.back().push_back(code(key.values[i]));
    for (const Figures& one : figures) {
      const std::optional<double>& value = one.values[i];
      const std::string text = value ? one.text(*value) : "";
      rows.back().push_back(value && value == best_value(one) ? element("span", "best", text) : text);
    }
  }
  return table(columns, rows);
}

std::string common_curves(const std::vector<RunRecord>& runs) {
  std::vector<train::RunCurves> curves;
  for (const RunRecord& run : runs)
    if (run.curves) curves.push_back(*run.curves);
  if (curves.empty()) return note("None of the runs has an epoch yet.");
  const std::string html = charts(train::curves_chart("", curves, false), "learning curves of all runs");
  if (!train::differ_in_length(curves)) return html;
  return html + folded("Over the share of each run's epochs, for runs of different length",
                       charts(train::curves_chart("", curves, false, train::EpochAxis::kShare),
                              "learning curves over the share of each run's epochs"));
}

std::string differences_table(const std::vector<RunRecord>& runs) {
  constexpr std::size_t kMostSideBySide = 6, kMany = 30;
  const std::vector<Difference> all = differences(runs);
  if (all.empty()) return note("Nothing: configs and environments are equal.");
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  if (runs.size() <= kMostSideBySide) {
    columns.push_back({"key"});
    for (const RunRecord& run : runs) columns.push_back({run.name});
    for (const Difference& one : all) {
      rows.push_back({code(one.name)});
      for (const std::string& value : one.values) rows.back().push_back(code(value));
    }
  } else {
    columns.push_back({"run"});
    for (const Difference& one : all) columns.push_back({one.name});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      rows.push_back({escaped(runs[i].name)});
      for (const Difference& one : all) rows.back().push_back(code(one.values[i]));
    }
  }
  const std::string html = table(columns, rows);
  return all.size() > kMany ? folded(fmt::format("{} keys", all.size()), html) : html;
}

}  // namespace dptrain::report
