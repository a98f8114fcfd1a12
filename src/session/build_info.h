#pragma once

// What this executable was built from, for `--version`, the first line of a run and env.json. Any thread.

#include <string>
#include <utility>
#include <vector>

#include "session/devices.h"

namespace dptrain::session {

struct BuildInfo {
  std::string version, commit, build_type;
  /// {"onednn", "3.7.0"}, {"cuda", "no (DPTRAIN_CUDA=OFF)"}, ...: what is built in, or why it is not.
  std::vector<std::pair<std::string, std::string>> libraries;

  std::string library(const std::string& name) const;  ///< "no" when it is not listed
};

BuildInfo build_info();

/// The same, and where a run is on GPUs the driver, cuDNN and NCCL that it found.
std::vector<std::pair<std::string, std::string>> library_versions(const DeviceRequest& devices);

}  // namespace dptrain::session
