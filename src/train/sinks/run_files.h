#pragma once

// The files that each run writes, one RunSink each (docs/reference/run-directory.md). make_run_sinks() creates them.

#include <cstdint>
#include <memory>
#include <string>

#include "experiment/run_files.h"
#include "train/run_sink.h"

namespace dptrain::train {

/// train.csv: one row per epoch; a row of a partial epoch is replaced by the next row of the same epoch.
std::unique_ptr<RunSink> make_epoch_table(const std::string& path, bool validated);
/// steps.csv: one row per interval.
std::unique_ptr<RunSink> make_step_table(const std::string& path);
/// events.jsonl: one line {"t": unix seconds, "ev": kind, ...fields} per report.
std::unique_ptr<RunSink> make_event_lines(const std::string& path);
/// data-errors.csv: one row per file; rows from before a resume are not repeated.
std::unique_ptr<RunSink> make_data_errors(const std::string& path);
/// curves.svg, drawn from train.csv at most every two seconds and at the end. A failure is a warning.
std::unique_ptr<RunSink> make_curves_picture(const std::string& folder);
std::unique_ptr<RunSink> make_result_file(const RunDirectory& directory);

/// The first field of a row as a number; 0 if it is not a number, as in a header.
std::int64_t leading_number(const std::string& row);

}  // namespace dptrain::train
