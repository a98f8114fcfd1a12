#include "train/curves.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "experiment/experiment.h"
#include "experiment/objectives.h"
#include "train/line_file.h"

namespace dptrain::train {
namespace fs = std::filesystem;
namespace {

using nn::Direction;
using plot::Dash;
using plot::Ink;
using plot::LegendEntry;
using plot::Panel;
using plot::Point;

constexpr std::size_t kManyRuns = 8;

double number_of(const std::string& field) {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(field.data(), field.data() + field.size(), value);
  return value;
}

/// `directions` of result.json: {"val_accuracy": "max"}.
std::map<std::string, Direction> directions_of_result(const std::string& folder) {
  std::map<std::string, Direction> better;
  const auto json = nlohmann::json::parse(read_text((fs::path(folder) / "result.json").string()), nullptr, false);
  const auto found = json.is_object() ? json.find("directions") : json.end();
  if (found == json.end() || !found->is_object()) return better;
  for (const auto& [column, direction] : found->items())
    if (direction == "max" || direction == "min")
      better[column] = direction == "max" ? Direction::kLarger : Direction::kSmaller;
  return better;
}

/// Directions of the metrics and losses in config.resolved.yaml; empty if it cannot be read.
std::map<std::string, Direction> directions_of_config(const std::string& folder) {
  std::map<std::string, Direction> better;
  const std::string file = (fs::path(folder) / "config.resolved.yaml").string(), text = read_text(file);
  if (text.empty()) return better;
  experiment::Overrides without_callbacks;
  without_callbacks.callbacks = false;
  try {
    const experiment::Experiment of = experiment::load_experiment_text(text, file, without_callbacks);
    for (const experiment::LoggedValue& value : experiment::logged_values(of.config.train, of.graph, true))
      better[value.name] = value.better;
  } catch (const Error& unreadable) {
    log::debug(unreadable.what());
  }
  return better;
}

std::vector<std::string> metrics_of(const std::vector<RunCurves>& runs) {
  std::vector<std::string> metrics;
  for (const RunCurves& run : runs)
    for (const std::string& metric : run.metrics())
      if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
  return metrics;
}

bool validated(const std::vector<RunCurves>& runs, const std::vector<std::string>& metrics) {
  for (const RunCurves& run : runs)
    for (const std::string& metric : metrics)
      if (!run.column("val_" + metric).empty()) return true;
  return false;
}

bool any_gap(const std::vector<RunCurves>& runs) {
  for (const RunCurves& run : runs)
    for (const auto& [column, points] : run.values)
      if (std::ranges::any_of(points, [](const Point& point) { return !std::isfinite(point.y); })) return true;
  return false;
}

std::string epoch_text(const Point& point) { return fmt::format("{}, epoch {:g}", metric_text(point.y), point.x); }

Direction direction_of(const std::vector<RunCurves>& runs, const std::string& metric) {
  for (const RunCurves& run : runs)
    if (const Direction better = run.direction_of(metric); better != Direction::kUnknown) return better;
  return Direction::kUnknown;
}

Panel metric_panel(const std::vector<RunCurves>& runs, const std::string& metric, bool log) {
  const Direction better = direction_of(runs, metric);
  const bool one = runs.size() == 1;
  Panel panel{.title = metric,
              .x_label = "epoch",
              .scale = log                            ? plot::Scale::kLog
                       : better == Direction::kLarger ? plot::Scale::kLinear
                                                      : plot::Scale::kAuto,
              .whole_x = true,
              .height = runs.size() > kManyRuns ? 340.0 : 260.0,
              .half = true};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<Point>&validation = runs[i].column("val_" + metric), &training = runs[i].column(metric);
    if (!training.empty()) {
      plot::Line line{.name = runs[i].name + " training", .points = training, .style = plot::line_style(i)};
      if (!validation.empty()) {
        if (one) line.style = plot::line_style(1);
        line.dash = Dash::kDashed;
        line.width = 1.5;
        line.opacity = one ? 1 : runs.size() > kManyRuns ? 0.4 : 0.75;
        line.marks = false;
      } else {
        line.best = best_of(training, better);
      }
      panel.lines.push_back(std::move(line));
    }
    if (!validation.empty())
      panel.lines.push_back({.name = runs[i].name + " validation",
                             .points = validation,
                             .style = plot::line_style(i),
                             .best = best_of(validation, better)});
  }
  for (plot::Line& line : panel.lines) {
    if (runs.size() > kManyRuns && line.dash == Dash::kSolid) line.width = 1.6;
    if (one && line.best) line.best_text = "best " + epoch_text(line.points[*line.best]);
  }
  return panel;
}

/// A small panel for a column that is not a metric.
Panel side_panel(const std::vector<RunCurves>& runs, const std::string& column, const std::string& title) {
  Panel panel{.title = title, .x_label = "epoch", .from_zero = true, .whole_x = true, .height = 165, .half = true};
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (const std::vector<Point>& points = runs[i].column(column); !points.empty())
      panel.lines.push_back(
          {.name = runs[i].name, .points = points, .style = plot::line_style(i), .width = 1.6, .marks = false});
  return panel;
}

double last_epoch(const RunCurves& run) {
  double last = 0;
  for (const auto& [column, points] : run.values)
    if (!points.empty()) last = std::max(last, points.back().x);
  return last;
}

std::vector<RunCurves> as_shares(std::vector<RunCurves> runs) {
  for (RunCurves& run : runs) {
    const double last = std::max(1.0, last_epoch(run));
    for (auto& [column, points] : run.values)
      for (Point& point : points) point.x *= 100 / last;
  }
  return runs;
}

bool changes(const Panel& panel) {
  for (const plot::Line& line : panel.lines)
    for (const Point& point : line.points)
      if (point.y != panel.lines.front().points.front().y) return true;
  return false;
}

/// Explains dashes, lines and rings.
std::vector<LegendEntry> keys_of(const std::vector<RunCurves>& runs, bool with_validation) {
  const bool one = runs.size() == 1;
  const auto style = [&](std::size_t i) { return one ? plot::line_style(i) : plot::LineStyle{.ink = Ink::kMuted}; };
  using Sample = LegendEntry::Sample;
  const Sample solid = one ? Sample::kMarkedLine : Sample::kLine;
  std::vector<LegendEntry> keys;
  if (with_validation) {
    keys.push_back({.name = "validation", .style = style(0), .sample = solid});
    keys.push_back({.name = "training", .style = style(1), .dash = Dash::kDashed, .sample = Sample::kLine});
  } else {
    keys.push_back({.name = "training", .style = style(0), .sample = solid});
  }
  keys.push_back({.name = "best epoch", .style = style(0), .sample = Sample::kRing});
  if (any_gap(runs)) keys.push_back({.name = "not finite", .style = style(0), .sample = Sample::kCross});
  return keys;
}

/// "loss 0.312, epoch 7": the best value, of validation if there is one.
std::string legend_note(const RunCurves& run, const std::string& metric) {
  for (const std::string& column : {"val_" + metric, metric})
    if (const std::vector<Point>& points = run.column(column); !points.empty()) {
      const auto best = best_of(points, run.direction_of(column));
      if (best) return fmt::format("{} {}", column, epoch_text(points[*best]));
      return run.direction_of(column) == Direction::kUnknown ? "" : column + " never finite";
    }
  return "";
}

}  // namespace

