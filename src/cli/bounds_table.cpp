#include "cli/bounds_table.h"

#include <algorithm>
#include <vector>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"

namespace dptrain::cli {
namespace {

using session::PassTime;

std::string line_of(const PassTime& pass, std::size_t width) {
  const session::Bound& bound = pass.bound;
  const std::string times = bound.ms > 0 && pass.ms > 0 ? fmt::format("{:.2f}", pass.ms / bound.ms) : "-";
  return fmt::format("{:<{}} {:>9.3f} {:>9.3f} {:>8}  {:<6} {:>9.2f} {:>10} {:>10}  {}\n", pass.name, width, pass.ms,
                     bound.ms, times, bound.by.empty() ? "-" : bound.by, pass.work.operations * 1e-6,
                     human_bytes(static_cast<std::uint64_t>(pass.work.bytes)),
                     human_bytes(static_cast<std::uint64_t>(pass.work.set)), bound.level.empty() ? "-" : bound.level);
}

}  // namespace

std::string levels_text(const device::CpuLimits& limits) {
  std::vector<std::string> words;
  for (const device::MemoryLevel& level : limits.levels)
    words.push_back(fmt::format("{}{} {} GB/s", level.name, level.bytes ? " " + human_bytes(*level.bytes) : "",
                                rate_text(level.best_gbps())));
  return words.empty() ? "the system does not say how large the caches are, so bytes bound nothing" : join(words, ", ");
}

double limit_rate(const session::BenchRow& row) {
  const double ms = session::bound_ms(row.passes);
  return ms > 0 ? static_cast<double>(row.global_batch) * 1e3 / ms : 0;
}

std::string bounds_table(const session::BenchRow& row) {
  if (row.passes.empty()) return "";
  std::size_t width = 4;
  double taken = 0;
  for (const PassTime& pass : row.passes) {
    width = std::max(width, pass.name.size());
    taken += pass.ms;
  }
  const int threads = row.limits.threads;
  const std::string arithmetic = row.limits.peak_gflops > 0 ? fmt::format("{:.0f} GFLOP/s, ", row.limits.peak_gflops)
                                                            : "";  // not known for products of bfloat16
  std::string text = fmt::format("bounds of replica 0; {} thread{} at once reach {}{}\n", threads,
                                 threads == 1 ? "" : "s", arithmetic, levels_text(row.limits));
  text += fmt::format("{:<{}} {:>9} {:>9} {:>8}  {:<6} {:>9} {:>10} {:>10}  {}\n", "pass", width, "ms", "bound ms",
                      "x bound", "by", "MFLOP", "bytes", "works on", "fits");
  for (const PassTime& pass : row.passes) text += line_of(pass, width);
  const double bound = session::bound_ms(row.passes), limit = limit_rate(row);
  text += fmt::format("{:<{}} {:>9.3f} {:>9.3f}\n", "sum", width, taken, bound);
  if (limit > 0)
    text += fmt::format("the network's own limit is {} samples/s; {} are reached, {:.2f} of it\n", rate_text(limit),
                        rate_text(row.examples_per_second), row.examples_per_second / limit);
  return text;
}

}  // namespace dptrain::cli
