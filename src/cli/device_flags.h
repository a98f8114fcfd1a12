#pragma once

// `--cpus`, `--gpus` and `--num-gpus`: the devices to use. Main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/app.h"
#include "session/devices.h"

namespace dptrain::cli {

struct DeviceFlags {
  std::optional<std::string> cpus, gpus, slots;
  std::optional<std::int64_t> num_gpus;

  void add(Command& command);
  bool given() const { return cpus || gpus || num_gpus; }
  std::string text() const;  ///< as on the command line, each after a space; "": none was given
  /// Throws Error{kUsage} for invalid values, Error{kDevice} for missing GPUs. Default: GPU 0 if present, else the CPU.
  session::DeviceRequest request() const;
  /// For commands that run nothing: like request(), but also accepts a plan-only GPU ("h200").
  session::DeviceRequest plan_request() const;
  /// The first `count` GPUs of `--gpus` (default: of all), for `--sweep gpus=1,2`.
  session::DeviceRequest first_gpus(std::int64_t count) const;

 private:
  session::DeviceRequest devices() const;
};

/// "2", "4x1": replicas and threads of each; "1+1", "2x1+2": threads of each slot. Throws Error{kUsage}.
session::DeviceRequest parse_cpus(const std::string& text);
/// "0,1", "0-3", "0+1,2+3", "all", "none", "emu:0,emu:1", "h200". Throws Error{kUsage, kDevice} that names `flag`.
session::DeviceRequest parse_gpus(const std::string& text, const std::string& flag = "--gpus");
/// "a=0,b=1" as DeviceRequest::places. Throws Error{kUsage}.
std::vector<std::pair<std::string, int>> parse_slots(const std::string& text);
/// "cpu", or one GPU as "gpu:0" or "emu:0", for `verify --against`.
session::DeviceRequest parse_device(const std::string& text, const std::string& flag);
/// "2:1" in the form of the config, "[2, 1]"; "even" and "auto" are unchanged. Throws Error{kUsage}.
std::string parse_split(const std::string& text);

}  // namespace dptrain::cli
