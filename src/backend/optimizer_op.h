#pragma once

// OptimizerOp: the arithmetic in which optimizers differ, for one replica. Update (backend/update.h) has the parts that
// all optimizers share: regularizer gradients, clipping, statistics, averages and the check for non-finite gradients.
// It makes the op of its optimizer and calls it from the replica's thread. The ops are in backend/ops/optimizers.cpp
// (Lamb: cpu/lamb.cpp, gpu/lamb.cpp) and register themselves before main.

#include <cstdint>
#include <functional>
#include <memory>
#include <typeindex>

#include "backend/device.h"
#include "backend/update.h"

namespace dptrain::backend {

/// One update. Pointers are device memory; the op writes weights and slots of [0, n), the compute copy where there is
/// one, and may use the gradients as workspace: they are not read afterwards.
struct OptimizerArgs {
  const UpdateBuffers& buffers;
  std::int64_t n = 0;                         ///< floats: the trainable part of the arena
  UpdateArgs update{};                        ///< CPUs: of this step; skipped steps do not count
  const kernels::StepState* state = nullptr;  ///< GPUs: the same in device memory, with the results of describe()
  Stream& stream;
};

class OptimizerOp {
 public:
  virtual ~OptimizerOp() = default;
  /// GPUs: writes state.hyper, which the kernels read. On the host, before the step is uploaded.
  virtual void describe(const UpdateArgs& args, kernels::StepState& state) const {
    static_cast<void>(args), static_cast<void>(state);
  }
  /// Decoupled decay (OptimizerCommon::weight_decay), then the update, in one pass where the equation allows. Queued.
  virtual void run(const OptimizerArgs& args) = 0;
};

using OptimizerOpFactory = std::function<std::unique_ptr<OptimizerOp>(const UpdateContext&, Device&)>;
inline bool has_optimizer_op(DeviceKind kind, std::type_index spec) {
  return device_registry<OptimizerOpFactory>().has({kind, spec});
}
/// Throws Error{kInternal} naming optimizer and device where there is none. The plan and the optimizer's spec outlive
/// the op; the context need not.
std::unique_ptr<OptimizerOp> make_optimizer_op(const UpdateContext& context, Device& device);

/// `const RegisteredOptimizerOp kLamb = optimizer_op<nn::LambSpec, LambOp>(kKind);`
/// The op's constructor takes (const Spec&, const UpdateContext&, Device&).
using RegisteredOptimizerOp = DeviceRegistration<OptimizerOpFactory>;
template <class Spec, class OpType>
RegisteredOptimizerOp optimizer_op(DeviceKind kind) {
  return {kind, typeid(Spec), [](const UpdateContext& context, Device& device) -> std::unique_ptr<OptimizerOp> {
            return std::make_unique<OpType>(context.optimizer.as<Spec>(), context, device);
          }};
}

}  // namespace dptrain::backend
