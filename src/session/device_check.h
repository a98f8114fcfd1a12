#pragma once

// The check of a device: does everything that it computes agree with the CPU? Small networks from generated data that
// have every layer, activation, loss and optimizer, convolutions of many shapes in every number format, recorded steps,
// batches made on the device, micro-batches, and sums over replicas. For `dptrain devices --check`. Main thread.

#include <functional>
#include <string>
#include <vector>

#include "session/devices.h"

namespace dptrain::session {

/// Networks that are tried together, one line for each; where they do not agree, each alone, to find the one.
struct DeviceCheck {
  std::vector<std::string> names;
  /// The config of a network with all of them, or with the one at this index.
  std::function<std::string(int only)> config;
  enum class Kind {
    kSteps,     ///< loss, gradients and weights of steps from equal weights, and an evaluation, against the CPU
    kTraining,  ///< weights after steps on their own, for optimizers
    kRecorded,  ///< recorded steps against the same piece by piece: equal bits
    kInput,     ///< weights after steps on batches made on the device, against batches of the host
  } kind = Kind::kSteps;
  double layers = 1e-4, loss = 1e-4;  ///< what may differ, as in Tolerance
  bool tf32 = false;                  ///< products may be rounded to TF32
};

/// Of one device, all of them.
std::vector<DeviceCheck> device_checks();

/// The result of one check.
struct DeviceCheckLine {
  std::string device;  ///< "gpu:0", "gpu:0, gpu:1"
  std::string name;    ///< "Conv2D"
  bool passed = false;
  std::string found;   ///< "within 3.1e-07 of the CPU", "the gradient of layer x2 differs by 0.25 (allowed 1e-4)", an
                       ///< error's words
  double seconds = 0;  ///< of the networks that it was tried with
};

/// Each device of the request by itself, then all of them together; where there is only one, two replicas on it. Calls
/// `told` as lines come. True: all passed.
bool check_devices(const DeviceRequest& devices, const std::vector<DeviceCheck>& checks,
                   const std::function<void(const DeviceCheckLine&)>& told);

}  // namespace dptrain::session
