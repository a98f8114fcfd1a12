#pragma once

// `dptrain bench --kernels` and `dptrain bench CONFIG --tune`: what runs kernels by themselves, apart from any
// training. Main thread.

#include <string>

#include "experiment/experiment.h"
#include "session/devices.h"

namespace dptrain::cli {

/// Prints the table of kernels, line by line. `experiment`: whose convolutions are timed; null: those of the bundled
/// bench configs. Throws Error{kUsage} for more than one CPU replica or GPUs.
void bench_kernels(const experiment::Experiment* experiment, const session::DeviceRequest& devices,
                   const std::string& filter);

/// Times the convolutions of the config's plan, prints what won, and keeps it in the cache file. Throws Error{kUsage}
/// for GPUs and for `runtime.conv_cache: none`, Error{kWrite}.
void tune_convolutions(const experiment::Experiment& experiment, const session::DeviceRequest& devices);

}  // namespace dptrain::cli
