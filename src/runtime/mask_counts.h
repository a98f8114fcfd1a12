#pragma once

// MaskCounts: number of positions of a global batch that count in each masked loss. Such a loss is the mean over the
// valid positions of all replicas and micro-batches, as in Keras's apply_mask with sum_over_batch_size, so they are
// counted before the first gradient. Owned by a StepRunner, used on its replica's thread; queues work on the stream
// without waiting.

#include <memory>

#include "backend/device.h"

namespace dptrain::runtime {

class MaskCounts {
 public:
  /// `collective`: null with one replica.
  MaskCounts(const plan::Plan& plan, backend::Device& device, backend::Stream& stream, backend::Collective* collective);

  void clear();
  /// Adds the valid positions of `rows` samples in the mask of loss number `loss` of the plan.
  void add(std::size_t loss, const std::uint8_t* mask, std::int64_t rows);
  /// Sums the counts over all replicas, which all call it, even without rows. `samples`: size of the global batch.
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
  std::unique_ptr<backend::Buffer> all_;     ///< `mine_` of all ranks, by rank
  std::unique_ptr<backend::Buffer> scales_;  ///< a float per loss
};

}  // namespace dptrain::runtime