Direction RunCurves::direction_of(const std::string& column) const {
  const auto found = better.find(column);
  return found == better.end() ? Direction::kUnknown : found->second;
}

const std::vector<Point>& RunCurves::column(const std::string& key) const {
  static const std::vector<Point> none;
  const auto found = values.find(key);
  return found == values.end() ? none : found->second;
}

std::vector<std::string> RunCurves::metrics() const {
  std::vector<std::string> metrics;
  for (const std::string& column : columns)
    if (column != "epoch" && column != "lr" && column != "examples_per_second" && column != "seconds" &&
        !column.starts_with("val_"))
      metrics.push_back(column);
  return metrics;
}

std::optional<std::size_t> best_of(const std::vector<Point>& points, Direction better) {
  std::optional<std::size_t> best;
  if (better == Direction::kUnknown) return best;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (std::isfinite(points[i].y) && (!best || nn::is_better(better, points[i].y, points[*best].y))) best = i;
  return best;
}

RunCurves read_run(const std::string& folder, const std::string& name) {
  const std::vector<std::string> lines = LineFile::read((fs::path(folder) / "train.csv").string());
  if (lines.size() < 2)
    throw Error(ErrorKind::kData,
                fmt::format("{}: {}", folder,
                            lines.empty() ? "there is no train.csv with a header, as dptrain fit writes"
                                          : "train.csv has no epoch yet"));
  RunCurves run{.name = name, .columns = split(lines.front(), ','), .better = directions_of_result(folder)};
  if (run.better.empty()) run.better = directions_of_config(folder);
  const auto epoch = static_cast<std::size_t>(std::ranges::find(run.columns, "epoch") - run.columns.begin());
  if (epoch == run.columns.size())
    throw Error(ErrorKind::kData, fmt::format("{}: train.csv has no column 'epoch'", folder));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = split(lines[i], ',');
    const double x = epoch < fields.size() ? number_of(fields[epoch]) : std::nan("");
    for (std::size_t c = 0; c < std::min(fields.size(), run.columns.size()); ++c)
      if (!fields[c].empty() && std::isfinite(x)) run.values[run.columns[c]].push_back({x, number_of(fields[c])});
  }
  return run;
}

