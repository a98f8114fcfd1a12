#include "runtime/mask_counts.h"

namespace dptrain::runtime {

MaskCounts::MaskCounts(const plan::Plan& plan, backend::Device& device, backend::Stream& stream,
                       backend::Collective* collective)
    : plan_(plan),
      device_(device),
      stream_(stream),
      collective_(collective),
      ranks_(collective != nullptr ? collective->size() : 1),
      mine_(device.allocate(plan.losses.size() * sizeof(double))),
      all_(device.allocate(mine_->bytes() * static_cast<std::size_t>(ranks_))),
      scales_(device.allocate(plan.losses.size() * sizeof(float))) {}

void MaskCounts::clear() {
  // A double of zero is two floats of zero.
  device_.fill(mine_->as<float>(), static_cast<std::int64_t>(mine_->bytes() / sizeof(float)), 0, stream_);
}

void MaskCounts::add(std::size_t loss, const std::uint8_t* mask, std::int64_t rows) {
  device_.count_valid(mask, rows * plan_.losses[loss].masked_positions, mine_->as<double>() + loss, stream_);
}

void MaskCounts::share(std::int64_t samples) {
  const backend::Buffer* counts = mine_.get();
  if (ranks_ > 1) {
    collective_->all_gather(mine_->data(), static_cast<std::int64_t>(mine_->bytes()), all_->data(), stream_);
    counts = all_.get();
  }
  for (std::size_t i = 0; i < plan_.losses.size(); ++i) {
    const plan::LossStep& loss = plan_.losses[i];
    if (!loss.averages_valid()) continue;
    const double positions = static_cast<double>(samples) * static_cast<double>(loss.masked_positions);
    device_.mask_scale(counts->as<double>() + i, ranks_, static_cast<std::int64_t>(plan_.losses.size()), positions,
                       scales_->as<float>() + i, stream_);
  }
}

}  // namespace dptrain::runtime
