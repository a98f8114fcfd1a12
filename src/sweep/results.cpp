#include "sweep/results.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "train/run_directory.h"

namespace dptrain::sweep {
namespace {

constexpr std::size_t kMaxWidth = 32;

/// "learning_rate" for train.optimizer.learning_rate, or the shortest ending that distinguishes the keys.
std::vector<std::string> short_names(const std::vector<SweepParameter>& space) {
  std::vector<std::string> names;
  for (const SweepParameter& parameter : space) {
    std::string name = parameter.key;
    for (std::size_t dot = parameter.key.rfind('.'); dot != std::string::npos && dot > 0;
         dot = parameter.key.rfind('.', dot - 1)) {
      name = parameter.key.substr(dot + 1);
      const auto ends_alike = [&](const SweepParameter& other) {
        return &other != &parameter && (other.key == name || other.key.ends_with("." + name));
      };
      if (std::ranges::none_of(space, ends_alike)) break;
      name = parameter.key;
    }
    names.push_back(name);
  }
  return names;
}

/// Lines with columns of equal width; all but the last are right-aligned.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::string> lines(rows.size());
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    std::vector<std::string> cells;
    for (const auto& row : rows) cells.push_back(row[column]);
    const std::size_t width = column_width(cells, kMaxWidth);
    const bool last = column + 1 == rows.front().size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t own = column_width(std::vector{cells[i]}, std::numeric_limits<std::size_t>::max());
      const std::string pad(own < width ? width - own : 0, ' ');
      lines[i] += "  " + (last ? "" : pad) + cells[i];
    }
  }
  return lines;
}

std::string outcome_text(const Trial& trial, const std::string& shown) {
  const std::string run = shown + "/" + trial.folder();
  switch (trial.status) {
    case Status::kFailed: return fmt::format("{}: {}", run, trial.outcome.reason);
    case Status::kWaiting: return trial.outcome.epochs > 0 ? run + ": stopped" : "not begun";
    case Status::kRunning: return run + ": runs";
    case Status::kDone: break;
  }
  return trial.outcome.exit == "completed" ? run : fmt::format("{}: {}", run, train::exit_text(trial.outcome.exit));
}

std::string count_text(std::int64_t count) { return count > 0 ? std::to_string(count) : "-"; }

/// The x of each trial for one key: the index of a choice, or the number from a range.
struct Places {
  std::vector<double> at{};          ///< by trial
  std::vector<std::string> names{};  ///< of the choices; numbers in ascending order
  bool log = false;
};

Places places_of(const Sweep& sweep, const SweepParameter& parameter, std::size_t column) {
  Places places{.at = {}, .names = parameter.choices, .log = parameter.log};
  const auto is_number = [](const std::string& choice) { return number_of(choice).has_value(); };
  if (std::ranges::all_of(places.names, is_number)) std::ranges::stable_sort(places.names, {}, number_of);
  for (const Trial& trial : sweep.trials) {
    const std::string& value = trial.values[column];
    const auto place = std::ranges::find(places.names, value) - places.names.begin();
    places.at.push_back(parameter.kind == SweepParameter::Kind::kChoices ? static_cast<double>(place)
                                                                         : number_of(value).value_or(0));
  }
  return places;
}

plot::Panel panel_of(const Sweep& sweep, const std::string& name, const Places& places) {
  plot::Panel panel{.title = sweep.plan.objective,
                    .note = "over " + name,
                    .x_label = name + (places.log ? " (log scale)" : ""),
                    .scale = plot::Scale::kAuto,
                    .log_x = places.log,
                    .x_names = places.names,
                    .height = 300,
                    .half = true};
  const std::optional<std::size_t> best = best_of(sweep);
  for (std::size_t i = 0; i < sweep.trials.size(); ++i) {
    const Trial& trial = sweep.trials[i];
    const bool failed = trial.status == Status::kFailed;
    if (!failed && !trial.outcome.objective) continue;
    plot::Line line{.name = "trial " + trial.folder(),
                    .points = {{places.at[i], failed ? std::nan("") : *trial.outcome.objective}},
                    .marks = false};
    line.style.hollow = trial.rung < sweep.plan.last_rung();
    line.style.ink = failed ? plot::Ink::kLine1 : plot::Ink::kLine0;
    if (best == i) line.best = 0;
    panel.lines.push_back(std::move(line));
  }
  return panel;
}

