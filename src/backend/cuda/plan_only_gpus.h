#pragma once

// Device properties from which cuDNN lists engines, to plan without the GPU. The text of an H100 (SXM5, 80 GB) is what
// DeviceProperties::json() returned on one. That of an H200 is written by hand from the limits of compute
// capability 9.0 (CUDA C++ Programming Guide) and published figures, with memory rounded to 150 GB.

#include <cstdint>
#include <string_view>

namespace dptrain::backend::cuda {

inline constexpr std::string_view kH100Properties = R"json({
  "deviceName": "NVIDIA H100 80GB HBM3",
  "cudaDeviceId": 0,
  "pciDeviceId": 6,
  "deviceVer": 900,
  "driverVer": 13000,
  "multiProcessorCount": 132,
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
  "totalGlobalMem": 85017493504,
  "l2CacheSize": 52428800,
  "smClockRateKHz": 1980000,
  "memClockRateKHz": 2619000
})json";

inline constexpr std::string_view kH200Properties = R"json({
  "deviceName": "NVIDIA H200",
  "cudaDeviceId": 0,
  "pciDeviceId": 0,
  "deviceVer": 900,
  "driverVer": 13000,
  "multiProcessorCount": 132,
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
  "totalGlobalMem": 150000000000,
  "l2CacheSize": 62914560,
  "smClockRateKHz": 1980000,
  "memClockRateKHz": 3201000
})json";

struct GpuModel {
  std::string_view name, description;
  int multiprocessors;
  std::uint64_t memory_bytes;
  std::string_view properties;
};
inline constexpr GpuModel kGpuModels[] = {
    {"h100", "NVIDIA H100, on paper", 132, 85'017'493'504, kH100Properties},
    {"h200", "NVIDIA H200, on paper", 132, 150'000'000'000, kH200Properties},
};

}  // namespace dptrain::backend::cuda
