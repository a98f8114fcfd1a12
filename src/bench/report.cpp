#include "bench/report.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "core/quantity.h"
#include "core/terminal.h"
#include "core/text.h"
#include "dptrain_version.h"
#include "session/environment.h"

namespace dptrain::bench {
namespace {

using Rows = std::vector<BenchRow>;

double speedup(const BenchRow& row, const Rows& rows) {
  return row.examples_per_second / rows.front().examples_per_second;
}

/// Parallel efficiency relative to the first row.
double efficiency(const BenchRow& row, const Rows& rows) {
  const double cores = static_cast<double>(row.replicas * row.threads) / (rows.front().replicas * rows.front().threads);
  return speedup(row, rows) / cores;
}

/// Calls f(key, field) for the numbers of a row that bench.json has in every row.
template <class Row, class F>
void for_numbers(Row& row, const F& f) {
  f("processes", row.processes);
  f("replicas", row.replicas);
  f("threads", row.threads);
  f("global_batch", row.global_batch);
  f("micro_batches", row.micro_batches);
  f("examples_per_second", row.examples_per_second);
  f("examples_per_second_min", row.examples_per_second_min);
  f("examples_per_second_max", row.examples_per_second_max);
  f("step_ms", row.step_ms);
  f("forward_backward_ms", row.forward_backward_ms);
  f("comm_exposed_ms", row.comm_exposed_ms);
  f("optimizer_ms", row.optimizer_ms);
  f("data_wait_ms", row.data_wait_ms);
  f("workers", row.workers);
  f("loader_examples_per_second", row.loader_examples_per_second);
  f("start_seconds", row.start_seconds);
  f("open_data_seconds", row.open_data_seconds);
  f("peak_bytes", row.peak_bytes);
  f("device_bytes", row.device_bytes);
}

double spread(const BenchRow& row) { return (row.examples_per_second_max - row.examples_per_second_min) / 2; }

/// Adds the memory levels, the passes and the sum of their bounds.
void add_passes(const BenchRow& row, nlohmann::json& entry) {
  if (row.passes.empty()) return;
  entry["levels"] = nlohmann::json::array();
  for (const backend::MemoryLevel& level : row.limits.levels)
    entry["levels"].push_back({{"name", level.name},
                               {"bytes", level.bytes ? nlohmann::json(*level.bytes) : nlohmann::json()},
                               {"read_gbps", level.read_gbps},
                               {"update_gbps", level.update_gbps}});
  const auto word = [](const std::string& text) { return text.empty() ? nlohmann::json() : nlohmann::json(text); };
  for (const PassTime& pass : row.passes)
    entry["passes"].push_back({{"name", pass.name},
                               {"ms", pass.ms},
                               {"operations", pass.work.operations},
                               {"bytes", pass.work.bytes},
                               {"working_set", pass.work.set},
                               {"level", word(pass.bound.level)},
                               {"bound_ms", pass.bound.ms},
                               {"bound_by", word(pass.bound.by)}});
  entry["bound_ms"] = bound_ms(row.passes);
  entry["limit_examples_per_second"] = limit_rate(row);
}

std::vector<std::string> cells_of(const PassTime& pass) {
  const Bound& bound = pass.bound;
  return {pass.name,
          fmt::format("{:.3f}", pass.ms),
          fmt::format("{:.3f}", bound.ms),
          bound.ms > 0 && pass.ms > 0 ? fmt::format("{:.2f}", pass.ms / bound.ms) : "-",
          bound.by.empty() ? "-" : bound.by,
          fmt::format("{:.2f}", pass.work.operations * 1e-6),
          human_bytes(static_cast<std::uint64_t>(pass.work.bytes)),
          human_bytes(static_cast<std::uint64_t>(pass.work.set)),
          bound.level.empty() ? "-" : bound.level};
}

}  // namespace

std::string bench_table(const Rows& rows, BenchData data, std::optional<std::size_t> columns) {
  terminal::Table table;
  for (const char* head : {"devices", "global", "samples/s", "+/-", "speedup", "eff", "of_peak", "step_ms", "fwd+bwd",
                           "comm", "opt", "data", "peak"})
    table.column(head);
  std::string verdicts;
  const auto two_digits = [](double value) { return fmt::format("{:.2f}", value); };
  for (const BenchRow& row : rows) {
    const std::string name = row_name(row), batch = std::to_string(row.global_batch);
    table.row({name, batch, rate_text(row.examples_per_second), rate_text(spread(row)), two_digits(speedup(row, rows)),
               two_digits(efficiency(row, rows)), row.of_peak ? two_digits(*row.of_peak) : "-", two_digits(row.step_ms),
               two_digits(row.forward_backward_ms), two_digits(row.comm_exposed_ms), two_digits(row.optimizer_ms),
               two_digits(row.data_wait_ms), human_bytes(row.devices.on_gpus() ? row.device_bytes : row.peak_bytes)});
    const std::string line = fmt::format("{} batch {}: {}", name, batch, verdict(row, data));
    verdicts += terminal::wrapped(line, columns) + "\n";
  }
  return table.text(columns) + "\n" + verdicts;
}

std::string bench_csv(const Rows& rows) {
  std::string text =
      "replicas,threads,global_batch,examples_per_second,examples_per_second_min,examples_per_second_max,speedup,"
      "efficiency,step_ms,"
      "forward_backward_ms,comm_exposed_ms,optimizer_ms,data_wait_ms,peak_bytes,devices,workers,loader_examples_per_"
      "second,of_peak\n";
  for (const BenchRow& row : rows)
    text += fmt::format(
        "{},{},{},{:.9g},{:.9g},{:.9g},{:.4g},{:.4g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{},{},{},{:.9g},{}\n",
        row.replicas, row.threads, row.global_batch, row.examples_per_second, row.examples_per_second_min,
        row.examples_per_second_max, speedup(row, rows), efficiency(row, rows), row.step_ms, row.forward_backward_ms,
        row.comm_exposed_ms, row.optimizer_ms, row.data_wait_ms, row.peak_bytes, row_name(row), row.workers,
        row.loader_examples_per_second, row.of_peak ? fmt::format("{:.4g}", *row.of_peak) : "");
  return text;
}

std::string bench_json(const Rows& rows, const std::string& config, BenchData data) {
  nlohmann::json list = nlohmann::json::array();
  for (const BenchRow& row : rows) {
    nlohmann::json entry{{"devices", row_name(row)},
                         {"of_peak", row.of_peak ? nlohmann::json(*row.of_peak) : nlohmann::json()},
                         {"peak_gflops", row.of_peak ? nlohmann::json(row.peak_gflops) : nlohmann::json()}};
    for_numbers(row, [&](const char* key, const auto& number) { entry[key] = number; });
    if (row.virtual_shards > 0) {
      entry["virtual_shards"] = row.virtual_shards;
      entry["ratio_to_no_shards"] = row.ratio_to_no_shards;
      entry["examples_per_second_without_shards"] = row.examples_per_second_without_shards;
    }
    for (const LayerTime& layer : row.layers)
      entry["layers"].push_back({{"name", layer.name},
                                 {"implementation", layer.implementation},
                                 {"forward_ms", layer.forward_ms},
                                 {"backward_ms", layer.backward_ms},
                                 {"forward_gflops", layer.forward_gflops},
                                 {"backward_gflops", layer.backward_gflops}});
    add_passes(row, entry);
    list.push_back(entry);
  }
  const BenchRow& widest = *std::max_element(
      rows.begin(), rows.end(), [](const BenchRow& a, const BenchRow& b) { return a.replicas < b.replicas; });
  const nlohmann::json all{{"dptrain", kVersion},
                           {"machine", session::environment("", widest.devices, widest.device_lines)},
                           {"config", config},
                           {"data", data == BenchData::kReal        ? "real"
                                    : data == BenchData::kSynthetic ? "synthetic"
                                                                    : "loader-only"},
                           {"rows", list},
                           {"verdict", verdict(rows.back(), data)}};
  return all.dump(2) + "\n";
}

std::vector<BenchRow> rows_of_json(const std::string& text) {
  Rows rows;
  try {
    const nlohmann::json all = nlohmann::json::parse(text);
    for (const nlohmann::json& entry : all.at("rows")) {
      BenchRow& row = rows.emplace_back();
      for_numbers(row, [&](const char* key, auto& number) { entry.at(key).get_to(number); });
      if (const nlohmann::json& part = entry.at("of_peak"); !part.is_null()) {
        row.of_peak = part.get<double>();
        entry.at("peak_gflops").get_to(row.peak_gflops);
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInternal, fmt::format("a bench.json of a process: {}", error.what()));
  }
  return rows;
}

std::string layer_table(const BenchRow& row, std::optional<std::size_t> columns) {
  using enum terminal::Table::Align;
  // The peak is measured on all threads at once; a replica uses a part of them.
  const double peak_gflops = row.limits.peak_gflops > 0 ? row.limits.share(row.threads).peak_gflops : 0;
  const bool of_peak = peak_gflops > 0;
  double total = 0;
  for (const LayerTime& layer : row.layers) total += layer.forward_ms + layer.backward_ms;

  terminal::Table table;
  table.column("layer", kLeft).column("share");
  for (const char* pass : {"fwd", "bwd"}) {
    table.column(fmt::format("{} ms", pass)).column("GFLOP/s");
    if (of_peak) table.column("of peak");
  }
  table.column("implementation", kLeft);
  for (const LayerTime& layer : row.layers) {
    std::vector<std::string> cells{layer.name,
                                   fmt::format("{:.0f} %", 100 * (layer.forward_ms + layer.backward_ms) / total)};
    const auto add = [&](double milliseconds, double gflops) {
      cells.push_back(fmt::format("{:.3f}", milliseconds));
      cells.push_back(gflops > 0 ? fmt::format("{:.{}f}", gflops, of_peak ? 1 : 0) : "-");
      if (of_peak) cells.push_back(gflops > 0 ? fmt::format("{:.0f} %", 100 * gflops / peak_gflops) : "");
    };
    add(layer.forward_ms, layer.forward_gflops);
    add(layer.backward_ms, layer.backward_gflops);
    cells.push_back(layer.implementation);
    table.row(std::move(cells));
  }
  const std::string head =
      of_peak ? fmt::format("FMA peak {:.0f} GFLOP/s on {}, measured\n", peak_gflops, counted(row.threads, "thread"))
              : "";
  const std::string sum =
      fmt::format("sum {:.3f} ms of a step of {:.3f} ms; the optimizer takes {:.3f}, waiting for others {:.3f}", total,
                  row.step_ms, row.optimizer_ms, row.comm_exposed_ms);
  return terminal::wrapped(head, columns) + table.text(columns) + terminal::wrapped(sum, columns) + "\n";
}

std::vector<std::string> regressions(const std::string& baseline_path, const Rows& rows, double max_regression) {
  std::ifstream file(baseline_path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const nlohmann::json baseline =
      nlohmann::json::parse(exceeds_json_depth(text) ? std::string() : text, nullptr, false);
  if (!file || baseline.is_discarded() || !baseline.contains("rows"))
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: not a bench.json; --baseline needs the bench.json of an earlier `dptrain bench`",
                            baseline_path));
  std::vector<std::string> slower;
  bool matched = false;
  for (const BenchRow& row : rows)
    for (const nlohmann::json& old : baseline["rows"]) {
      if (old.value("devices", "") != row_name(row) || old.value("global_batch", 0) != row.global_batch) continue;
      matched = true;
      const double before = old.value("examples_per_second", 0.0), ratio = row.examples_per_second / before;
      if (ratio < 1 - max_regression)
        slower.push_back(fmt::format("{} batch {}: {} samples/s, {} before: {:.3f} of it, expected at least {:.3f}",
                                     row_name(row), row.global_batch, rate_text(row.examples_per_second),
                                     rate_text(before), ratio, 1 - max_regression));
    }
  if (!matched)
    throw Error(ErrorKind::kUsage, fmt::format("{}: no row has the same devices and batch as this run", baseline_path));
  return slower;
}

std::string levels_text(const backend::CpuLimits& limits) {
  std::vector<std::string> words;
  for (const backend::MemoryLevel& level : limits.levels)
    words.push_back(fmt::format("{}{} {} GB/s", level.name, level.bytes ? " " + human_bytes(*level.bytes) : "",
                                rate_text(level.best_gbps())));
  return words.empty() ? "the system does not report the sizes of the caches, so bytes set no bound"
                       : join(words, ", ");
}

double limit_rate(const BenchRow& row) {
  const double ms = bound_ms(row.passes);
  return ms > 0 ? static_cast<double>(row.global_batch) * 1e3 / ms : 0;
}

std::string bounds_table(const BenchRow& row, std::optional<std::size_t> columns) {
  using enum terminal::Table::Align;
  if (row.passes.empty()) return "";
  const int threads = row.limits.threads;
  const std::string arithmetic = row.limits.peak_gflops > 0 ? fmt::format("{:.0f} GFLOP/s, ", row.limits.peak_gflops)
                                                            : "";  // not measured for products of bfloat16
  const auto line = [&](const std::string& text) { return terminal::wrapped(text, columns) + "\n"; };
  terminal::Table table;
  table.column("pass", kLeft).column("ms").column("bound ms").column("x bound").column("by", kLeft);
  table.column("MFLOP").column("bytes").column("works on").column("fits", kLeft);
  double taken = 0;
  for (const PassTime& pass : row.passes) {
    taken += pass.ms;
    table.row(cells_of(pass));
  }
  const double bound = bound_ms(row.passes), limit = limit_rate(row);
  table.row({"sum", fmt::format("{:.3f}", taken), fmt::format("{:.3f}", bound)});
  std::string text = line(fmt::format("bounds of replica 0; {} at once reach {}{}", counted(threads, "thread"),
                                      arithmetic, levels_text(row.limits))) +
                     table.text(columns);
  if (limit > 0)
    text += line(fmt::format("the network's own limit is {} samples/s; {} are reached, {:.2f} of it", rate_text(limit),
                             rate_text(row.examples_per_second), row.examples_per_second / limit));
  return text;
}

}  // namespace dptrain::bench
