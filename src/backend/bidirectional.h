#pragma once

// What the Bidirectional ops of all devices share: the two recurrent ops inside, which part of a call each of them
// sees, and where in the op's memory its part lies. A device says how both run and how their outputs become one.

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
  std::string implementation() const final { return ways_[0].op->implementation(); }
  std::pair<double, double> flops_per_sample() const final;

 protected:
  BidirectionalOp(const nn::BidirectionalSpec& spec, const OpContext& context, Device& device);

  Op& op(std::size_t way) const { return *ways_[way].op; }
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
  /// The second direction's draws lie above those of the first.
  static constexpr std::uint32_t kDrawsOfOne = 16;

  /// One direction: its op, the step that the op takes itself for, and its part of a call.
  struct Way {
    plan::Step step;
    std::unique_ptr<Op> op;
    std::vector<std::size_t> inputs;   ///< places among the step's inputs
    std::vector<std::size_t> outputs;  ///< of its states among the step's outputs
    std::size_t first_weight = 0, weights = 0;
    std::vector<const void*> in, compute_weights;
    std::vector<void*> out, dy, dx;
    std::vector<const float*> values;
    std::vector<float*> gradients;
  };
  /// Places in saved, packed and scratch, bytes from their starts.
  struct Places {
    std::array<std::uint64_t, 2> saved{}, packed{}, scratch{}, kept{}, passing{}, gradients{};
    std::uint64_t dx = 0;
    plan::Need need{};
  };

  void add_way(const OpContext& context, Device& device, bool backward);
  void place();
  OpArgs part_of(const OpArgs& a, std::size_t way);
  OpArgs forward_part(const OpArgs& a, std::size_t way, void* output);
  OpArgs backward_part(const OpArgs& a, std::size_t way, void* gradient);
  /// The outputs of both: kept for backward, or in scratch.
  std::array<void*, 2> outputs_of(const OpArgs& a, bool for_backward) const;
  kernels::DirectionShape shape_of(const OpArgs& a) const;

  const nn::BidirectionalSpec spec_;
  std::int64_t rows_, steps_, features_, units_;
  bool keeps_, wants_dx_;
  std::uint64_t number_bytes_;
  std::optional<std::size_t> mask_;
  std::array<Way, 2> ways_;
  Places places_{};
};

}  // namespace dptrain::backend
