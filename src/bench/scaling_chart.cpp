#include "bench/scaling_chart.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"

namespace dptrain::bench {
namespace {

using Key = std::pair<std::int64_t, int>;  // batch, and threads or 0
using Group = std::vector<const BenchRow*>;

double cores_of(const BenchRow& row) { return static_cast<double>(row.replicas) * row.threads; }

struct Lines {
  std::map<Key, Group> groups;
  bool over_batch = false;   ///< x is the batch
  bool per_replica = false;  ///< the key's batch is that of a replica
};

template <class Value>
std::size_t distinct(const std::vector<BenchRow>& rows, const Value& value) {
  std::set<std::int64_t> found;
  for (const BenchRow& row : rows) found.insert(value(row));
  return found.size();
}

double x_of(const BenchRow& row, bool over_batch) {
  return over_batch ? static_cast<double>(row.global_batch) : row.replicas;
}

/// Whether a line has two rows at the same x, because something else was swept, too.
bool has_duplicate_x(const Lines& lines) {
  return std::ranges::any_of(lines.groups, [&](const auto& group) {
    std::set<double> seen;
    return std::ranges::any_of(group.second,
                               [&](const BenchRow* row) { return !seen.insert(x_of(*row, lines.over_batch)).second; });
  });
}

Lines group(const std::vector<BenchRow>& rows, bool over_batch, bool per_replica, bool by_threads) {
  Lines lines{.groups = {}, .over_batch = over_batch, .per_replica = per_replica};
  for (const BenchRow& row : rows) {
    const std::int64_t batch = over_batch ? 0 : per_replica ? row.global_batch / row.replicas : row.global_batch;
    lines.groups[{batch, by_threads ? row.threads : 0}].push_back(&row);
  }
  for (auto& [key, of] : lines.groups)
    std::ranges::stable_sort(
        of, [&](const BenchRow* a, const BenchRow* b) { return x_of(*a, over_batch) < x_of(*b, over_batch); });
  return lines;
}

Lines lines_of(const std::vector<BenchRow>& rows) {
  const auto batch = [](const BenchRow& row) { return row.global_batch; };
  const auto replicas = [](const BenchRow& row) { return static_cast<std::int64_t>(row.replicas); };
  const auto share = [](const BenchRow& row) { return row.global_batch / row.replicas; };
  const bool over_batch = distinct(rows, replicas) == 1 && distinct(rows, batch) > 1;
  // --mode weak: the batch grows with the replicas.
  const bool per_replica = !over_batch && distinct(rows, share) < distinct(rows, batch);
  const Lines lines = group(rows, over_batch, per_replica, false);
  return has_duplicate_x(lines) ? group(rows, over_batch, per_replica, true) : lines;
}

std::string name_of(const Key& key, const Lines& lines) {
  std::string name;
  if (!lines.over_batch)
    name = fmt::format("{} {}", lines.per_replica ? "batch per replica" : "global batch", key.first);
  if (key.second > 0) name += fmt::format("{}{} each", name.empty() ? "" : ", ", counted(key.second, "thread"));
  return name.empty() ? "measured" : name;
}

bool same_cores(const std::vector<BenchRow>& rows) {
  return std::ranges::all_of(rows, [&](const BenchRow& row) { return cores_of(row) == cores_of(rows.front()); });
}

}  // namespace

plot::Chart scaling_chart(const std::vector<BenchRow>& rows, const std::string& title, double samples) {
  using Sample = plot::LegendEntry::Sample;
  const Lines lines = lines_of(rows);
  const std::string x_label = lines.over_batch ? "global batch" : "replicas";
  plot::Panel speed{.title = "throughput, samples/s", .x_label = x_label, .from_zero = true};
  plot::Panel time{
      .title = fmt::format("time for {} samples, seconds", with_commas(static_cast<std::int64_t>(samples))),
      .x_label = x_label,
      .from_zero = true};
  std::set<double> xs;
  for (const BenchRow& row : rows) xs.insert(x_of(row, lines.over_batch));
  const bool ideal = !lines.over_batch && xs.size() > 1;
  plot::Chart chart{.title = title};
  const plot::LineStyle key_style =
      lines.groups.size() == 1 ? plot::line_style(0) : plot::LineStyle{.ink = plot::Ink::kMuted};
  chart.keys.push_back({.name = "median of the repeats; bars from the slowest to the fastest",
                        .style = key_style,
                        .sample = Sample::kMarkedLine});
  if (ideal)
    chart.keys.push_back({.name = same_cores(rows) ? "ideal: flat, since all rows use the same cores"
                                                   : "ideal: the first point, times as many cores",
                          .style = key_style,
                          .dash = plot::Dash::kDotted,
                          .sample = Sample::kLine});
  std::size_t number = 0;
  for (const auto& [key, group] : lines.groups) {
    const plot::LineStyle style = plot::line_style(number++);
    plot::Line measured{.name = name_of(key, lines), .style = style}, seconds = measured;
    plot::Line best{
        .name = measured.name + ", ideal", .style = style, .dash = plot::Dash::kDotted, .width = 1.5, .marks = false};
    for (const BenchRow* row : group) {
      const double x = x_of(*row, lines.over_batch);
      measured.points.push_back({x, row->examples_per_second});
      measured.spread.push_back({row->examples_per_second_min, row->examples_per_second_max});
      best.points.push_back({x, group.front()->examples_per_second * cores_of(*row) / cores_of(*group.front())});
      seconds.points.push_back({x, samples / row->examples_per_second});
    }
    if (lines.groups.size() > 1) chart.legend.push_back({.name = measured.name, .style = style});
    if (ideal && group.size() > 1) speed.lines.push_back(std::move(best));
    speed.lines.push_back(std::move(measured));
    time.lines.push_back(std::move(seconds));
  }
  for (plot::Panel* const panel : {&speed, &time}) {
    panel->x_ticks.assign(xs.begin(), xs.end());
    panel->log_x = xs.size() > 2 && *xs.rbegin() >= 8 * *xs.begin();  // 1, 2, 4, 8: equal distances
    panel->height = 280;
  }
  chart.panels = {std::move(speed), std::move(time)};
  return chart;
}

}  // namespace dptrain::bench
