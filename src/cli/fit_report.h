#pragma once

// What fit leaves at its end: the weights to hand on judged on the validation set, as files of the run, and its page.
// Nothing in here fails a run that has ended well: what cannot be done is a warning. Main thread.

#include <optional>
#include <string>

#include "cli/app.h"
#include "evaluation/judgement.h"
#include "session/session.h"
#include "train/progress.h"
#include "train/reports.h"
#include "train/run_directory.h"

namespace dptrain::cli {

struct LastEvaluation {
  std::string checkpoint;
  evaluation::Judgement judgement;
};

/// Whether a run has reached its end and could write its files.
bool has_ended_well(const train::EndReport& end);

/// Evaluates the weights of a run (RunDirectory::weights_of) that has ended well and has validation data. All processes
/// together; SIGINT and SIGTERM skip it. The session then has these weights. Process 0 writes report.html of every run.
std::optional<LastEvaluation> leave_report(session::Session& session, const train::RunDirectory& run,
                                           const train::EndReport& end, train::ProgressMode progress);

}  // namespace dptrain::cli
