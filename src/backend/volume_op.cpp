#include "backend/volume_op.h"

#include <algorithm>

#include "backend/parts.h"

namespace dptrain::backend {

VolumeOp::VolumeOp(const nn::VolumePasses& passes, const OpContext& context, Device& device) {
  const Shape in = context.input(0), out = context.output();
  const Shape frame = passes.frames ? Shape{out[1], out[2], out[3]} : Shape{in[1], in[2], in[3]};
  if (passes.frames)
    frames_.emplace(context,
                    plan::Step{.spec = passes.frames, .undoes = passes.depth ? config::Typed() : context.step.undoes},
                    Shape{in[1], in[2], in[3]}, frame, in[0], device);
  if (passes.depth)
    depth_.emplace(context, plan::Step{.spec = passes.depth, .undoes = context.step.undoes},
                   Shape{in[0], frame[0] * frame[1], frame[2]}, Shape{out[0], out[1] * out[2], out[3]}, 1, device);
  if (!frames_ || !depth_) return;
  between_bytes_ = aligned_part(context.rows * in[0] * frame.elements(), context.plan.compute);
  frames_saved_ = aligned_part(frames_->op().need().saved);
}

plan::Need VolumeOp::need() const {
  plan::Need all;
  for (const std::optional<InnerOp>* pass : {&frames_, &depth_}) {
    if (!*pass) continue;
    const plan::Need one = (*pass)->op().need();
    all.saved = one.saved > 0 && pass == &depth_ ? frames_saved_ + one.saved : std::max(all.saved, one.saved);
    all.scratch = std::max(all.scratch, between_bytes_ + one.scratch);
    all.first_pass_scratch = std::max(all.first_pass_scratch, one.first_pass_scratch);
  }
  return all;
}

void VolumeOp::prepare(std::int64_t rows) {
  for (const std::optional<InnerOp>* pass : {&frames_, &depth_})
    if (*pass) (*pass)->op().prepare(rows * (*pass)->images());
}

void VolumeOp::forward(const OpArgs& args) {
  void* const between = args.scratch;
  const void* const in = between;
  if (frames_) {
    OpArgs own = frames_->args(args, between_bytes_);
    if (depth_) own.outputs = {&between, 1};
    frames_->op().forward(own);
  }
  if (!depth_) return;
  OpArgs own = depth_->args(args, between_bytes_, frames_saved_);
  if (frames_) own.inputs = {&in, 1};
  depth_->op().forward(own);
}

void VolumeOp::backward(const OpArgs& args) {
  void* const between = args.scratch;  // gradient of the tensor
  if (depth_) {
    OpArgs own = depth_->args(args, between_bytes_, frames_saved_);
    if (frames_) own.input_gradients = {&between, 1};
    depth_->op().backward(own);
  }
  if (!frames_) return;
  OpArgs own = frames_->args(args, between_bytes_);
  if (depth_) own.output_gradients = {&between, 1};
  frames_->op().backward(own);
}

}  // namespace dptrain::backend
