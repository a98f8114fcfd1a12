#include "runtime/weight_mirror.h"

#include <algorithm>

#include "core/index.h"

namespace dptrain::runtime {

WeightMirror::WeightMirror(const plan::Plan& plan, backend::Device& device, const ParameterArenas& primary, int slot)
    : compute_type_(plan.compute), device_(device), primary_(primary) {
  if (device.reads_host_memory()) return;
  offsets_.assign(plan.parameters.size(), -1);
  for (const plan::Step& step : plan.steps)
    for (const int p : step.parameters)
      if (step.slot == slot) offsets_[at(p)] = 0;
  std::int64_t floats = 0;
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    if (offsets_[i] < 0) continue;
    const plan::Parameter& p = plan.parameters[i];
    const std::int64_t length = (p.elements() + plan::kAlignElements - 1) / plan::kAlignElements * plan::kAlignElements;
    const bool frozen = p.kind == plan::ParameterKind::kFrozen;
    if (ranges_.empty() || ranges_.back().source + ranges_.back().floats != p.offset || ranges_.back().frozen != frozen)
      ranges_.push_back({.source = p.offset, .destination = floats, .floats = 0, .frozen = frozen});
    ranges_.back().floats += length;
    offsets_[i] = floats;
    floats += length;
  }
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(floats, 1));
  parameters_ = device.allocate(count * sizeof(float));
  if (plan.compute != DType::kF32) compute_ = device.allocate(count * size_of(plan.compute));
  if (primary.loss_scale() != nullptr) loss_scale_ = device.allocate(sizeof(kernels::LossScale));
}

void WeightMirror::refresh(backend::Stream& stream) {
  if (!parameters_) return;
  if (loss_scale_ && primary_.scales_loss())
    device_.copy_between(loss_scale_->data(), primary_.loss_scale(), sizeof(kernels::LossScale), stream);
  if (version_ == primary_.version()) return;
  const bool frozen_too = frozen_version_ != primary_.frozen_version();
  for (const Range& range : ranges_) {
    if (range.frozen && !frozen_too) continue;
    const auto first = static_cast<std::size_t>(range.destination), floats = static_cast<std::size_t>(range.floats);
    float* const to = parameters_->as<float>() + first;
    device_.copy_between(to, primary_.parameters() + range.source, floats * sizeof(float), stream);
    // Rounds as the primary slot does. Copying its rounded weights would send half as many bytes again.
    if (compute_)
      device_.from_float(to, compute_->as<std::byte>() + first * size_of(compute_type_), compute_type_, range.floats,
                         stream);
  }
  version_ = primary_.version();
  frozen_version_ = primary_.frozen_version();
}

const float* WeightMirror::parameters() const { return parameters_ ? parameters_->as<float>() : primary_.parameters(); }

const void* WeightMirror::compute() const {
  if (!parameters_) return primary_.compute();
  return compute_ ? compute_->data() : parameters_->data();
}

const kernels::LossScale* WeightMirror::loss_scale() const {
  return loss_scale_ ? loss_scale_->as<kernels::LossScale>() : primary_.loss_scale();
}

std::size_t WeightMirror::bytes() const {
  std::size_t sum = 0;
  for (const auto* buffer : {&parameters_, &compute_, &loss_scale_})
    if (*buffer) sum += (*buffer)->bytes();
  return sum;
}

}  // namespace dptrain::runtime
