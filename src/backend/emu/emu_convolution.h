#pragma once

// The emulator's convolutions and attention: plain loops on an emulated stream in place of cuDNN. They read the
// problem's type, add in float in an order that depends only on the shape, and round the result once. Every pass fills
// its workspace with NaN before and after, to expose workspaces that are too small or in use. Created and used on one
// replica's thread.

#include <memory>

#include "backend/gpu/convolution.h"

namespace dptrain::backend::emu {

class EmuConvolutionMaker final : public gpu::ConvolutionMaker {
 public:
  std::unique_ptr<gpu::Convolution> make(const gpu::ConvProblem& problem, const gpu::ConvPasses& passes) override;
  gpu::PlannedAttention make_attention(const gpu::AttentionProblem& problem) override;
};

}  // namespace dptrain::backend::emu
