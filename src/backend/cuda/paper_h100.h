#pragma once

// An NVIDIA H100 (SXM5, 80 GB) on paper, as paper_h200.h: what DeviceProperties::from_device(id).json() gave on one.

#include <cstdint>
#include <string_view>

namespace dptrain::backend::cuda {

inline constexpr std::string_view kPaperH100 = R"json({
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

inline constexpr int kPaperH100Multiprocessors = 132;
inline constexpr std::uint64_t kPaperH100Memory = 85'017'493'504;

}  // namespace dptrain::backend::cuda
