#pragma once

// Checks that a device computes the same as the CPU. Small networks on generated data cover every layer, activation,
// loss and optimizer, and convolutions of many shapes in every number format. They also cover recorded steps, batches
// made on the device, micro-batches, and sums over replicas. For `dptrain devices --check`. Main thread.

#include <functional>
#include <string>
#include <vector>

#include "session/devices.h"

namespace dptrain::bench {

/// Cases that are checked together and printed as one line. If they disagree, each is checked alone to find the cause.
struct DeviceCheck {
  std::vector<std::string> names;
  /// The config of a network with all cases, or with only the one at this index.
  std::function<std::string(int only)> config;
  enum class Kind {
    kSteps,     ///< against the CPU: steps from equal weights (loss, gradients, weights), and an evaluation
    kTraining,  ///< against the CPU: weights after independent steps, for optimizers
    kRecorded,  ///< recorded steps against the same steps without a recording: equal bits
    kInput,     ///< weights after steps, with batches made on the device against batches made on the host
  } kind = Kind::kSteps;
  double layers = 1e-4, loss = 1e-4;  ///< allowed differences, as in Tolerance
  bool tf32 = false;                  ///< products may be rounded to TF32
};

std::vector<DeviceCheck> device_checks();

struct DeviceCheckLine {
  std::string device;  ///< "gpu:0", "gpu:0, gpu:1"
  std::string name;    ///< "Conv2D"
  bool passed = false;
  std::string found;   ///< "within 3.1e-07 of the CPU", "the gradient of layer x2 differs by 0.25 (allowed 1e-4)",
                       ///< or the message of an error
  double seconds = 0;  ///< time of all networks of the check
};

/// Checks each device alone, then all together (a single one with two replicas). Returns whether all checks passed.
bool check_devices(const session::DeviceRequest& devices, const std::vector<DeviceCheck>& checks,
                   const std::function<void(const DeviceCheckLine&)>& on_line);

}  // namespace dptrain::bench
