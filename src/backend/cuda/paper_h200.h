#pragma once

// An NVIDIA H200 on paper: what cuDNN asks of a device before it names engines for it, so that plans can be made, and
// memory counted, on machines without a GPU. Written by hand, not read from a device: the limits are those that the
// CUDA C++ Programming Guide gives for compute capability 9.0; multiprocessors, L2 cache and clocks are an H200's as
// published; the memory is rounded to 150 GB. A real device's own text is DeviceProperties::from_device(id).json().

#include <cstdint>
#include <string_view>

namespace dptrain::backend::cuda {

inline constexpr std::string_view kPaperH200 = R"json({
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

inline constexpr int kPaperH200Multiprocessors = 132;
inline constexpr std::uint64_t kPaperH200Memory = 150'000'000'000;

}  // namespace dptrain::backend::cuda
