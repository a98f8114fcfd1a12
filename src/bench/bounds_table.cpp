#include "bench/bounds_table.h"

#include <vector>

#include "core/format.h"
#include "core/quantity.h"
#include "core/terminal.h"
#include "core/text.h"

namespace dptrain::bench {
namespace {

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

std::string levels_text(const backend::CpuLimits& limits) {
  std::vector<std::string> words;
  for (const backend::MemoryLevel& level : limits.levels)
    words.push_back(fmt::format("{}{} {} GB/s", level.name, level.bytes ? " " + human_bytes(*level.bytes) : "",
                                rate_text(level.best_gbps())));
  return words.empty() ? "the system does not say how large the caches are, so bytes bound nothing" : join(words, ", ");
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
