// dptrain plot: draws the learning curves of one or several runs.

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "plot/file.h"
#include "sweep/sweep_file.h"
#include "train/curves.h"
#include "train/model_source.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct PlotFlags {
  std::vector<std::string> runs;
  std::optional<std::string> output, title;
  bool log = false, relative = false;
};

int run(PlotFlags flags) {
  if (flags.output) plot::require_picture(*flags.output, "--output");
  flags.runs = sweep::runs_of(flags.runs);
  for (const std::string& folder : flags.runs) train::require_run_with(folder, "train.csv");
  const train::RunNames names = train::names_of_runs(flags.runs);
  std::vector<train::RunCurves> runs;
  for (std::size_t i = 0; i < flags.runs.size(); ++i) runs.push_back(train::read_run(flags.runs[i], names.runs[i]));
  const std::string output =
      flags.output.value_or(runs.size() == 1 ? (fs::path(flags.runs.front()) / "curves.svg").string() : "curves.svg");
  const std::string title = flags.title.value_or(names.title.empty() ? "learning curves" : names.title);
  const train::EpochAxis axis = flags.relative ? train::EpochAxis::kShare : train::EpochAxis::kEpochs;
  plot::write(output, plot::draw(train::curves_chart(title, runs, flags.log, axis)));
  log::info("wrote " + output);
  return 0;
}

}  // namespace

void add_plot(App& app) {
  const auto flags = std::make_shared<PlotFlags>();
  Command& command = app.command("plot", "learning curves of runs as a picture, SVG");
  command.describe(
      "Reads train.csv of each run and draws loss and every metric over the epochs, validation as lines, training "
      "dashed, the best epoch in a ring; several runs share the panels. Small panels have the learning rate and the "
      "throughput.");
  command.example("runs/fashion-mnist/001").example("runs/fashion-mnist/001 runs/fashion-mnist/002 -o compare.svg");
  command.positionals("RUN_DIR", flags->runs, "folders of runs");
  command.section("Picture")
      .option("--output,-o", "FILE.svg", flags->output,
              "the picture (default: curves.svg in the run's folder; of several runs, in the current one)")
      .option("--title", "TEXT", flags->title, "above the picture")
      .flag("--log-scale", flags->log,
            "logarithmic axes for every metric (default: for a loss or error whose values span decades)")
      .flag("--relative", flags->relative, "x is the share of each run's epochs, to compare runs of different length");
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
