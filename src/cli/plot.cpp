// dptrain plot: the learning curves of one or several runs as SVG.

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/csv.h"
#include "cli/svg_chart.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "train/line_file.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct PlotFlags {
  std::vector<std::string> runs;
  std::optional<std::string> output, title;
};

struct Run {
  std::string name;
  NumberTable table;
};

/// What the runs are called: "001", "002" below the title "fashion-mnist" when they are of one experiment.
struct Names {
  std::string title;
  std::vector<std::string> runs;
};

Names names_of(const std::vector<std::string>& folders) {
  std::vector<std::string> experiments, shorter, longer;
  for (const std::string& folder : folders) {
    fs::path path = fs::absolute(folder).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    experiments.push_back(path.parent_path().filename().string());
    shorter.push_back(path.filename().string());
    longer.push_back(experiments.back() + "/" + shorter.back());
  }
  if (folders.size() == 1) return {longer.front(), shorter};
  const bool same = std::count(experiments.begin(), experiments.end(), experiments.front()) ==
                    static_cast<std::ptrdiff_t>(folders.size());
  return same ? Names{experiments.front(), shorter} : Names{"learning curves", longer};
}

std::vector<Run> read_runs(const std::vector<std::string>& folders) {
  const std::vector<std::string> names = names_of(folders).runs;
  std::vector<Run> runs;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    Run run{names[i], read_numbers((fs::path(folders[i]) / "train.csv").string())};
    if (run.table.values["epoch"].empty())
      throw Error(ErrorKind::kData, fmt::format("{}: train.csv has no epoch yet", folders[i]));
    runs.push_back(std::move(run));
  }
  return runs;
}

Panel panel_of(const std::vector<Run>& runs, const std::string& column) {
  Panel panel{column, "epoch", "", {}, false, true};
  bool validated = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& values = runs[i].table.values;
    const auto add = [&](const std::string& name, bool dashed, const std::string& label) {
      const auto found = values.find(name);
      if (found == values.end()) return false;
      panel.series.push_back({label, values.at("epoch"), found->second, i, dashed});
      return true;
    };
    const std::string alone = values.contains("val_" + column) ? "training" : "";
    add(column, false, runs.size() == 1 ? alone : runs[i].name);
    validated = add("val_" + column, true, runs.size() == 1 ? "validation" : "") || validated;
  }
  if (validated && runs.size() > 1) panel.title += " (dashed: validation)";
  return panel;
}

/// The metrics of all runs, in the order of the files.
std::vector<std::string> metrics_of(const std::vector<Run>& runs) {
  std::vector<std::string> metrics;
  for (const Run& run : runs)
    for (const std::string& column : run.table.columns) {
      const bool other = column == "epoch" || column == "lr" || column == "examples_per_second" ||
                         column == "seconds" || column.starts_with("val_");
      if (!other && std::find(metrics.begin(), metrics.end(), column) == metrics.end()) metrics.push_back(column);
    }
  return metrics;
}

bool changes(const Panel& panel) {
  for (const Series& series : panel.series)
    for (const double y : series.y)
      if (y != panel.series.front().y.front()) return true;
  return false;
}

int run(const PlotFlags& flags) {
  if (flags.output) require_svg(*flags.output, "--output");
  const std::vector<Run> runs = read_runs(flags.runs);
  std::vector<Panel> panels;
  for (const std::string& metric : metrics_of(runs)) panels.push_back(panel_of(runs, metric));
  Panel speed = panel_of(runs, "examples_per_second");
  speed.title = "throughput";
  speed.y_label = "examples / s";
  speed.from_zero = true;
  Panel rate = panel_of(runs, "lr");
  rate.title = "learning rate";
  rate.from_zero = true;
  if (changes(rate)) panels.push_back(std::move(rate));
  panels.push_back(std::move(speed));

  const std::string title = flags.title.value_or(names_of(flags.runs).title);
  const std::string output =
      flags.output.value_or(runs.size() == 1 ? (fs::path(flags.runs.front()) / "curves.svg").string() : "curves.svg");
  train::write_text(output, svg_chart(title, panels));
  log::info("wrote " + output);
  return 0;
}

}  // namespace

void add_plot(App& app) {
  const auto flags = std::make_shared<PlotFlags>();
  Command& command = app.command("plot", "learning curves and throughput of runs, as SVG");
  command.describe(
      "Reads train.csv of each run and draws loss, every metric and the throughput over the epochs; several runs share "
      "the panels.");
  command.example("runs/fashion-mnist/001").example("runs/fashion-mnist/001 runs/fashion-mnist/002 -o compare.svg");
  command.positionals("RUN_DIR", flags->runs, "folders of runs");
  command.section("Picture")
      .option("--output,-o", "FILE", flags->output,
              "the SVG, FILE.svg (default: curves.svg in the run's folder; of several runs, in the current one)")
      .option("--title", "TEXT", flags->title, "above the picture");
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
