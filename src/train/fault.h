#pragma once

// RUN/fault: what a run leaves behind that met values that are not finite, or that an error ended, so that `dptrain
// replay` can do the step again: fault.json says what happened and where, state.h5 is a checkpoint: of the state before
// the step, or, after an error, the last one there is. Main thread.

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
  std::string what{};                ///< "the loss of step 3 is nan", or the words of the error
  std::optional<ErrorKind> error{};  ///< none: values that are not finite
  std::int64_t step = 0, epoch = 0;  ///< both counted from 1; after an error the first step that had not ended
  std::int64_t last_step = 0;        ///< that the devices had been given when the error came
  double loss = 0;
  std::optional<runtime::NotFinite> first{};                    ///< none: the step done again was finite
  std::string place{};                                          ///< of its layer in the config: "net.yaml:14:12"
  std::vector<std::pair<std::int64_t, std::string>> samples{};  ///< of the batch: index, and the file or item it is
  session::DeviceRequest devices{};
};

constexpr const char* kFaultFile = "fault.json";
constexpr const char* kFaultState = "state.h5";

/// The first of the model's weights that is not finite.
std::optional<Fault> examine(const graph::Model& model, const std::string& what);

/// The step that has just been left out, done again with a look at every layer. With nothing queued; changes no weight.
Fault examine(session::Session& session, const data::Batch& batch, const runtime::StepInputs& in, std::int64_t epoch,
              double loss, const std::string& what);

/// What is worth a fault of its own: data, device, watchdog and dptrain's own faults. Others tell of the world around
/// the run.
bool leaves_fault(ErrorKind kind);

/// A batch's samples, as Fault::samples.
std::vector<std::pair<std::int64_t, std::string>> samples_of(const session::Session& session, const data::Batch& batch);

/// "layer 'conv2' (net.yaml:14:12), output: 3 of 64 values are not finite, first in sample 7 (a/7.jpg)"
std::string describe(const Fault& fault);

/// <folder>/fault.json, made with its folder. Throws Error{kWrite}.
void write_fault(const std::string& folder, const Fault& fault);
/// The same, with a copy of a checkpoint as its state.
void keep_fault(const std::string& folder, const Fault& fault, const std::string& checkpoint);
/// Throws Error{kCheckpoint} where there is none, or one that cannot be read.
Fault read_fault(const std::string& folder);

// `dptrain replay`: the step of RUN/fault once more, from its state and its samples; after an error the steps from its
// state to the error.

struct Replay {
  Fault recorded, again;
  std::string devices;     ///< that it ran on: "3x1"
  bool finite = false;     ///< nothing is wrong any more
  bool same_bits = false;  ///< of the loss
  /// Not finite, and first in the same values of the same layer and row; or the same error.
  bool confirmed() const;
};

/// `devices`: instead of the run's. Throws Error{kCheckpoint} for a fault without a state, and what a session throws.
Replay replay(const std::string& folder, const std::optional<session::DeviceRequest>& devices,
              const experiment::Overrides& overrides);

}  // namespace dptrain::train
