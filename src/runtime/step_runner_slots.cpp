// StepRunner: passes shared by neighbouring steps, and synchronization between the slots of a replica.

#include "core/trace.h"
#include "runtime/step_runner.h"

namespace dptrain::runtime {

// StepRunner::add_fused_passes(): passes of a step that its neighbours run (backend/fusible_passes.h).

void StepRunner::add_fused_passes(backend::OpArgs& call, std::size_t s, const BatchView& slice, const StepInputs& in,
                                  const Bindings& bindings, bool training) {
  if (!fusing_ || observer_ || slice.rows == 0 || fused_passes_.defers_last_pass.empty()) return;
  call.defers_last_pass = fused_passes_.defers_last_pass[s];
  // Only training has passes before an op.
  call.first_pass_done = s > 0 && fused_passes_.epilogue[s - 1] && call.training;
  if (s > 0 && fused_passes_.defers_last_pass[s - 1]) {
    prologue_ = ops_[s - 1]->fusible_passes()->last_pass();
    call.prologue = &prologue_;
  }
  if (!fused_passes_.epilogue[s]) return;
  const backend::OpArgs next = args(s + 1, slice, in, bindings, training);
  if (!next.training) return;
  epilogue_ = ops_[s + 1]->fusible_passes()->first_pass(next);
  call.epilogue = &epilogue_;
}

void StepRunner::publish(const Bindings& bindings, bool training) {
  for (int t = 0; t < static_cast<int>(plan_.tensors.size()); ++t)
    if (sync_->is_shared(t) && plan_.tensors[at(t)].slot == slot_) sync_->publish(t, training, bindings.tensor(t));
}

void StepRunner::run_copy(std::size_t s, const BatchView& slice, const Bindings& bindings, bool training) {
  const plan::Step& step = plan_.steps[s];
  if (heartbeat_ != nullptr) heartbeat_->beat("copying between slots", &step.name);
  profiler_.time_step(s, slice.rows, false,
                      [&] { fetch(step.inputs.front(), bindings.tensor(step.output()), slice.rows, training); });
}

void StepRunner::fetch(int tensor, void* to, std::int64_t rows, bool training) {
  const trace::Span span("copy", "copy from another slot");
  sync_->wait(tensor, slot_, stream_);
  if (rows > 0)
    device_.copy_between(to, sync_->address(tensor, training), plan_.tensors[at(tensor)].bytes(rows), stream_);
}

void StepRunner::signal(int tensor) {
  if (tensor != plan::kAbsent && sync_->is_shared(tensor)) sync_->signal(tensor, stream_);
}

void StepRunner::signal_forward(std::size_t s, bool training) {
  const plan::Step& step = plan_.steps[s];
  for (const int output : step.outputs) signal(output);
  for (std::size_t k = 0; training && k < step.parameters.size(); ++k)
    if (plan_.parameters[at(step.parameters[k])].kind == plan::ParameterKind::kStatistic)
      signal(step.parameter_gradient_tensors[k]);
}

void StepRunner::signal_backward(std::size_t s) {
  const plan::Step& step = plan_.steps[s];
  for (const int gradient : step.input_gradients) signal(gradient);
  for (std::size_t k = 0; k < step.parameters.size(); ++k)
    if (plan_.parameters[at(step.parameters[k])].kind != plan::ParameterKind::kStatistic)
      signal(step.parameter_gradient_tensors[k]);
}

void StepRunner::signal_losses(bool training) {
  for (const plan::LossStep& loss : plan_.losses)
    if (training && is_in_this_slot(loss)) signal(loss.prediction_gradient);
  sync_->signal_sums(slot_, stream_);
  sums_pending_ = slot_ == 0;
}

void StepRunner::gather_sums() {
  if (!sums_pending_) return;
  sums_pending_ = false;
  for (const plan::LossStep& loss : plan_.losses) {
    if (is_in_this_slot(loss)) continue;
    sync_->wait_for_sums(loss.slot, slot_, stream_);
    device_.copy_between(buffers_->sums_of(loss), sync_->sums(loss.slot) + (buffers_->sums_of(loss) - buffers_->sums()),
                         loss.sums() * sizeof(double), stream_);
  }
}

void StepRunner::release(int set) {
  if (sync_ != nullptr) {
    gather_sums();
    sync_->barrier(slot_, stream_);
  }
  batches_.release(set, stream_);
}

}  // namespace dptrain::runtime
