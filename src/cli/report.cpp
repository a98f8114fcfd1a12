// dptrain report: one run, or a comparison of several, as an HTML page.

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/device_flags.h"
#include "core/format.h"
#include "core/log.h"
#include "evaluation/evaluation.h"
#include "experiment/run_files.h"
#include "report/page.h"
#include "session/session.h"
#include "sweep/sweep_file.h"
#include "train/run_directory.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct ReportFlags {
  std::vector<std::string> runs;
  std::optional<std::string> output;
  DeviceFlags devices;
  std::string data = "real";
  bool no_eval = false;
};

/// Whether the run has data to evaluate on, and a checkpoint newer than all of its evaluations.
bool needs_evaluation(const report::RunRecord& run) {
  return run.has_validation && !train::RunDirectory::weights_of(run.folder).empty() &&
         std::ranges::all_of(run.evaluations, &report::EvaluationRecord::old);
}

/// Evaluates like eval; a failure is only a warning. Returns the names of the written files.
std::vector<std::string> evaluate(const std::string& run, const ReportFlags& flags, train::ProgressMode progress) {
  try {
    evaluation::Evaluation evaluation(
        {.source = run, .devices = flags.devices.request(), .synthetic = flags.data == "synthetic"}, nullptr);
    session::Session& session = evaluation.open();
    evaluation.load_weights();
    const evaluation::EvaluationResult evaluation_result =
        *evaluate(session, evaluation.classes(), evaluation.on(), progress, [] { return true; });
    session.warn_about_bad_samples();
    const evaluation::EvaluatedModel evaluated = evaluation.evaluated(evaluation_result);
    std::vector<std::string> written = evaluation::write_numbers(evaluated, run);
    for (std::string& drawn : evaluation::write_pictures(evaluated, run)) written.push_back(std::move(drawn));
    for (std::string& file : written) file = fs::path(file).filename().string();
    return written;
  } catch (const std::exception& error) {
    log::warn(fmt::format("{} is not evaluated: {}", run, error.what()));
    return {};
  }
}

void log_written(const std::vector<std::string>& folders, const std::vector<std::string>& files) {
  if (files.empty()) return;
  const std::string where =
      folders.size() == 1 ? folders.front() : fmt::format("the folders of {} runs", folders.size());
  log::info(fmt::format("wrote {} in {}", join(files, ", "), where));
}

int run(ReportFlags flags, const Context& context) {
  flags.runs = sweep::runs_of(flags.runs);
  std::vector<std::string> to_evaluate;
  for (const std::string& folder : flags.runs)  // a folder that is not a run is refused before the first evaluation
    if (needs_evaluation(report::read_record(folder, folder)) && !flags.no_eval) to_evaluate.push_back(folder);
  const bool quiet = context.quiet || context.json;
  std::vector<std::string> evaluated, files;
  for (const std::string& folder : to_evaluate) {
    const auto written = evaluate(folder, flags, quiet ? train::ProgressMode::kOff : train::ProgressMode::kAuto);
    if (!written.empty()) evaluated.push_back(folder);
    for (const std::string& file : written)
      if (std::ranges::find(files, file) == files.end()) files.push_back(file);
  }
  log_written(evaluated, files);
  const std::string output = flags.output.value_or(
      flags.runs.size() == 1 ? (fs::path(flags.runs.front()) / experiment::kReport).string() : experiment::kReport);
  report::write_page(flags.runs, output);
  log::info("wrote " + output);
  return 0;
}

}  // namespace

void add_report(App& app) {
  const auto flags = std::make_shared<ReportFlags>();
  Command& command = app.command("report", "a run, or several side by side, as a page of HTML");
  command.describe(
      "Writes report.html: learning curves, metrics, confusion matrix and scores of classes, predicted values and "
      "residuals of a regression, the samples that the model does worst on, layers, where the time went, faults and "
      "warnings, config and environment; of several runs also their figures and what differs. The page is one file "
      "without external resources. A run that has a checkpoint newer than its eval.json is evaluated first.");
  command.example("runs/fashion-mnist/001")
      .example("runs/fashion-mnist/001 runs/fashion-mnist/002 -o compare.html")
      .example("runs/fashion-mnist/001 --no-eval");
  command.positionals("RUN_DIR", flags->runs, "folders of runs");
  command.section("Page")
      .option("--output,-o", "FILE.html", flags->output,
              "default: report.html in the run's folder; of several runs, in the current one")
      .flag("--no-eval", flags->no_eval, "evaluate nothing; use only what the folders contain")
      .choice("--data", {"real", "synthetic"}, flags->data,
              "synthetic: evaluate on generated data in place of the data set");
  flags->devices.add(command);
  command.run([flags](const Context& context) { return run(*flags, context); });
}

}  // namespace dptrain::cli
