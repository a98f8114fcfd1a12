#pragma once

// The end of fit: evaluates the final weights on the validation set, and writes the results and report.html into the
// run's folder. In a single process a failure here is only a warning. Main thread.

#include <optional>
#include <string>

#include "cli/app.h"
#include "evaluation/evaluation_result.h"
#include "session/session.h"
#include "train/progress.h"
#include "train/reports.h"
#include "train/run_directory.h"

namespace dptrain::cli {

struct LastEvaluation {
  std::string checkpoint;
  evaluation::EvaluationResult evaluation_result;
};

/// Whether a run has completed and could write its files.
bool is_successful(const train::EndReport& end);

/// Evaluates the weights (RunDirectory::weights_of) of a completed run with validation data. Call in all processes;
/// SIGINT and SIGTERM skip the evaluation. The session then has these weights. Process 0 always writes report.html.
std::optional<LastEvaluation> evaluate_and_report(session::Session& session, const train::RunDirectory& run,
                                                  const train::EndReport& end, train::ProgressMode progress);

}  // namespace dptrain::cli
