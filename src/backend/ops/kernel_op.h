#pragma once

// KernelOp: base of ops that call kernels of DPTRAIN_BACKEND.
//
//   class NegateOp final : public KernelOp {
//    public:
//     NegateOp(const nn::NegateSpec&, const OpContext& context, Device& device)
//         : KernelOp(context, device), size_(context.output().elements()) {}
//     void forward(const OpArgs& a) override {
//       kernel::negate(launch(a), type_, a.in<Element>(), a.rows * size_, a.out<Element>());
//     }
//     ...
//   };
//   const RegisteredOp kNegate = op<nn::NegateSpec, NegateOp>(kKind);

#include <memory>
#include <vector>

#include "backend/ops/backend.h"

#if !DPTRAIN_IS_CPU
#include "backend/gpu/gpu_device.h"
#endif

namespace dptrain::backend::DPTRAIN_BACKEND {

#if DPTRAIN_IS_CPU
using BackendDevice = Device;
inline kernel::Launch launch_on(const BackendDevice&, const Stream*) { return {}; }
#else
using BackendDevice = GpuDevice;
inline kernel::Launch launch_on(const BackendDevice& device, const Stream* stream) { return device.launch(*stream); }
#endif

class KernelOp : public Op {
 protected:
  KernelOp(const OpContext& context, Device& device)
      : device_(static_cast<BackendDevice&>(device)), type_(context.plan.compute) {}

  /// The first argument of every kernel.
  kernel::Launch launch(const OpArgs& a) const { return launch_on(device_, a.stream); }

  BackendDevice& device_;
  DType type_;  ///< the activations' type, the second argument of kernels
};

/// A copy of the values in the device's memory, for ops that read constants of their plan or spec.
inline std::unique_ptr<Buffer> upload(const std::vector<float>& values, Device& device) {
  const std::size_t bytes = values.size() * sizeof(float);
  auto memory = device.allocate(bytes);
  const auto stream = device.make_stream();
  device.copy_to_device(memory->data(), values.data(), bytes, *stream);
  stream->synchronize();
  return memory;
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
