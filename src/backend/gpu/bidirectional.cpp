#include "backend/bidirectional.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/directions.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class GpuBidirectionalOp final : public BidirectionalOp {
 public:
  GpuBidirectionalOp(const nn::BidirectionalSpec& spec, const OpContext& context, Device& device)
      : BidirectionalOp(spec, context, device), device_(static_cast<GpuDevice&>(device)), type_(context.plan.compute) {}

 protected:
  void run_forward(const Both& both) override {
    for (std::size_t way = 0; way < both.size(); ++way) op(way).forward(both[way]);
  }
  void run_backward(const Both& both) override {
    for (std::size_t way = 0; way < both.size(); ++way) op(way).backward(both[way]);
  }
  void merge(const OpArgs& a, const kernels::DirectionShape& shape, const void* forward, const void* backward,
             void* y) override {
    kernel::merge_directions(at(a), type_, shape, forward, backward, y);
  }
  void split(const OpArgs& a, const kernels::DirectionShape& shape, const void* dy, const void* forward,
             const void* backward, void* d_forward, void* d_backward) override {
    kernel::split_directions(at(a), type_, shape, dy, forward, backward, d_forward, d_backward);
  }
  void add(const OpArgs& a, const void* x, void* y, std::int64_t n) override {
    device_.accumulate(y, x, type_, n, *a.stream);
  }

 private:
  kernel::Launch at(const OpArgs& a) const { return device_.launch(*a.stream); }

  GpuDevice& device_;
  DType type_;
};

std::vector<int> weight_order(const Device& device, const config::Typed& layer, std::size_t weight) {
  const auto& spec = layer.as<nn::BidirectionalSpec>();
  const std::size_t weights_of_one = nn::recurrent_spec(spec).use_bias ? 3 : 2;
  return device.weight_order(spec.layer, weight % weights_of_one);
}

const RegisteredOp kBidirectional =
    op<nn::BidirectionalSpec, GpuBidirectionalOp>(kKind, {.weight_order_of = weight_order});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
