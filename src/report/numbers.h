#pragma once

// Numbers as the pages show them. Pure functions; any thread.

#include <cstdint>
#include <string>

#include "report/record.h"

namespace dptrain::report {

/// "12,345".
std::string count_text(double value);
/// "early stopping" of result.json's `exit`, or "not ended".
std::string exit_word(const RunRecord& run);
/// "2026-11-26 08:17 UTC" of "2026-11-26T08:17:19Z".
std::string date_text(const std::string& time);

/// The best value of one logged metric over the epochs.
struct Best {
  double value = 0;
  std::int64_t epoch = 0;
};
/// Nothing where the column is not there, or never finite.
std::optional<Best> best_of(const RunRecord& run, const std::string& column);
/// The value of the last epoch that has one.
std::optional<double> last_of(const RunRecord& run, const std::string& column);
/// "loss", "accuracy", ...: what is logged, without "val_", in the order of train.csv.
std::vector<std::string> metrics_of(const RunRecord& run);
/// Whether any of them was validated.
bool is_validated(const RunRecord& run);

}  // namespace dptrain::report
