#pragma once

// Device properties from which cuDNN lists engines, to plan without the GPU. An H100 (SXM5, 80 GB) returned the H100
// properties from DeviceProperties::json(). The H200 properties are written by hand: limits of compute capability 9.0
// (CUDA C++ Programming Guide) and published figures. Its memory is rounded to 150 GB. cuDNN 9.28 requires the memory
// bus, which older versions ignore and the H100 did not return.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/format.h"

namespace dptrain::backend::cuda {

/// A GPU of compute capability 9.0.
struct GpuModel {
  std::string_view name, description;  ///< "h200", "NVIDIA H200, on paper"
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::string_view device_name{};
  int pci_device = 0;
  std::uint64_t l2_cache_bytes = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
};
inline constexpr GpuModel kH100{
    "h100", "NVIDIA H100, on paper", 132, 85'017'493'504, "NVIDIA H100 80GB HBM3", 6, 52'428'800, 2'619'000, 5120};
inline constexpr GpuModel kH200{
    "h200", "NVIDIA H200, on paper", 132, 150'000'000'000, "NVIDIA H200", 0, 62'914'560, 3'201'000, 6144};

/// The input of DeviceProperties::from_json.
inline std::string properties_of(const GpuModel& gpu) {
  return fmt::format(R"json({{
  "deviceName": "{}",
  "cudaDeviceId": 0,
  "pciDeviceId": {},
  "deviceVer": 900,
  "driverVer": 13000,
  "multiProcessorCount": {},
  "warpSize": 32,
  "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64],
  "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048,
  "maxCtasPerSM": 32,
  "regsPerBlock": 65536,
  "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024,
  "isTccDriver": 0,
  "supportCoopLaunch": 1,
  "totalGlobalMem": {},
  "l2CacheSize": {},
  "smClockRateKHz": 1980000,
  "memClockRateKHz": {},
  "memoryBusWidth": {}
}})json",
                     gpu.device_name, gpu.pci_device, gpu.multiprocessors, gpu.memory_bytes, gpu.l2_cache_bytes,
                     gpu.memory_clock_khz, gpu.memory_bus_bits);
}

}  // namespace dptrain::backend::cuda
