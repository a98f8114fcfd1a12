#pragma once

// Facts about a machine's GPUs, found without using one. They are for `dptrain devices`, for choosing idle GPUs and for
// the records of a run. Implemented in backend/cuda/gpu_facts.cpp, or in cuda_stub.cpp if no backend is built in. Any
// thread. No function here creates a context on a GPU.

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain::backend {

/// The release of CUDA built in, 13000; 0 where there is no backend.
int built_in_cuda();

/// Versions; "" where a library does not open.
struct GpuLibraries {
  std::string driver;  ///< the newest CUDA version that it runs, "13.0"
  std::string cuda;    ///< the toolkit built in, "13.0"
  std::string cudnn, nccl;
  std::vector<std::string> missing{};  ///< one sentence for each that does not open
};
GpuLibraries gpu_libraries();

struct GpuFacts {
  int id = 0;
  std::string name, bus_id;        ///< "NVIDIA H200", "0000:1b:00.0"
  std::string compute_capability;  ///< "9.0"
  std::uint64_t memory_bytes = 0;
  std::uint64_t used_bytes = 0;  ///< by all processes; needs the driver's management library
  bool has_used_bytes = false;
};
/// In PCI order; none where there is no backend, no driver or no GPU.
std::vector<GpuFacts> gpu_facts();
/// Why gpu_facts() is empty, in one sentence; "" where it is not.
std::string why_no_gpu();
/// Whether `from` can read the memory of `to` directly.
bool gpus_are_peers(int from, int to);

}  // namespace dptrain::backend
