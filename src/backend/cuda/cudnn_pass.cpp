#include "backend/cuda/cudnn_pass.h"

#include <algorithm>
#include <array>
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
  const std::array<TensorAddress, 4> all{
      {{kX, memory.x}, {kFilter, memory.filter}, {kY, memory.y}, {kBias, memory.bias}}};
  run(handle, std::span(all).first(fused().bias ? 4 : 3), memory.workspace, stream);
}

void CudnnPass::run(CudnnHandle& handle, std::span<const TensorAddress> tensors, void* workspace,
                    gpu::StreamHandle stream) {
  if (!plan_->plan) throw Error(ErrorKind::kInternal, "a pass planned without a device cannot run");
  if (!pack_ || workspace != packed_workspace_ || !std::ranges::equal(tensors, packed_tensors_))
    pack(tensors, workspace);
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

void CudnnPass::pack(std::span<const TensorAddress> tensors, void* workspace) {
  std::vector<std::int64_t> numbers;
  std::vector<const void*> pointers;
  for (const TensorAddress& tensor : tensors) {
    numbers.push_back(tensor.tensor);
    pointers.push_back(tensor.address);
  }
  pack_ = CudnnDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack_.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(numbers))
      .set_pointers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
      .set_pointers(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::array<const void*, 1>{workspace})
      .finalize();
  packed_tensors_.assign(tensors.begin(), tensors.end());
  packed_workspace_ = workspace;
}

}  // namespace dptrain::backend::cuda
