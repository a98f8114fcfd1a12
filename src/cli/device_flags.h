#pragma once

// `--cpus`, `--gpus` and `--num-gpus`: where to run. Main thread.

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
  std::string text() const;  ///< as given on the command line, each with a space before it; "": none was given
  /// Throws Error{kUsage} for what cannot be read, Error{kDevice} for GPUs that are not there. Without a flag: GPU 0 if
  /// there is one, else the CPU.
  session::DeviceRequest request() const;
  /// The same for commands that run nothing: a GPU on paper may be named.
  session::DeviceRequest plan_request() const;
  /// The first so many of `--gpus`, without it of all: `--sweep gpus=1,2`.
  session::DeviceRequest first_gpus(std::int64_t count) const;

 private:
  session::DeviceRequest devices() const;
};

/// "2", "4x1": replicas and threads of each; "1+1", "2x1+2": threads of each slot. Throws Error{kUsage}.
session::DeviceRequest parse_cpus(const std::string& text);
/// "0,1", "0-3", "0+1,2+3", "all", "none", "emu:0,emu:1", "h200". Throws Error{kUsage, kDevice}; `flag` stands in
/// messages.
session::DeviceRequest parse_gpus(const std::string& text, const std::string& flag = "--gpus");
/// "a=0,b=1" as DeviceRequest::places. Throws Error{kUsage}.
std::vector<std::pair<std::string, int>> parse_slots(const std::string& text);
/// "cpu", or one GPU as "gpu:0" or "emu:0": what `verify --against` takes.
session::DeviceRequest parse_device(const std::string& text, const std::string& flag);
/// "2:1" as the config writes it, "[2, 1]"; "even" stays. Throws Error{kUsage}.
std::string parse_split(const std::string& text);

}  // namespace dptrain::cli
