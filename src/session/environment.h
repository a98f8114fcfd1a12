#pragma once

// What belongs to a measurement besides its numbers: this build, this machine and this process. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "session/devices.h"

namespace dptrain::session {

/// Versions, machine, devices, git hash of the build, data fingerprint: for env.json and bench.json.
nlohmann::json environment(const std::string& data_fingerprint, const DeviceRequest& devices = {},
                           const std::vector<std::string>& device_lines = {});
/// Resident set size of this process now, and its peak, in bytes.
std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();

}  // namespace dptrain::session
