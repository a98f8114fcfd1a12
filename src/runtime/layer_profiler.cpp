#include "runtime/layer_profiler.h"

#include "core/index.h"

namespace dptrain::runtime {

LayerProfiler::LayerProfiler(const plan::Plan& plan, backend::Device& device, backend::Stream& stream,
                             const std::vector<std::unique_ptr<backend::Op>>& ops, const std::vector<plan::Need>& needs,
                             std::int64_t rows)
    : plan_(plan),
      device_(device),
      stream_(stream),
      ops_(ops),
      needs_(needs),
      rows_(rows),
      profile_{.steps = std::vector<Replica::StepProfile>(plan.steps.size())} {}

void LayerProfiler::set_on(bool on) {
  on_ = on;
  if (on) profile_ = {.steps = std::vector<Replica::StepProfile>(plan_.steps.size())};
}

void LayerProfiler::add_step(std::size_t s, std::int64_t rows, bool backward, double seconds) {
  const plan::Step& step = plan_.steps[s];
  double operations = 0;
  if (ops_[s]) {
    const auto [forward, backward_too] = ops_[s]->flops_per_sample();
    operations = (backward ? backward_too : forward) * static_cast<double>(rows * step.frames);
  }
  const std::uint64_t saved = needs_[s].saved * static_cast<std::uint64_t>(rows) / static_cast<std::uint64_t>(rows_);
  const plan::Traffic traffic = backward ? plan::backward_traffic(plan_, step, device_, rows, saved)
                                         : plan::forward_traffic(plan_, step, device_, rows, saved);
  (backward ? profile_.steps[s].backward : profile_.steps[s].forward)
      .add({.seconds = seconds, .operations = operations, .bytes = traffic.bytes, .set = traffic.set});
}

double LayerProfiler::operations_per_sample() const {
  double sum = 0;
  for (std::size_t s = 0; s < ops_.size(); ++s) {
    const plan::Step& step = plan_.steps[s];
    if (!ops_[s] || step.fused_into_loss) continue;
    const auto [forward, backward] = ops_[s]->flops_per_sample();
    sum += (forward + (step.has_backward ? backward : 0)) * static_cast<double>(step.frames);
  }
  return sum;
}

}  // namespace dptrain::runtime
