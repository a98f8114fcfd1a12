#include <filesystem>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "report/html.h"
#include "report/numbers.h"
#include "report/sections.h"
#include "train/run_directory.h"

namespace dptrain::report {
namespace {

std::string tile(const std::string& value, const std::string& what) {
  return element("div", "tile", element("b", "", escaped(value)) + element("span", "", breakable(what))) + "\n";
}

/// The best of each metric, of validation where there is some.
std::string metric_tiles(const RunRecord& run) {
  constexpr std::size_t kMost = 5;
  const std::string prefix = is_validated(run) ? "val_" : "";
  std::string tiles;
  std::size_t count = 0;
  for (const std::string& metric : metrics_of(run))
    if (const auto best = best_of(run, prefix + metric); best && count++ < kMost)
      tiles += tile(metric_text(best->value), fmt::format("best {}{}, epoch {}", prefix, metric, best->epoch));
  return tiles;
}

std::string evaluation_tiles(const RunRecord& run) {
  std::string tiles;
  for (const EvaluationRecord& evaluation : run.evaluations)
    if (evaluation.on == "test")
      for (const auto& [name, value] : evaluation.values) tiles += tile(metric_text(value), name + " on the test set");
  return tiles;
}

/// "dptrain 0.1.0 on 2 devices: cpu:0 ..."
std::string where_text(const RunRecord& run) {
  std::vector<std::string> parts;
  if (!run.date.empty()) parts.push_back(date_text(run.date));
  if (const std::string& devices = value_of(run.environment, "devices"); !devices.empty()) parts.push_back(devices);
  if (const std::string& host = value_of(run.environment, "machine.host"); !host.empty()) parts.push_back("on " + host);
  if (const std::string& version = value_of(run.environment, "dptrain"); !version.empty())
    parts.push_back("dptrain " + version);
  return join(parts, " · ");
}

}  // namespace

std::string overview(const RunRecord& run) {
  const bool good = run.result && (run.result->exit == "completed" || run.result->exit == "early_stopping");
  const std::string ended = run.result ? train::exit_text(run.result->exit) : "not ended: it runs, or was killed";
  std::string html =
      element("p", "lead", element("span", good ? "chip" : "chip bad", escaped(ended)) + escaped(where_text(run)));
  if (run.result && !run.result->reason.empty()) html += element("p", "", escaped(run.result->reason));
  std::string tiles = metric_tiles(run) + evaluation_tiles(run);
  if (run.result) {
    tiles += tile(count_text(static_cast<double>(run.result->epochs)),
                  fmt::format("{}, {}", plural(run.result->epochs, "epoch"), counted(run.result->steps, "step")));
    tiles += tile(duration_text(run.result->seconds), "training and validation");
    tiles += tile(count_text(run.result->examples_per_second), "samples per second");
  }
  if (!run.layers.empty())
    tiles += tile(with_commas(run.parameters), fmt::format("parameters, {} trainable", with_commas(run.trainable)));
  return html + "\n" + element("div", "tiles", "\n" + tiles) + "\n";
}

std::vector<Section> sections_of(const RunRecord& run) {
  std::vector<Section> all{curves_section(run), metrics_section(run), classes_section(run),
                           values_section(run), worst_section(run),   layers_section(run),
                           time_section(run),   trouble_section(run), config_section(run)};
  std::erase_if(all, [](const Section& section) { return section.html.empty(); });
  return all;
}

std::string evaluated_text(const EvaluationRecord& evaluation) {
  return fmt::format("{} on {}, {}{}", std::filesystem::path(evaluation.checkpoint).filename().string(), evaluation.on,
                     counted(evaluation.samples, "sample"), evaluation.old ? " (outdated)" : "");
}

}  // namespace dptrain::report
