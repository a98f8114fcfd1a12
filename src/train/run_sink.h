#pragma once

// RunSink: where a run's reports go. Each file that grows while a run goes on is one implementation (train/sinks/,
// CSVLogger); one of them writes in the process that writes for all, the others have RunSink itself, which is silent. A
// line that cannot be written is kept and written later. Trainer's thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/batch_rows.h"
#include "data/on_error.h"
#include "train/reports.h"
#include "train/run_directory.h"

namespace dptrain::train {

class RunSink {
 public:
  RunSink() = default;
  RunSink(const RunSink&) = delete;
  RunSink& operator=(const RunSink&) = delete;
  virtual ~RunSink();

  /// The run goes on from a state with so many whole epochs and steps: what was written beyond it, or torn, goes.
  /// Throws Error{kWrite} when the file cannot be read.
  virtual void cut(std::int64_t epochs, std::int64_t steps);
  virtual void step(const IntervalReport& report);
  virtual void epoch(const EpochReport& report);
  /// Something that happened once: "save", "nonfinite", "validation".
  virtual void event(const std::string& kind, const nlohmann::json& fields);
  virtual void bad_sample(const data::BadSample& bad);
  virtual void end(const EndReport& report);
  /// Tries once more to write the lines that could not be; false: some are lost.
  virtual bool flush();
};

/// All of several, in their order.
class SinkList final : public RunSink {
 public:
  void add(std::unique_ptr<RunSink> sink) { sinks_.push_back(std::move(sink)); }

  void cut(std::int64_t epochs, std::int64_t steps) override;
  void step(const IntervalReport& report) override;
  void epoch(const EpochReport& report) override;
  void event(const std::string& kind, const nlohmann::json& fields) override;
  void bad_sample(const data::BadSample& bad) override;
  void end(const EndReport& report) override;
  bool flush() override;

 private:
  std::vector<std::unique_ptr<RunSink>> sinks_;
};

/// The files of a run's folder: train.csv, steps.csv, events.jsonl, data-errors.csv, curves.svg, result.json
/// (docs/files.md). `validated`: the config has a validation set, so train.csv has its columns from the start. Throws
/// Error{kWrite} when a file that is there cannot be read.
std::unique_ptr<RunSink> make_run_sinks(const RunDirectory& directory, bool validated);

/// `sink` in the process that writes for all, a silent one in the others.
std::unique_ptr<RunSink> silent_unless_first(const World& world, std::unique_ptr<RunSink> sink);

}  // namespace dptrain::train
