#pragma once

// What fit leaves at its end: the weights to hand on judged on the validation set, as files of the run, and its page.
// Nothing in here fails a run that has ended well: what cannot be done is a warning. Main thread.

#include <optional>
#include <string>

#include "cli/app.h"
#include "cli/judgement.h"
#include "session/session.h"
#include "train/progress.h"
#include "train/reports.h"
#include "train/run_directory.h"

namespace dptrain::cli {

struct LastEvaluation {
  std::string checkpoint;
  Judgement judgement;
};

/// Whether a run has come to its own end.
bool has_ended_well(const train::EndReport& end);

/// Of a run that was completed or stopped early and has validation data, best.h5 where it was kept, else model.h5, is
/// evaluated, by all processes together; SIGINT and SIGTERM leave that out. The session's weights are then those. Of
/// every run process 0 writes report.html. Gives what was found; nothing where nothing was.
std::optional<LastEvaluation> leave_report(session::Session& session, const train::RunDirectory& run,
                                           const train::EndReport& end, train::ProgressMode progress);

}  // namespace dptrain::cli
