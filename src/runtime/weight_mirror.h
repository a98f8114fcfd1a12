#pragma once

// WeightMirror: the parameters that a slot away from home reads. Devices that read the host's memory read them where
// they lie; others keep a copy, which is brought up to date at the beginning of a pass behind a change. Owned by a
// slot, used on its thread while the home slot changes nothing.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/device.h"
#include "plan/plan.h"
#include "runtime/arenas.h"

namespace dptrain::runtime {

class WeightMirror {
 public:
  WeightMirror(const plan::Plan& plan, backend::Device& device, const ParameterArenas& home, int slot);

  /// Queues the copies; the stream waits for the home slot's work already.
  void refresh(backend::Stream& stream);

  const float* parameters() const;
  const void* compute() const;  ///< as ParameterArenas has it
  const kernels::LossScale* loss_scale() const;
  /// Floats from the start where a parameter lies; -1: the slot does not read it. Empty: as in the plan.
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  std::size_t bytes() const;

 private:
  const plan::Plan& plan_;
  backend::Device& device_;
  const ParameterArenas& home_;
  std::vector<std::int64_t> offsets_;
  std::unique_ptr<backend::Buffer> parameters_, compute_, loss_scale_;  ///< null: read at home
  std::optional<std::uint64_t> version_, frozen_version_;
};

}  // namespace dptrain::runtime
