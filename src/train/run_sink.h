#pragma once

// RunSink: receives a run's reports; each growing file has an implementation (train/sinks/, CSVLogger). Processes that
// do not write have RunSink itself, which ignores reports. A line that cannot be written is retried. Trainer's thread.

#include <cstdint>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/batch_view.h"
#include "data/on_error.h"
#include "train/reports.h"
#include "train/run_directory.h"

namespace dptrain::train {

class RunSink {
 public:
  RunSink() = default;
  RunSink(const RunSink&) = delete;
  RunSink& operator=(const RunSink&) = delete;
  virtual ~RunSink() = default;

  /// Resumes after this many whole epochs and steps: removes later and torn lines. Throws Error{kWrite} if unreadable.
  virtual void cut(std::int64_t /*epochs*/, std::int64_t /*steps*/) {}
  virtual void step(const IntervalReport& /*report*/) {}
  virtual void epoch(const EpochReport& /*report*/) {}
  /// A single event: "save", "nonfinite", "validation".
  virtual void event(const std::string& /*kind*/, const nlohmann::json& /*fields*/) {}
  virtual void bad_sample(const data::BadSample& /*bad*/) {}
  virtual void end(const EndReport& /*report*/) {}
  /// Retries failed lines; false: some are lost.
  virtual bool flush() { return true; }
};

/// The files of a run's folder (docs/reference/run-directory.md). `validated`: train.csv has validation columns from
/// the start. Throws Error{kWrite} if an existing file cannot be read.
std::unique_ptr<RunSink> make_run_sinks(const RunDirectory& directory, bool validated);

/// Returns `sink` in the process that writes, a silent one in the others.
std::unique_ptr<RunSink> silent_unless_first(const World& world, std::unique_ptr<RunSink> sink);

}  // namespace dptrain::train
