#pragma once

// BidirectionalOp: base of the Bidirectional ops of all devices. Contains a recurrent op per direction, and gives each
// its tensors and its part of the memory. Derived classes run both ops and merge their outputs. Replica's thread.

#include <array>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "kernels/geometry.h"
#include "nn/wrappers.h"

namespace dptrain::backend {

class BidirectionalOp : public Op {
 public:
  void forward(const OpArgs& a) final;
  void backward(const OpArgs& a) final;
  void pack(const OpArgs& a) final;
  plan::Need need() const final;
  void prepare(std::int64_t rows) final;
  std::string implementation() const final { return directions_[0].op->implementation(); }
  std::pair<double, double> flops_per_sample() const final;

 protected:
  BidirectionalOp(const nn::BidirectionalSpec& spec, const OpContext& context, Device& device);

  Op& op(std::size_t direction) const { return *directions_[direction].op; }
  using Both = std::array<OpArgs, 2>;  ///< forward, backward

  virtual void run_forward(const Both& both) = 0;
  virtual void run_backward(const Both& both) = 0;
  virtual void merge(const OpArgs& a, const kernels::DirectionShape& shape, const void* forward, const void* backward,
                     void* y) = 0;
  virtual void split(const OpArgs& a, const kernels::DirectionShape& shape, const void* dy, const void* forward,
                     const void* backward, void* d_forward, void* d_backward) = 0;
  /// y += x.
  virtual void add(const OpArgs& a, const void* x, void* y, std::int64_t n) = 0;

 private:
  /// Number of the second direction's first draw; the first direction has fewer draws.
  static constexpr std::uint32_t kDrawsOfOne = 16;

  /// One direction: its op, the op's step, and its part of a call.
  struct Direction {
    plan::Step step;
    std::unique_ptr<Op> op;
    std::vector<std::size_t> inputs;   ///< indices in the inputs of the whole step
    std::vector<std::size_t> outputs;  ///< indices of its states in the outputs of the whole step
    std::size_t first_weight = 0, weights = 0;
    std::vector<const void*> in, compute_weights;
    std::vector<void*> out, dy, dx;
    std::vector<const float*> values;
    std::vector<float*> gradients;
  };
  /// Offsets in saved, packed and scratch, in bytes.
  struct Places {
    std::array<std::uint64_t, 2> saved{}, packed{}, scratch{}, saved_outputs{}, passing{}, gradients{};
    std::uint64_t dx = 0;
    plan::Need need{};
  };

  void add_direction(const OpContext& context, Device& device, bool backward);
  void place();
  OpArgs part_of(const OpArgs& a, std::size_t direction);
  OpArgs forward_part(const OpArgs& a, std::size_t direction, void* output);
  OpArgs backward_part(const OpArgs& a, std::size_t direction, void* gradient);
  /// The outputs of both directions, in saved memory or in scratch.
  std::array<void*, 2> outputs_of(const OpArgs& a, bool for_backward) const;
  kernels::DirectionShape shape_of(const OpArgs& a) const;

  const nn::BidirectionalSpec spec_;
  std::int64_t rows_, steps_, features_, units_;
  bool has_backward_, wants_dx_;
  std::uint64_t number_bytes_;
  std::optional<std::size_t> mask_;
  std::array<Direction, 2> directions_;
  Places places_{};
};

}  // namespace dptrain::backend
