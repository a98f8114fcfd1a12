// Facts about GPUs from the CUDA runtime. Memory in use is from the driver's management library (NVML), which needs no
// context on the GPU. NVML's types are declared here because some toolkits lack its header.

#include "backend/gpu_facts.h"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdlib>
#include <optional>

#include "backend/cuda/cuda_error.h"
#include "backend/cuda/cudnn_api.h"
#include "backend/cuda_versions.h"
#include "core/dynamic_library.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend {
namespace {

int gpu_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());  // clears the error, which the next call would report otherwise
  return 0;
}

std::string nccl_version() {
  const DynamicLibrary library({"NCCL", {"libnccl.so.2"}, nccl_package(CUDART_VERSION)});
  auto* const get = library.function<int (*)(int*)>("ncclGetVersion");
  int version = 0;
  if (get(&version) != 0) return "";
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);  // 22809: 2.28.9
}

/// The part of NVML that reports memory in use.
class ManagementLibrary {
 public:
  /// Null if it cannot be opened.
  static const ManagementLibrary* get() {
    static const std::optional<ManagementLibrary> library = open();
    return library ? &*library : nullptr;
  }

  std::optional<std::uint64_t> used(const std::string& bus_id) const {
    void* device = nullptr;
    MemoryInfo memory;
    memory.version = static_cast<unsigned>(sizeof(MemoryInfo)) | 2U << 24;
    if (by_bus_id_(bus_id.c_str(), &device) != 0 || memory_info_(device, &memory) != 0) return std::nullopt;
    return memory.used;
  }

 private:
  struct MemoryInfo {  // nvmlMemory_v2_t
    unsigned version = 0;
    unsigned long long total = 0, reserved = 0, free = 0, used = 0;
  };

  static std::optional<ManagementLibrary> open() try {
    const DynamicLibrary library({"NVML", {"libnvidia-ml.so.1"}, "the NVIDIA driver"});
    ManagementLibrary made;
    made.by_bus_id_ = library.function<int (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    made.memory_info_ = library.function<int (*)(void*, MemoryInfo*)>("nvmlDeviceGetMemoryInfo_v2");
    return library.function<int (*)()>("nvmlInit_v2")() == 0 ? std::optional(made) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }

  int (*by_bus_id_)(const char*, void**) = nullptr;
  int (*memory_info_)(void*, MemoryInfo*) = nullptr;
};

}  // namespace

int built_in_cuda() { return CUDART_VERSION; }

GpuLibraries gpu_libraries() {
  GpuLibraries all{.driver = cuda_version_text(cuda::driver_version()),
                   .cuda = cuda_version_text(CUDART_VERSION),
                   .cudnn = "",
                   .nccl = ""};
  try {
    all.cudnn = cuda::cudnn().version();
  } catch (const Error& error) {
    all.missing.emplace_back(error.what());
  }
  try {
    all.nccl = nccl_version();
  } catch (const Error& error) {
    all.missing.emplace_back(error.what());
  }
  return all;
}

std::vector<GpuFacts> gpu_facts() {
  std::vector<GpuFacts> all;
  for (int id = 0; id < gpu_count(); ++id) {
    cudaDeviceProp properties{};
    std::array<char, 32> bus_id{};
    if (cudaGetDeviceProperties(&properties, id) != cudaSuccess ||
        cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), id) != cudaSuccess)
      throw Error(ErrorKind::kDevice, fmt::format("gpu:{}: {}", id, cudaGetErrorString(cudaGetLastError())));
    GpuFacts facts{.id = id,
                   .name = properties.name,
                   .bus_id = bus_id.data(),
                   .compute_capability = fmt::format("{}.{}", properties.major, properties.minor),
                   .memory_bytes = properties.totalGlobalMem};
    if (const ManagementLibrary* library = ManagementLibrary::get())
      if (const auto used = library->used(facts.bus_id)) {
        facts.used_bytes = *used;
        facts.has_used_bytes = true;
      }
    all.push_back(facts);
  }
  return all;
}

std::string why_no_gpu() {
  if (std::string why = why_no_driver(cuda::driver_version(), CUDART_VERSION); !why.empty()) return why;
  if (gpu_count() > 0) return "";
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "the NVIDIA driver reports no GPU"
                            : fmt::format("the NVIDIA driver reports no GPU (CUDA_VISIBLE_DEVICES='{}')", visible);
}

bool gpus_are_peers(int from, int to) {
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, from, to) == cudaSuccess) return can != 0;
  static_cast<void>(cudaGetLastError());
  return false;
}

}  // namespace dptrain::backend
