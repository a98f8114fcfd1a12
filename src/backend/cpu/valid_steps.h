#pragma once

// Which steps of a call a recurrent op on the CPU computes: those that the mask leaves, which stand one behind the
// other in its sums and in what it keeps, so that products of all steps are of these alone. Found anew for every pass,
// from the mask, in the op's scratch. Belongs to one op.

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/valid_steps.h"

namespace dptrain::backend::cpu {

class ValidSteps {
 public:
  /// packs: whether steps that are left out may have no place.
  ValidSteps(std::int64_t rows, std::int64_t steps, bool masked, bool packs)
      : most_rows_(rows), steps_(steps), masked_(masked), packs_(packs) {}

  /// Floats of room that find() wants: the order; then what it is found with, and the places.
  std::int64_t room() const { return masked_ ? most_rows_ + std::max(2 * most_rows_, most_rows_ * steps_) : 0; }
  bool packs() const { return masked_ && packs_; }

  /// For a pass: mask [rows, steps], null: none.
  void find(const std::uint8_t* mask, std::int64_t rows, float* room) {
    positions_ = computed_ = valid_ = rows * steps_;
    order_ = places_ = nullptr;
    if (mask == nullptr) return;
    auto* const numbers = reinterpret_cast<std::int32_t*>(room);
    order_ = numbers;
    kernels::cpu::order_by_length(mask, rows, steps_, numbers, numbers + rows);
    if (!packs_) return;
    std::int32_t* const places = numbers + rows;
    valid_ = kernels::cpu::place_valid_steps(mask, rows, steps_, places);
    computed_ = computed_of(valid_, positions_);
    if (valid_ > 0 && computed_ < positions_)
      places_ = places;
    else
      computed_ = valid_ = positions_;
  }

  const std::int32_t* order() const { return order_; }
  const std::int32_t* places() const { return places_; }  ///< null: all steps have places
  std::int64_t positions() const { return positions_; }   ///< rows times steps
  std::int64_t valid() const { return valid_; }           ///< that have places
  /// Positions of which products are computed: at least valid(). What stands behind those has to be zeros where it is
  /// summed.
  std::int64_t computed() const { return computed_; }

  /// Calls f(computed) for the numbers of positions, other than all, that calls of so many rows may compute.
  template <class F>
  void each_computed(std::int64_t rows, const F& f) const {
    if (!packs()) return;
    const std::int64_t positions = rows * steps_, grain = grain_of(positions);
    for (std::int64_t computed = grain; computed < positions; computed += grain) f(computed);
  }

 private:
  /// oneDNN's products know how many positions they have, so there are some for each eighth.
  static std::int64_t grain_of(std::int64_t positions) { return (positions + kGrains - 1) / kGrains; }
  static std::int64_t computed_of(std::int64_t valid, std::int64_t positions) {
    const std::int64_t grain = grain_of(positions);
    return std::min(positions, (valid + grain - 1) / grain * grain);
  }
  static constexpr std::int64_t kGrains = 8;

  std::int64_t most_rows_, steps_;
  bool masked_, packs_;
  std::int64_t positions_ = 0, computed_ = 0, valid_ = 0;
  const std::int32_t *order_ = nullptr, *places_ = nullptr;
};

}  // namespace dptrain::backend::cpu