RunNames names_of_runs(const std::vector<std::string>& folders) {
  std::vector<std::string> experiments, shorter, longer;
  for (const std::string& folder : folders) {
    fs::path path = fs::absolute(folder).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    experiments.push_back(path.parent_path().filename().string());
    shorter.push_back(path.filename().string());
    longer.push_back(experiments.back() + "/" + shorter.back());
  }
  if (folders.size() == 1) return {longer.front(), shorter};
  const bool same = std::ranges::count(experiments, experiments.front()) == static_cast<std::ptrdiff_t>(folders.size());
  return same ? RunNames{experiments.front(), shorter} : RunNames{"", longer};
}

bool differ_in_length(const std::vector<RunCurves>& runs) {
  return std::ranges::adjacent_find(runs, std::not_equal_to{}, last_epoch) != runs.end();
}

plot::Chart curves_chart(const std::string& title, const std::vector<RunCurves>& given, bool log, EpochAxis axis) {
  const std::vector<RunCurves> runs = axis == EpochAxis::kShare ? as_shares(given) : given;
  const std::vector<std::string> metrics = metrics_of(runs);
  plot::Chart chart{.title = title, .keys = keys_of(runs, validated(runs, metrics))};
  for (const std::string& metric : metrics) {
    chart.panels.push_back(metric_panel(runs, metric, log));
    if (chart.panels.back().lines.empty()) chart.panels.pop_back();
  }
  Panel rate = side_panel(runs, "lr", "learning rate");
  rate.scale = plot::Scale::kAuto;
  if (changes(rate)) chart.panels.push_back(std::move(rate));
  Panel speed = side_panel(runs, "examples_per_second", "throughput, samples/s");
  if (!speed.lines.empty()) chart.panels.push_back(std::move(speed));
  if (axis == EpochAxis::kShare)
    for (Panel& panel : chart.panels) {
      panel.x_label = "share of the run's epochs, %";
      panel.whole_x = false;
      panel.x_limits = {.low = 0, .high = 102};  // leaves space for the mark of a run's last epoch
      panel.x_ticks = {0, 25, 50, 75, 100};
    }
  if (runs.size() > 1)
    for (std::size_t i = 0; i < runs.size(); ++i)
      chart.legend.push_back({.name = runs[i].name,
                              .note = metrics.empty() ? "" : legend_note(given[i], metrics.front()),
                              .style = plot::line_style(i)});
  return chart;
}

}  // namespace dptrain::train
