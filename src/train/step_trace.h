#pragma once

// StepTrace: trace.json, a timeline of all threads of a run during some steps (core/trace.h), in the Trace Event Format
// of chrome://tracing and Perfetto. Owned by the trainer, on its thread; all processes of a run make the same calls.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/trace.h"
#include "distributed/processes.h"
#include "train/run_directory.h"

namespace dptrain::train {

/// Optimizer steps of the run, counted from 1, inclusive.
struct StepRange {
  std::int64_t first = 0, last = 0;

  std::string str() const;  ///< "100-110", "100"
};

/// "100-110" or "100"; throws Error{kUsage}.
StepRange parse_step_range(const std::string& text);

class StepTrace {
 public:
  /// Inactive without steps. `processes`: null for a single process.
  StepTrace(const std::optional<StepRange>& steps, const RunDirectory& directory, distributed::Processes* processes);
  ~StepTrace();
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  /// Called before the batch of this step is requested.
  void before(std::int64_t step);
  /// Whether the devices must catch up after this step.
  bool ends_with(std::int64_t step) const { return begun_ && !written_ && step == steps_->last; }
  /// Called when all work up to this step is done. Writes the file after the last step; a failed write is a warning.
  void after(std::int64_t step);
  /// Ends the run: writes the events so far.
  void finish(std::int64_t steps);

 private:
  void write(std::int64_t last);

  const std::optional<StepRange> steps_;
  std::int64_t first_ = 0;  ///< the first traced step
  const RunDirectory& directory_;
  distributed::Processes* const processes_;
  bool begun_ = false, written_ = false;
  std::int64_t origin_ = 0;  ///< time 0 of the file
};

/// The events of one process, each followed by ",\n". Spans are in microseconds since `origin`.
std::string trace_events(std::vector<trace::ThreadEntries> threads, int process, const std::string& name,
                         std::int64_t origin);

}  // namespace dptrain::train
