#include "cli/run_summary.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "train/run_directory.h"

namespace dptrain::cli {
namespace {

/// Only the validation values, if there are any.
train::BestValues best_values(train::BestValues best) {
  const auto validates = [](const auto& entry) { return entry.first.starts_with("val_"); };
  if (std::ranges::any_of(best, validates)) std::erase_if(best, [&](const auto& entry) { return !validates(entry); });
  return best;
}

std::string line(const char* word, const std::string& text) { return fmt::format("  {:<8} {}", word, text); }

}  // namespace

std::vector<std::string> summary_lines(const train::EndReport& report, const RunSummary& summary) {
  const std::string& exit = report.result.exit;
  std::vector<std::string> lines{fmt::format("{}; {}, {} in {}, {}, {} of memory", train::exit_text(exit),
                                             counted(report.epochs, "epoch"), counted(report.steps, "step"),
                                             duration_text(report.seconds), speed_text(report.examples_per_second),
                                             human_bytes(summary.peak_bytes))};
  std::vector<std::string> best;
  for (const auto& [name, entry] : best_values(report.best))
    best.push_back(fmt::format("{} {} in epoch {}", name, metric_text(entry.first), entry.second));
  if (!best.empty()) lines.push_back(line("best", join(best, ", ")));
  lines.push_back(line("run", summary.run + (summary.files.empty() ? "" : ": " + join(summary.files, ", "))));
  const std::string run = shell_quoted(summary.run);
  if (exit == "signal" || exit == "max_time")
    lines.push_back(line("continue", "dptrain resume " + run + summary.resume_flags));
  if (exit == "diverged") return lines;
  if (summary.can_eval) lines.push_back(line("evaluate", "dptrain eval " + run));
  lines.push_back(line("predict", fmt::format("dptrain predict {} --input FILE", run)));
  return lines;
}

std::vector<std::string> summary_figures(const train::EndReport& report, const std::string& run) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : report.result.final.items()) lines.push_back(fmt::format("{}: {:.9g}", name, value));
  for (const auto& [name, entry] : best_values(report.best)) {
    lines.push_back(fmt::format("best_{}: {:.9g}", name, entry.first));
    lines.push_back(fmt::format("best_{}_epoch: {}", name, entry.second));
  }
  lines.push_back(fmt::format("epochs: {}", report.epochs));
  lines.push_back(fmt::format("steps: {}", report.steps));
  lines.push_back(fmt::format("seconds: {:.3f}", report.seconds));
  lines.push_back(fmt::format("examples_per_second: {:.1f}", report.examples_per_second));
  lines.push_back("exit: " + report.result.exit);
  lines.push_back("run: " + run);
  return lines;
}

nlohmann::ordered_json summary_fields(const train::EndReport& report, const std::string& run) {
  nlohmann::ordered_json final = nlohmann::ordered_json::object(), best = nlohmann::ordered_json::object();
  for (const auto& [name, value] : report.result.final.items()) final[name] = value;
  for (const auto& [name, entry] : report.best) best[name] = {{"value", entry.first}, {"epoch", entry.second}};
  return {{"ev", "end"},           {"exit", report.result.exit}, {"epochs", report.epochs},
          {"steps", report.steps}, {"seconds", report.seconds},  {"examples_per_second", report.examples_per_second},
          {"final", final},        {"best_by_metric", best},     {"run", run}};
}

}  // namespace dptrain::cli
