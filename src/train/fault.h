#pragma once

// RUN/fault: written when values are not finite or an error ends a run, so that `dptrain replay` can repeat the step.
// fault.json describes it; state.h5 is a checkpoint from before the step or, after an error, the last one. Main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/replica.h"
#include "session/devices.h"
#include "session/session.h"

namespace dptrain::train {

struct Fault {
  std::string what{};                ///< "the loss of step 3 is nan", or the message of the error
  std::optional<ErrorKind> error{};  ///< none: values are not finite
  std::int64_t step = 0, epoch = 0;  ///< from 1; after an error, the first step that did not complete
  std::int64_t last_step = 0;        ///< last step queued on the devices when the error occurred
  double loss = 0;
  std::optional<runtime::NotFinite> first{};                    ///< none: the repeated step was finite
  std::string place{};                                          ///< location of its layer in the config:
                                                                ///< "net.yaml:14:12"
  std::vector<std::pair<std::int64_t, std::string>> samples{};  ///< of the batch: index, and file or item
  session::DeviceRequest devices{};
};

constexpr const char* kFaultFile = "fault.json";
constexpr const char* kFaultState = "state.h5";

/// Describes the first weight of the model that is not finite.
std::optional<Fault> examine(const graph::Model& model, const std::string& what);

/// Repeats the step that has just been skipped and examines each layer. Requires an empty queue; changes no weight.
Fault examine(session::Session& session, const data::Batch& batch, const runtime::StepInputs& in, std::int64_t epoch,
              double loss, const std::string& what);

/// Whether an error is worth a fault: errors of data, device and watchdog, and internal ones; not environment errors.
bool is_replayable(ErrorKind kind);

std::vector<std::pair<std::int64_t, std::string>> samples_of(const session::Session& session, const data::Batch& batch);

/// "layer 'conv2' (net.yaml:14:12), output: 3 of 64 values are not finite, first in sample 7 (a/7.jpg)"
std::string describe(const Fault& fault);

/// Writes <folder>/fault.json and creates the folder. Throws Error{kWrite}.
void write_fault(const std::string& folder, const Fault& fault);
/// Also copies a checkpoint as the fault's state.
void save_fault(const std::string& folder, const Fault& fault, const std::string& checkpoint);
/// Throws Error{kCheckpoint} if there is no fault or it cannot be read.
Fault read_fault(const std::string& folder);

// `dptrain replay` repeats the step of RUN/fault or, after an error, all steps from the state to the error.

struct Replay {
  Fault recorded, again;
  std::string devices;     ///< devices of the replay: "3x1"
  bool finite = false;     ///< whether the replay had neither error nor non-finite values
  bool same_bits = false;  ///< whether the loss is bit-identical
  /// Whether the same error occurred, or the same values of the same layer and row were the first non-finite ones.
  bool confirmed() const;
};

/// `devices` replace the run's. Throws Error{kCheckpoint} for a fault without a state, and the errors of a session.
Replay replay(const std::string& folder, const std::optional<session::DeviceRequest>& devices,
              const experiment::Overrides& overrides);

}  // namespace dptrain::train
