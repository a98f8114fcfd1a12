#pragma once

// The file with the results of `bench --tune`, for later runs on equal machines. It is a JSON object: for each machine
// (processor, instruction set, versions of dptrain and oneDNN) the name of the fastest algorithm by the key of the
// convolution pass (backend/conv_choices.h). Read once per run, before the devices are made. Main thread.

#include <memory>
#include <string>

#include "backend/conv_choices.h"
#include "experiment/experiment.h"
#include "experiment/sections.h"
#include "session/devices.h"

namespace dptrain::session {

/// `runtime.conv_cache`; auto: $XDG_CACHE_HOME/dptrain/conv.json, else $HOME/.cache/dptrain/conv.json. "" with none,
/// and with auto if neither variable is set.
std::string conv_cache_file(const experiment::RuntimeSection& runtime);

/// Reads the choices for this machine. A damaged file causes a warning, and rules then choose the algorithms. Null for
/// GPUs.
std::shared_ptr<backend::ConvChoices> open_conv_choices(const experiment::RuntimeSection& runtime,
                                                        const DeviceRequest& devices);

/// Adds choices for this machine to the file, atomically. Replaces a damaged file. Throws Error{kWrite}.
void save_conv_choices(const std::string& file, const backend::ConvChoices::Names& names);

/// "17 convolution passes: 5 tuned (FILE), 12 by rule"; "" if there are none.
std::string conv_choices_line(const backend::ConvChoices& choices, const experiment::RuntimeSection& runtime);

/// Names of the algorithms in use, by key without the threads. Stored in checkpoints.
backend::ConvChoices::Names conv_names(const backend::ConvChoices& choices);
/// One sentence if passes in both maps use different algorithms; "" otherwise.
std::string conv_difference(const backend::ConvChoices::Names& before, const backend::ConvChoices::Names& now);

/// Adds every convolution pass of the experiment's plan on these devices to `account`, with the rows of the largest
/// replica.
void collect_convolutions(const experiment::Experiment& experiment, const DeviceRequest& devices,
                          const std::shared_ptr<backend::ConvChoices>& account);
/// As collect_convolutions(), for all configs in configs/bench/.
void collect_shipped_convolutions(const DeviceRequest& devices, const std::shared_ptr<backend::ConvChoices>& account);

}  // namespace dptrain::session
