#pragma once

// Numbers of the random draws for the dropout masks of recurrent ops, for all devices. Plain arithmetic, any thread.

#include <cstdint>

#include "backend/op.h"
#include "core/random.h"
#include "nn/recurrent.h"

namespace dptrain::backend {

/// With recurrent_dropout each gate has its own masks, as in Keras's cells (dropout_mask_count). Else all gates share
/// one mask of the inputs.
class RecurrentDraws {
 public:
  RecurrentDraws(const nn::RecurrentSpec& spec, std::int64_t gates, const OpContext& context)
      : inputs_(spec.dropout), state_(spec.recurrent_dropout), gates_(gates), context_stream_(context.stream_id) {}

  float input_rate() const { return inputs_; }
  float state_rate() const { return state_; }
  /// Masks of the inputs; 1 for all gates together.
  std::int64_t input_masks() const { return state_ > 0 ? gates_ : 1; }
  std::uint32_t of_input(std::int64_t mask) const { return stream(mask); }
  std::uint32_t of_state(std::int64_t gate) const { return stream(gates_ + gate); }

 private:
  std::uint32_t stream(std::int64_t draw) const {
    return static_cast<std::uint32_t>(Purpose::kDropout) +
           (context_stream_ | static_cast<std::uint32_t>(draw) << OpContext::kDrawShift);
  }

  float inputs_, state_;
  std::int64_t gates_;
  std::uint32_t context_stream_;
};

}  // namespace dptrain::backend
