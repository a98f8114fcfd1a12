// Replaces backend/cuda/ in a build without CUDA.

#include "backend/device.h"
#include "backend/gpu_facts.h"
#include "core/error.h"
#include "core/format.h"
#include "dptrain_version.h"

namespace dptrain::backend {

std::vector<DeviceInfo> list_cuda() { return {}; }

std::unique_ptr<Device> make_cuda_device(int, const RuntimeOptions&) {
  throw Error(ErrorKind::kDevice,
              fmt::format("this dptrain has no GPU backend (cuda: {}); use --cpus N, or --gpus none", kBuiltWithCuda));
}

std::unique_ptr<Device> make_plan_only_gpu(const std::string&, const RuntimeOptions& options) {
  return make_cuda_device(0, options);
}

GpuLibraries gpu_libraries() { return {}; }
int built_in_cuda() { return 0; }
std::vector<GpuFacts> gpu_facts() { return {}; }
std::string why_no_gpu() { return fmt::format("no GPU backend in this build (cuda: {})", kBuiltWithCuda); }
bool gpus_are_peers(int, int) { return false; }

}  // namespace dptrain::backend
