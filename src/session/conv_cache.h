#pragma once

// The file that keeps what `bench --tune` has found, for later runs on machines like this one: a JSON object of
// machines (processor, instruction set, versions of dptrain and oneDNN), each with the name of the fastest way by the
// pass's key (backend/conv_choices.h). Read once for a run, before its devices are made. Main thread.

#include <map>
#include <memory>
#include <string>

#include "backend/conv_choices.h"
#include "experiment/experiment.h"
#include "experiment/sections.h"
#include "session/devices.h"

namespace dptrain::session {

/// `runtime.conv_cache`; auto: $XDG_CACHE_HOME/dptrain/conv.json, else $HOME/.cache/dptrain/conv.json. "" with none,
/// and where neither variable says where.
std::string conv_cache_file(const experiment::RuntimeSection& runtime);

/// What the file holds for this machine. A damaged file is warned of, and then convolutions go by rule. Null for GPUs.
std::shared_ptr<backend::ConvChoices> open_conv_choices(const experiment::RuntimeSection& runtime,
                                                        const DeviceRequest& devices);

/// Adds choices for this machine to the file, which becomes the new one or stays the old one. A damaged file is
/// replaced. Throws Error{kWrite}.
void keep_conv_choices(const std::string& file, const backend::ConvChoices::Names& names);

/// "17 convolution passes: 5 tuned (FILE), 12 by rule"; "" where there is none.
std::string conv_choices_line(const backend::ConvChoices& choices, const experiment::RuntimeSection& runtime);

/// The names of what was taken, by key without the threads: what a checkpoint keeps.
backend::ConvChoices::Names conv_names(const backend::ConvChoices& choices);
/// One sentence where passes that both sides have are computed otherwise; "" where all are the same.
std::string conv_difference(const backend::ConvChoices::Names& before, const backend::ConvChoices::Names& now);

/// Notes every convolution pass of the experiment's plan on these devices, with the rows of the largest replica.
void collect_convolutions(const experiment::Experiment& experiment, const DeviceRequest& devices,
                          const std::shared_ptr<backend::ConvChoices>& account);
/// The same of all configs/bench/.
void collect_shipped_convolutions(const DeviceRequest& devices, const std::shared_ptr<backend::ConvChoices>& account);

}  // namespace dptrain::session
