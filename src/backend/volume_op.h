#pragma once

// VolumeOp: a layer over volumes as one or two passes over images (nn::VolumePasses), on every device. It contains an
// op per pass. The tensor between them is in scratch; each op saves what it needs of it.

#include <cstdint>
#include <optional>

#include "backend/device.h"
#include "backend/inner_op.h"
#include "nn/layer.h"

namespace dptrain::backend {

class VolumeOp final : public Op {
 public:
  VolumeOp(const nn::VolumePasses& passes, const OpContext& context, Device& device);

  plan::Need need() const override;
  void prepare(std::int64_t rows) override;
  void forward(const OpArgs& args) override;
  void backward(const OpArgs& args) override;

 private:
  std::optional<InnerOp> frames_, depth_;
  std::uint64_t between_bytes_ = 0, frames_saved_ = 0;
};

}  // namespace dptrain::backend
