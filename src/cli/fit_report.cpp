#include "cli/fit_report.h"

#include <csignal>
#include <filesystem>

#include "core/format.h"
#include "core/log.h"
#include "evaluation/classes.h"
#include "evaluation/judgement.h"
#include "evaluation/judgement_files.h"
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
std::optional<evaluation::Judgement> judge_weights(session::Session& session, const std::string& file,
                                                   train::ProgressMode progress) {
  graph::WeightsSpec weights;
  weights.file.value = file;
  formats::load_weights(weights, session.model(), formats::Coverage::kAll);
  session.replicas().push(session.model());
  const std::vector<evaluation::Classes> classes =
      evaluation::classes_of_outputs(session.experiment(), session.model().graph, session.class_names());
  return judge(session, classes, "validation", progress, [] { return train::Signals::stop_signal() == 0; });
}

void write_judgement(session::Session& session, const train::RunDirectory& run, const std::string& checkpoint,
                     const evaluation::Judgement& judgement) {
  const evaluation::Judged judged{session.experiment(), checkpoint, judgement, session.source("validation")};
  evaluation::write_numbers(judged, run.path());
  evaluation::write_pictures(judged, run.path());
  log::info(fmt::format("{} on validation{}", fs::path(checkpoint).filename().string(),
                        train::values_text(judgement.values)));
}

template <class Work>
void try_to(const char* otherwise, const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    log::warn(fmt::format("{}: {}", otherwise, error.what()));
  }
}

std::optional<LastEvaluation> evaluate(session::Session& session, const train::RunDirectory& run,
                                       train::ProgressMode progress) {
  // SIGINT and SIGTERM request a stop.
  const train::Training no_more("leaving out the evaluation; press Ctrl-C again to quit at once",
                                "stopped at once; the run is saved, its evaluation is missing");
  const session::SharedFile weights(session.processes(),
                                    run.is_here() ? train::RunDirectory::weights_of(run.path()) : "");
  if (weights.path().empty()) return std::nullopt;
  std::optional<evaluation::Judgement> judgement = judge_weights(session, weights.path(), progress);
  session.warn_about_bad_samples();
  if (!judgement)
    log::info("the evaluation was stopped and is left out");
  else if (run.is_here())
    try_to("the evaluation is not written whole", [&] { write_judgement(session, run, weights.path(), *judgement); });
  if (!judgement) return std::nullopt;
  return LastEvaluation{.checkpoint = weights.path(), .judgement = std::move(*judgement)};
}

}  // namespace

bool has_ended_well(const train::EndReport& end) {
  return end.result.exit_code == 0 && train::has_reached_its_end(end.result.exit);
}

std::optional<LastEvaluation> leave_report(session::Session& session, const train::RunDirectory& run,
                                           const train::EndReport& end, train::ProgressMode progress) {
  std::optional<LastEvaluation> last;
  if (has_ended_well(end) && session.validation_loader() != nullptr) {
    if (session.processes() != nullptr)  // an error in one process is an error in all
      last = evaluate(session, run, progress);
    else
      try_to("the last evaluation is left out", [&] { last = evaluate(session, run, progress); });
  }
  if (run.is_here())
    try_to("report.html is not written", [&] { report::write_page({run.path()}, run.file(experiment::kReport)); });
  return last;
}

}  // namespace dptrain::cli
