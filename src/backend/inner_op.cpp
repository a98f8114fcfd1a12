#include "backend/inner_op.h"

#include <utility>

namespace dptrain::backend {
namespace {

std::byte* bytes_after(void* memory, std::uint64_t bytes) {
  return memory == nullptr ? nullptr : static_cast<std::byte*>(memory) + bytes;
}

enum Tensors { kIn, kOut, kOutGradient, kInGradient };

std::unique_ptr<plan::Plan> plan_of(const OpContext& outer, plan::Step step, const Shape& in, const Shape& out) {
  auto plan = std::make_unique<plan::Plan>();
  plan->compute = outer.plan.compute;
  for (const Shape& shape : {in, out, out, in})
    plan->tensors.push_back({.name = outer.step.name, .shape = shape, .type = plan->compute});
  const bool wants_dx = outer.wants_dx();
  step.name = outer.step.name;
  step.node = outer.step.node;
  step.inputs = {kIn};
  step.outputs = {kOut};
  step.has_backward = outer.step.has_backward;
  step.output_gradients = {kOutGradient};
  step.input_gradients = {wants_dx ? kInGradient : plan::kAbsent};
  plan->steps.push_back(std::move(step));
  return plan;
}

}  // namespace

InnerOp::InnerOp(const OpContext& outer, plan::Step step, const Shape& in, const Shape& out, std::int64_t images,
                 Device& device)
    : plan_(plan_of(outer, std::move(step), in, out)),
      images_(images),
      op_(device.make_op({.plan = *plan_,
                          .step = plan_->steps.front(),
                          .rows = outer.rows * images,
                          .seed = outer.seed,
                          .stream_id = outer.stream_id,
                          .replicas = outer.replicas,
                          .alignment = outer.alignment})) {}

OpArgs InnerOp::args(const OpArgs& outer, std::uint64_t scratch_from, std::uint64_t saved_from) const {
  OpArgs own = outer;
  own.rows = outer.rows * images_;
  own.first_row = outer.first_row * images_;
  own.saved = bytes_after(outer.saved, saved_from);
  own.scratch = bytes_after(outer.scratch, scratch_from);
  return own;
}

}  // namespace dptrain::backend
