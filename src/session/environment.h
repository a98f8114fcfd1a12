#pragma once

// Context of a measurement: this build, this machine and this process. Any thread.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "session/devices.h"

namespace dptrain::session {

// Components of this executable, for `--version`, the first line of a run and env.json.

struct BuildInfo {
  std::string version, commit, build_type;
  /// {"onednn", "3.7.0"}, {"cuda", "no (DPTRAIN_CUDA=OFF)"}, ...: the version, or why it is not built in.
  std::vector<std::pair<std::string, std::string>> libraries;

  std::string library(const std::string& name) const;  ///< "no" if it is not listed
};

BuildInfo build_info();

/// Libraries of the build; for runs on GPUs also the versions found of the driver, cuDNN and NCCL.
std::vector<std::pair<std::string, std::string>> library_versions(const DeviceRequest& devices);

/// Versions, machine, devices, git hash of the build, data fingerprint: for env.json and bench.json.
nlohmann::json environment(const std::string& data_fingerprint, const DeviceRequest& devices = {},
                           const std::vector<std::string>& device_lines = {});
/// Resident set size of this process now, and its peak, in bytes.
std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();

}  // namespace dptrain::session
