#pragma once

// `dptrain fit CONFIG --find-lr`: runs the learning-rate range test and writes its table, chart and suggestion. Main
// thread.

#include <optional>
#include <string>

#include "session/session.h"
#include "train/progress.h"
#include "train/rate_test.h"

namespace dptrain::train {

/// Trains `session` for the test and writes find-lr.csv and find-lr.svg into `folder` (default: runs/<name>).
void find_lr(session::Session& session, const RateRange& range, const std::optional<std::string>& folder,
             ProgressMode mode);

}  // namespace dptrain::train
