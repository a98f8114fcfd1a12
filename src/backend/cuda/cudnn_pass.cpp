#include "backend/cuda/cudnn_pass.h"

#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::backend::cuda {

CudnnHandle::CudnnHandle() { check_cudnn(cudnn().create(&raw_), "cudnnCreate"); }

CudnnHandle::~CudnnHandle() { cudnn().destroy(raw_); }

cudnnHandle_t CudnnHandle::on(gpu::StreamHandle stream) {
  if (stream != stream_) check_cudnn(cudnn().set_stream(raw_, static_cast<cudaStream_t>(stream)), "cudnnSetStream");
  stream_ = stream;
  return raw_;
}

std::string CudnnPass::name() const {
  return fmt::format("{} ({}, {}{})", plan_->name.text(), plan_->rank, human_bytes(plan_->workspace),
                     plan_->runtime_compiled ? ", compiled at run time" : "") +
         (remade_ ? " made with a handle" : "");
}

void CudnnPass::run(CudnnHandle& handle, const ConvMemory& memory, gpu::StreamHandle stream) {
  if (!plan_->plan) throw Error(ErrorKind::kInternal, "a convolution planned without a device cannot run");
  if (!pack_ || memory != packed_for_) pack(memory);
  const cudnnHandle_t raw = handle.on(stream);
  const auto execute = [&] { return cudnn().execute(raw, (remade_ ? remade_ : plan_->plan).raw(), pack_.raw()); };
  check_cudnn(executed_ ? execute() : first_execution(execute, [&] { remake(raw); }),
              fmt::format("cudnnBackendExecute of {}", plan_->name.text()));
  executed_ = true;
}

void CudnnPass::remake(cudnnHandle_t handle) {
  CudnnDescriptor made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (plan_->taken.empty())
    made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, plan_->config);
  else
    made.set_all(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, std::span<const char>(plan_->taken));
  made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle).finalize();
  const std::int64_t workspace = made.get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  if (workspace > static_cast<std::int64_t>(plan_->workspace))
    throw Error(ErrorKind::kDevice,
                fmt::format("cuDNN's {} needs a workspace of {} bytes with a handle, but {} without",
                            plan_->name.text(), workspace, plan_->workspace));
  remade_ = std::move(made);
}

void CudnnPass::pack(const ConvMemory& memory) {
  std::vector<std::int64_t> tensors{kX, kFilter, kY};
  std::vector<const void*> pointers{memory.x, memory.filter, memory.y};
  if (fused().bias) {
    tensors.push_back(kBias);
    pointers.push_back(memory.bias);
  }
  pack_ = CudnnDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack_.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(tensors))
      .set_pointers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
      .set_pointers(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::array<const void*, 1>{memory.workspace})
      .finalize();
  packed_for_ = memory;
}

}  // namespace dptrain::backend::cuda
