#pragma once

// InnerOp: an op over images within the op of a layer over volumes, with a plan of one step. Belongs to the outer op
// and its thread.

#include <cstdint>
#include <memory>

#include "backend/device.h"
#include "plan/plan.h"

namespace dptrain::backend {

class InnerOp {
 public:
  /// `step`: its layer, tail, undoes and parameters; the rest follows from the outer step, which has one input.
  /// `images`: per sample.
  InnerOp(const OpContext& outer, plan::Step step, const Shape& in, const Shape& out, std::int64_t images,
          Device& device);

  Op& op() const { return *op_; }
  std::int64_t images() const { return images_; }
  /// A call with the tensors of the outer one, and its scratch and saved memory from these bytes on.
  OpArgs args(const OpArgs& outer, std::uint64_t scratch_from, std::uint64_t saved_from = 0) const;

 private:
  std::unique_ptr<plan::Plan> plan_;  // the op refers to it
  std::int64_t images_;
  std::unique_ptr<Op> op_;
};

}  // namespace dptrain::backend
