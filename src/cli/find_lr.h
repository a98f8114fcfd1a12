#pragma once

// `dptrain fit CONFIG --find-lr`: the learning-rate range test, as a table, a picture and a suggestion. Main thread.

#include <cstdint>
#include <optional>
#include <string>

#include "plot/chart.h"
#include "session/session.h"
#include "train/progress.h"
#include "train/rate_test.h"

namespace dptrain::cli {

/// "1e-7..10". Throws Error{kUsage}.
train::RateRange parse_rate_range(const std::string& text, const std::optional<std::int64_t>& steps);

/// Trains `session` for the test, and writes find-lr.* into `folder` (default: runs/<name>). Returns the exit code.
int find_lr(session::Session& session, const train::RateRange& range, const std::optional<std::string>& folder,
            train::ProgressMode progress);

/// Loss over the learning rate, with the suggestion in a ring.
plot::Chart rate_test_chart(const std::string& name, const train::RateCurve& curve);

}  // namespace dptrain::cli
