#pragma once

// The emulator's convolutions: what cuDNN is asked for on a GPU, as plain loops queued on an emulated stream. They read
// numbers in the problem's type, add in float in an order that depends on the shape alone, and round the result once.
// Every pass fills its workspace with NaN, before and after, so that a workspace that is too small or that holds
// something else is noticed. Made and used on one replica's thread.

#include <memory>

#include "backend/gpu/convolution.h"

namespace dptrain::backend::emu {

class EmuConvolutionMaker final : public gpu::ConvolutionMaker {
 public:
  std::unique_ptr<gpu::Convolution> make(const gpu::ConvProblem& problem, const gpu::ConvPasses& passes) override;
};

}  // namespace dptrain::backend::emu
