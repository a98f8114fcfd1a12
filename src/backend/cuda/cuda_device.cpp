// The CUDA devices of device.h: those of this machine and plan-only ones.

#include "backend/cuda/cuda_runtime.h"
#include "backend/cuda/cudnn_convolution.h"
#include "backend/cuda/plan_only_gpus.h"
#include "backend/cuda/plan_only_runtime.h"
#include "backend/gpu/make_device.h"
#include "backend/gpu_facts.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::backend {
namespace {

gpu::ConvOptions conv_options(const RuntimeOptions& options) {
  return {.tf32 = options.tf32,
          .deterministic = options.deterministic,
          .workspace_limit = options.workspace_limit,
          .autotune = options.autotune};
}

}  // namespace

std::vector<DeviceInfo> list_cuda() {
  std::vector<DeviceInfo> all;
  for (const GpuFacts& facts : gpu_facts()) {
    DeviceInfo& info = all.emplace_back();
    info.id = fmt::format("gpu:{}", facts.id);
    info.name = facts.name;
    info.memory_bytes = facts.memory_bytes;
    info.details = fmt::format("{}, compute capability {}, {}", facts.bus_id, facts.compute_capability,
                               human_bytes(facts.memory_bytes));
    if (facts.has_used_bytes) info.details += fmt::format(", {} in use", human_bytes(facts.used_bytes));
  }
  return all;
}

std::unique_ptr<Device> make_cuda_device(int id, const RuntimeOptions& options) {
  auto runtime = cuda::make_cuda_runtime(id);
  auto convolutions = cuda::make_cudnn_convolutions(runtime, id, conv_options(options));
  return cuda::make_gpu_device(std::move(runtime), std::move(convolutions), options);
}

std::unique_ptr<Device> make_plan_only_gpu(const std::string& model, const RuntimeOptions& options) {
  for (const cuda::GpuModel* gpu : {&cuda::kH100, &cuda::kH200})
    if (gpu->name == model)
      return cuda::make_gpu_device(cuda::make_plan_only_runtime(*gpu),
                                   cuda::plan_cudnn_convolutions(cuda::properties_of(*gpu), conv_options(options)),
                                   options);
  throw Error(ErrorKind::kDevice, fmt::format("unknown GPU on paper '{}'; expected h100 or h200", model));
}

}  // namespace dptrain::backend