std::vector<plot::LegendEntry> keys_of(const Sweep& sweep) {
  using Sample = plot::LegendEntry::Sample;
  std::vector<plot::LegendEntry> keys{{.name = "a trial", .sample = Sample::kMark}};
  if (!sweep.plan.rungs.empty()) {
    keys.push_back({.name = "stopped by halving", .sample = Sample::kMark});
    keys.back().style.hollow = true;
  }
  if (best_of(sweep)) keys.push_back({.name = "the best", .sample = Sample::kRing});
  if (std::ranges::any_of(sweep.trials, [](const Trial& trial) { return trial.status == Status::kFailed; })) {
    keys.push_back({.name = "failed", .sample = Sample::kCross});
    keys.back().style.ink = plot::Ink::kLine1;
  }
  return keys;
}

}  // namespace

std::optional<std::size_t> best_of(const Sweep& sweep) {
  for (const std::size_t place : ranking(sweep))
    if (sweep.trials[place].outcome.objective && sweep.trials[place].status != Status::kFailed) return place;
  return std::nullopt;
}

std::string values_text(const Plan& plan, const Trial& trial) { return join(assignments(plan, trial), " "); }

std::vector<std::string> table_of(const Sweep& sweep, const std::string& shown) {
  std::vector<std::string> head{"", "trial"};
  for (const std::string& name : short_names(sweep.plan.space())) head.push_back(printable(name));
  head.insert(head.end(), {sweep.plan.objective, "best_epoch", "epochs", "time", "run"});
  std::vector<std::vector<std::string>> rows{head};
  for (const std::size_t place : ranking(sweep)) {
    const Trial& trial = sweep.trials[place];
    const Outcome& outcome = trial.outcome;
    std::vector<std::string> row{std::to_string(rows.size()), std::to_string(trial.number)};
    for (const std::string& value : trial.values) row.push_back(printable(value));
    row.insert(row.end(), {outcome.objective ? metric_text(*outcome.objective) : "-", count_text(outcome.best_epoch),
                           count_text(outcome.epochs), outcome.seconds > 0 ? duration_text(outcome.seconds) : "-",
                           outcome_text(trial, shown)});
    rows.push_back(std::move(row));
  }
  return aligned(rows);
}

std::string csv_of(const Sweep& sweep) {
  std::vector<std::string> head{"rank", "trial"};
  for (const SweepParameter& parameter : sweep.plan.space()) head.push_back(csv_field(parameter.key));
  head.push_back(csv_field(sweep.plan.objective));
  head.insert(head.end(), {"best_epoch", "epochs", "seconds", "status", "reason", "run"});
  std::string text = join(head, ",") + "\n";
  std::size_t rank = 0;
  for (const std::size_t place : ranking(sweep)) {
    const Trial& trial = sweep.trials[place];
    const Outcome& outcome = trial.outcome;
    std::vector<std::string> row{std::to_string(++rank), std::to_string(trial.number)};
    for (const std::string& value : trial.values) row.push_back(csv_field(value));
    row.insert(row.end(), {outcome.objective ? fmt::format("{:.9g}", *outcome.objective) : "",
                           outcome.best_epoch > 0 ? std::to_string(outcome.best_epoch) : "",
                           std::to_string(outcome.epochs), fmt::format("{:.9g}", outcome.seconds),
                           name_of(trial.status), csv_field(outcome.reason), trial.folder()});
    text += join(row, ",") + "\n";
  }
  return text;
}

plot::Chart chart_of(const Sweep& sweep, const std::string& name) {
  plot::Chart chart{.title = fmt::format("{}: {}, {}", name, counted(sweep.trials.size(), "trial"),
                                         sweep.plan.larger_wins ? "higher is better" : "lower is better"),
                    .keys = keys_of(sweep)};
  const std::vector<SweepParameter> space = sweep.plan.space();
  const std::vector<std::string> names = short_names(space);
  for (std::size_t i = 0; i < space.size(); ++i)
    chart.panels.push_back(panel_of(sweep, names[i], places_of(sweep, space[i], i)));
  return chart;
}

}  // namespace dptrain::sweep
