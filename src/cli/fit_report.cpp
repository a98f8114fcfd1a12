#include "cli/fit_report.h"

#include <filesystem>

#include "core/format.h"
#include "core/log.h"
#include "evaluation/classes.h"
#include "evaluation/evaluation_files.h"
#include "evaluation/evaluation_result.h"
#include "experiment/run_files.h"
#include "formats/checkpoint/weights.h"
#include "report/page.h"
#include "session/session.h"
#include "session/shared_file.h"
#include "train/signals.h"
#include "train/step_log.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

/// Evaluates the weights in `file`; nothing if it was stopped. All processes together.
std::optional<evaluation::EvaluationResult> evaluate_weights(session::Session& session, const std::string& file,
                                                             train::ProgressMode progress) {
  graph::WeightsSpec weights;
  weights.file.value = file;
  formats::load_weights(weights, session.model(), formats::Coverage::kAll);
  session.replicas().push(session.model());
  const std::vector<evaluation::Classes> classes =
      evaluation::classes_of_outputs(session.experiment(), session.model().graph, session.class_names());
  return evaluate(session, classes, "validation", progress, [] { return train::Signals::stop_signal() == 0; });
}

void write_evaluation(session::Session& session, const train::RunDirectory& run, const std::string& checkpoint,
                      const evaluation::EvaluationResult& evaluation_result) {
  const evaluation::EvaluatedModel evaluated{session.experiment(), checkpoint, evaluation_result,
                                             session.source("validation")};
  evaluation::write_numbers(evaluated, run.path());
  evaluation::write_pictures(evaluated, run.path());
  log::info(fmt::format("{} on validation{}", fs::path(checkpoint).filename().string(),
                        train::values_text(evaluation_result.values)));
}

template <class Work>
void run_or_warn(const char* otherwise, const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    log::warn(fmt::format("{}: {}", otherwise, error.what()));
  }
}

std::optional<LastEvaluation> evaluate(session::Session& session, const train::RunDirectory& run,
                                       train::ProgressMode progress) {
  // SIGINT and SIGTERM request a stop.
  const train::Training no_more("skipping the evaluation; press Ctrl-C again to quit at once",
                                "stopped at once; the run is saved, its evaluation is missing");
  const session::SharedFile weights(session.processes(),
                                    run.is_here() ? train::RunDirectory::weights_of(run.path()) : "");
  if (weights.path().empty()) return std::nullopt;
  std::optional<evaluation::EvaluationResult> evaluation_result = evaluate_weights(session, weights.path(), progress);
  session.warn_about_bad_samples();
  if (!evaluation_result)
    log::info("the evaluation was stopped");
  else if (run.is_here())
    run_or_warn("cannot write the evaluation completely",
                [&] { write_evaluation(session, run, weights.path(), *evaluation_result); });
  if (!evaluation_result) return std::nullopt;
  return LastEvaluation{.checkpoint = weights.path(), .evaluation_result = std::move(*evaluation_result)};
}

}  // namespace

bool is_successful(const train::EndReport& end) {
  return end.result.exit_code == 0 && train::is_completed(end.result.exit);
}

std::optional<LastEvaluation> evaluate_and_report(session::Session& session, const train::RunDirectory& run,
                                                  const train::EndReport& end, train::ProgressMode progress) {
  std::optional<LastEvaluation> last;
  if (is_successful(end) && session.validation_loader() != nullptr) {
    if (session.processes() != nullptr)  // an error in one process is an error in all
      last = evaluate(session, run, progress);
    else
      run_or_warn("the last evaluation failed", [&] { last = evaluate(session, run, progress); });
  }
  if (run.is_here())
    run_or_warn("cannot write report.html", [&] { report::write_page({run.path()}, run.file(experiment::kReport)); });
  return last;
}

}  // namespace dptrain::cli
