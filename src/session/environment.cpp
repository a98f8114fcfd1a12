// Properties of this build, this machine and this process.

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "backend/gpu_facts.h"
#include "core/machine.h"
#include "core/text.h"
#include "dptrain_version.h"
#include "session/environment.h"

namespace dptrain::session {
namespace {

/// The value of the first line "key<blanks>: value" of a file in /proc, or "".
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key))
      if (const std::size_t colon = line.find(':'); colon != std::string::npos) return trim(line.substr(colon + 1));
  return "";
}

/// Environment variables that affect speed, as part of a result.
nlohmann::json relevant_variables() {
  nlohmann::json found = nlohmann::json::object();
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY", "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT",
        "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES",
        "CUDA_VISIBLE_DEVICES", "NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_GRAPH_REGISTER"})
    if (const char* value = std::getenv(name)) found[name] = value;
  return found;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

BuildInfo build_info() {
  BuildInfo info{std::string(kVersion), std::string(kGitCommit), std::string(kBuildType), {}};
  info.libraries = {{"onednn", std::string(kBuiltWithOneDnn)}, {"cuda", std::string(kBuiltWithCuda)}};
  if (!kSanitizers.empty()) info.libraries.emplace_back("sanitizers", kSanitizers);
  return info;
}

std::string BuildInfo::library(const std::string& name) const {
  for (const auto& [library, state] : libraries)
    if (library == name) return state;
  return "no";
}

std::vector<std::pair<std::string, std::string>> library_versions(const DeviceRequest& devices) {
  auto all = build_info().libraries;
  if (!devices.on_real_gpus()) return all;
  const backend::GpuLibraries found = backend::gpu_libraries();
  for (const auto& [name, version] :
       {std::pair{"driver", found.driver}, std::pair{"cudnn", found.cudnn}, std::pair{"nccl", found.nccl}})
    if (!version.empty()) all.emplace_back(name, version);
  return all;
}

nlohmann::json environment(const std::string& data_fingerprint, const DeviceRequest& devices,
                           const std::vector<std::string>& device_lines) {
  const BuildInfo build = build_info();
  utsname system{};
  uname(&system);
  nlohmann::json libraries = nlohmann::json::object();
  for (const auto& [name, version] : library_versions(devices)) libraries[name] = version;
  return {{"dptrain", build.version},
          {"git", build.commit},
          {"build", build.build_type},
          {"libraries", libraries},
          {"devices", device_lines},
          {"machine",
           {{"host", system.nodename},
            {"system", std::string(system.sysname) + " " + system.release},
            {"architecture", system.machine},
            {"cpu", proc_value("/proc/cpuinfo", "model name")},
            {"cores", std::thread::hardware_concurrency()},
            {"usable_cores", machine::cpus()},
            {"memory", proc_value("/proc/meminfo", "MemTotal")}}},
          {"environment", relevant_variables()},
          {"data_fingerprint", data_fingerprint},
          {"time", utc_now()}};
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total_pages = 0, resident_pages = 0;
  if (!(statm >> total_pages >> resident_pages)) return 0;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

}  // namespace dptrain::session
