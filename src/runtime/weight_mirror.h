#pragma once

// WeightMirror: the parameters that a secondary slot reads. Devices that read host memory use the memory of the primary
// slot; others have a copy, which is refreshed at the beginning of a pass if the parameters have changed. Owned by a
// slot, used on its thread while the primary slot changes nothing.

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
  WeightMirror(const plan::Plan& plan, backend::Device& device, const ParameterArenas& primary, int slot);

  /// Queues the copies. The stream must already wait for the work of the primary slot.
  void refresh(backend::Stream& stream);

  const float* parameters() const;
  const void* compute() const;  ///< as ParameterArenas::compute()
  const kernels::LossScale* loss_scale() const;
  /// Offset of each parameter in floats; -1: the slot does not read it. Empty: the plan's offsets.
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  std::size_t bytes() const;

 private:
  /// Parameters that are adjacent in both arenas, with their padding.
  struct Range {
    std::int64_t source = 0, destination = 0, floats = 0;
    bool frozen = false;
  };

  const DType compute_type_;
  backend::Device& device_;
  const ParameterArenas& primary_;
  std::vector<std::int64_t> offsets_;
  std::vector<Range> ranges_;
  std::unique_ptr<backend::Buffer> parameters_, compute_, loss_scale_;  ///< null: read from the primary slot
  std::optional<std::uint64_t> version_, frozen_version_;
};

}  // namespace dptrain::runtime
