#pragma once

// The flat arenas of one replica that outlive a step: parameters, gradients, optimizer state. Allocated once; used on the
// replica's thread. All are in the plan's arena order (plan.h).

#include <memory>
#include <vector>

#include "device/device.h"
#include "graph/model.h"
#include "plan/plan.h"

namespace dptrain::replica {

class ParameterArenas {
 public:
  /// Without an optimizer only parameters. With `accumulate` backward writes to an arena of its own, from which each
  /// micro-batch is added to the gradients.
  ParameterArenas(const plan::Plan& plan, device::Device& device, device::Stream& stream,
                  const config::Typed& optimizer, bool accumulate);

  void push(const graph::Model& model);
  void pull(graph::Model& model);
  void push_state(const std::vector<std::vector<float>>& state);
  std::vector<std::vector<float>> pull_state();

  float* parameters() const { return floats(parameters_); }
  float* gradients() const { return floats(gradients_); }
  /// Where backward writes: the gradients, or the arena of one micro-batch.
  float* written() const { return written_ ? floats(written_) : gradients(); }
  bool accumulates() const { return written_ != nullptr; }
  const device::UpdateBuffers& update_buffers() const { return update_buffers_; }
  std::size_t bytes() const;

 private:
  using Buffer = std::unique_ptr<device::Buffer>;

  static float* floats(const Buffer& buffer) { return buffer ? buffer->as<float>() : nullptr; }
  Buffer allocate(std::int64_t floats);
  void check_state(const std::vector<std::vector<float>>& state) const;

  const plan::Plan& plan_;
  device::Device& device_;
  device::Stream& stream_;
  Buffer parameters_, gradients_, written_;
  std::vector<Buffer> state_;  ///< slots in order, then the average with use_ema
  device::UpdateBuffers update_buffers_;
};

}  // namespace dptrain::replica
