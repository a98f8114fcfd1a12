#pragma once

// StepTrace: trace.json, what every thread of a run did during some of its steps, as time lines (core/trace.h). In the
// Trace Event Format, which chrome://tracing and Perfetto open: a process of the run is a process there, a thread a
// line. Owned by the trainer, on its thread; all processes of a run call it alike.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/trace.h"
#include "distributed/processes.h"
#include "train/run_directory.h"

namespace dptrain::train {

/// Optimizer steps of the run, counted from 1, both included.
struct StepRange {
  std::int64_t first = 0, last = 0;

  std::string str() const;  ///< "100-110", "100"
};

/// "100-110" or "100"; throws Error{kUsage}.
StepRange parse_step_range(const std::string& text);

class StepTrace {
 public:
  /// Without steps it does nothing. `processes`: null where there is one.
  StepTrace(const std::optional<StepRange>& steps, const RunDirectory& directory, distributed::Processes* processes);
  ~StepTrace();
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  /// Before the batch of this step is asked for.
  void before(std::int64_t step);
  /// The devices must have caught up behind this step.
  bool ends_with(std::int64_t step) const { return begun_ && !written_ && step == steps_->last; }
  /// All is done up to this step. Writes the file if it is the last one; what cannot be written is a warning.
  void after(std::int64_t step);
  /// The run is over: writes what there is.
  void finish(std::int64_t steps);

 private:
  void write(std::int64_t last);

  const std::optional<StepRange> steps_;
  std::int64_t first_ = 0;  ///< the one at which it has begun
  const RunDirectory& directory_;
  distributed::Processes* const processes_;
  bool begun_ = false, written_ = false;
  std::int64_t origin_ = 0;  ///< the time that is 0 in the file
};

/// The events of one process, each followed by ",\n". Spans are in microseconds since `origin`.
std::string trace_events(std::vector<trace::ThreadEntries> threads, int process, const std::string& name,
                         std::int64_t origin);

}  // namespace dptrain::train
