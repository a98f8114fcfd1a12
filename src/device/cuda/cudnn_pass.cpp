#include "device/cuda/cudnn_pass.h"

#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::device::cuda {

CudnnHandle::CudnnHandle() { check_cudnn(cudnn().create(&raw_), "cudnnCreate"); }

CudnnHandle::~CudnnHandle() { cudnn().destroy(raw_); }

cudnnHandle_t CudnnHandle::on(gpu::StreamHandle stream) {
  if (stream != stream_) check_cudnn(cudnn().set_stream(raw_, static_cast<cudaStream_t>(stream)), "cudnnSetStream");
  stream_ = stream;
  return raw_;
}

std::string CudnnPass::name() const {
  return fmt::format("{} ({}, {}{})", plan_->name.text(), plan_->rank, human_bytes(plan_->workspace),
                     plan_->runtime_compiled ? ", compiled at run time" : "");
}

void CudnnPass::run(CudnnHandle& handle, const ConvMemory& memory, gpu::StreamHandle stream) {
  if (!plan_->plan) throw Error(ErrorKind::kInternal, "a convolution planned without a device cannot run");
  if (!pack_ || memory != packed_for_) pack(memory);
  check_cudnn(cudnn().execute(handle.on(stream), plan_->plan.raw(), pack_.raw()),
              fmt::format("cudnnBackendExecute of {}", plan_->name.text()));
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

}  // namespace dptrain::device::cuda
