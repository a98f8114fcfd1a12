#include "backend/bidirectional.h"

#include "backend/cpu/recurrent_op.h"
#include "kernels/cpu/directions.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

/// The steps of both directions are one heap of work for the threads. The first op's workspace serves both, which ask
/// for the same.
class CpuBidirectionalOp final : public BidirectionalOp {
 public:
  CpuBidirectionalOp(const nn::BidirectionalSpec& spec, const OpContext& context, Device& device)
      : BidirectionalOp(spec, context, device), passes_{&passes_of(op(0)), &passes_of(op(1))} {}

 protected:
  void run_forward(const Both& both) override {
    const std::array works{passes_[0]->begin_forward(both[0]), passes_[1]->begin_forward(both[1])};
    kernels::cpu::run_recurrent(works, passes_[0]->workspace(both[0]));
  }
  void run_backward(const Both& both) override {
    const std::array works{passes_[0]->begin_backward(both[0]), passes_[1]->begin_backward(both[1])};
    kernels::cpu::run_recurrent(works, passes_[0]->workspace(both[0]));
    for (std::size_t way = 0; way < both.size(); ++way) passes_[way]->end_backward(both[way]);
  }
  void merge(const OpArgs&, const kernels::DirectionShape& shape, const void* forward, const void* backward,
             void* y) override {
    kernels::cpu::merge_directions(shape, floats(forward), floats(backward), floats(y));
  }
  void split(const OpArgs&, const kernels::DirectionShape& shape, const void* dy, const void* forward,
             const void* backward, void* d_forward, void* d_backward) override {
    kernels::cpu::split_directions(shape, floats(dy), floats(forward), floats(backward), floats(d_forward),
                                   floats(d_backward));
  }
  void add(const OpArgs&, const void* x, void* y, std::int64_t n) override {
    kernels::cpu::accumulate(floats(x), floats(y), n);
  }

 private:
  static RecurrentPasses& passes_of(Op& op) { return static_cast<RecurrentPasses&>(op); }
  static const float* floats(const void* x) { return static_cast<const float*>(x); }
  static float* floats(void* x) { return static_cast<float*>(x); }

  std::array<RecurrentPasses*, 2> passes_;
};

const RegisteredOp kCpuBidirectional = op<nn::BidirectionalSpec, CpuBidirectionalOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
