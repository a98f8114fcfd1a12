#pragma once

// `--cpus`, `--gpus` and `--num-gpus`: where to run. Main thread.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/app.h"
#include "train/session.h"

namespace dptrain::cli {

struct DeviceFlags {
  std::optional<std::string> cpus, gpus;
  std::optional<std::int64_t> num_gpus;

  void add(Command& command);
  /// Throws Error{kUsage} for what cannot be read, Error{kDevice} for GPUs that are not there.
  train::DeviceRequest request() const;
};

/// "2", "4x1": replicas and threads of each. Throws Error{kUsage}.
train::DeviceRequest parse_cpus(const std::string& text);
/// "2:1" as the config writes it, "[2, 1]"; "even" stays. Throws Error{kUsage}.
std::string parse_split(const std::string& text);

}  // namespace dptrain::cli
