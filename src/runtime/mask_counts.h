#pragma once

// MaskCounts: how many positions of a global batch count in each masked loss. A loss with a mask is the mean over the
// valid positions of all replicas and micro-batches, as Keras's apply_mask with sum_over_batch_size. So their number is
// counted before the first gradient. Owned by a StepRunner, used on its replica's thread; queues work on the stream
// without waiting.

#include <memory>
#include <vector>

#include "backend/device.h"

namespace dptrain::runtime {

class MaskCounts {
 public:
  /// `collective` may be null: there is one replica.
  MaskCounts(const plan::Plan& plan, backend::Device& device, backend::Stream& stream, backend::Collective* collective);

  void clear();
  /// Adds what the mask of the plan's loss number `loss` says of so many samples.
  void add(std::size_t loss, const std::uint8_t* mask, std::int64_t rows);
  /// All replicas add theirs up; with no rows, too. `samples`: of the global batch.
  void share(std::int64_t samples);
  /// As LossArgs::mask_scale, after share().
  const float* scale(std::size_t loss) const { return scales_->as<float>() + loss; }
  std::size_t bytes() const { return mine_->bytes() + all_->bytes() + scales_->bytes(); }

 private:
  const plan::Plan& plan_;
  backend::Device& device_;
  backend::Stream& stream_;
  backend::Collective* const collective_;
  const int ranks_;
  std::unique_ptr<backend::Buffer> mine_;    ///< a double per loss of the plan
  std::unique_ptr<backend::Buffer> all_;     ///< those of all ranks, in their order
  std::unique_ptr<backend::Buffer> scales_;  ///< a float per loss
};

}  // namespace dptrain::runtime
