#pragma once

// Runs a plan over a map of memory that remembers, for every 64 bytes, what was written there last. Knows nothing of
// lifetimes: it finds a tensor that was overwritten before its last reader, wherever the planner went wrong.

#include <cstdint>
#include <string>
#include <vector>

#include "core/index.h"
#include "plan/memory.h"
#include "plan/tail.h"

namespace dptrain::test {

class Simulation {
 public:
  Simulation(const plan::Plan& plan, const plan::MemoryPlan& memory, const std::vector<plan::Need>& needs)
      : plan_(plan), memory_(memory), needs_(needs), owners_(memory.arena_bytes / kGranule) {}

  /// What went wrong, in words; empty: nothing. Training with loss, or prediction of the outputs.
  std::vector<std::string> run(plan::Mode mode) {
    const bool training = mode == plan::Mode::kTraining;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      if (!training || !plan_.steps[s].fused_into_loss) forward(s, training);
    for (const plan::LossStep& loss : plan_.losses) read(loss.prediction, "loss");
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i)
      if (!training || !left_to_a_loss(static_cast<int>(i))) read(plan_.outputs[i], "output");
    if (!training) return problems_;
    write_scratch();
    for (const plan::LossStep& loss : plan_.losses)
      if (loss.prediction_gradient != plan::kAbsent) write(loss.prediction_gradient);
    for (const plan::BackwardItem& item : plan_.backward) backward(item);
    return problems_;
  }

 private:
  static constexpr std::uint64_t kGranule = 64;

  bool left_to_a_loss(int output) const {
    return std::ranges::any_of(plan_.losses, [&](const plan::LossStep& loss) {
      return loss.output == output && loss.fusion != plan::LossStep::Fusion::kNone;
    });
  }

  void forward(std::size_t s, bool training) {
    const plan::Step& step = plan_.steps[s];
    for (const int input : step.inputs) read(input, step.name);
    for (const int output : step.outputs) write(output);
    mark(memory_.saved_offset[s], needs_[s].saved, "saved of " + step.name);
    for (std::size_t k = 0; training && k < step.parameters.size(); ++k)
      if (step.parameter_gradient_tensors[k] != plan::kAbsent &&
          plan_.parameters[at(step.parameters[k])].kind == plan::ParameterKind::kStatistic)
        write(step.parameter_gradient_tensors[k]);
    write_scratch();
  }

  void backward(const plan::BackwardItem& item) {
    using Kind = plan::BackwardItem::Kind;
    if (item.kind != Kind::kStep) {
      read(item.source, "sum");
      if (item.kind == Kind::kAccumulateTensor) read(item.destination, "sum");
      return;
    }
    const plan::Step& step = plan_.steps[at(item.step)];
    const plan::StepReads reads = plan::backward_reads(step);
    const std::string who = "backward of " + step.name;
    for (const int gradient : step.output_gradients) read(gradient, who);
    for (const int input : reads.inputs) read(input, who);
    for (const int output : step.outputs)
      if (reads.output) read(output, who);
    check(memory_.saved_offset[at(item.step)], needs_[at(item.step)].saved, "saved of " + step.name, who);
    write_scratch();
    for (const int gradient : step.input_gradients) write(gradient);
    for (std::size_t k = 0; k < step.parameters.size(); ++k)
      if (plan_.parameters[at(step.parameters[k])].kind == plan::ParameterKind::kTrainable)
        write(step.parameter_gradient_tensors[k]);
    // The op may have used its output's gradient as scratch: nobody may read it again, and it must not be another's
    // memory.
    for (std::size_t i = 0; i < step.input_gradients.size(); ++i)  // it is a summand's gradient now
      if (plan::passes_gradient(step, i) && step.input_gradients[i] != plan::kAbsent) return;
    for (const int gradient : step.output_gradients) {
      if (gradient == plan::kAbsent) continue;
      const plan::Tensor& spent = plan_.tensors[at(plan::root(plan_, gradient))];
      check(memory_.tensor_offset[at(gradient)], bytes(spent), spent.name, who + " (its own scratch)");
      mark(memory_.tensor_offset[at(gradient)], bytes(spent), "garbage");
    }
  }

  std::uint64_t bytes(const plan::Tensor& tensor) const { return tensor.bytes(memory_.rows); }

  void read(int tensor, const std::string& who) {
    const plan::Tensor& t = plan_.tensors[at(plan::root(plan_, tensor))];
    if (!t.external) check(memory_.tensor_offset[at(tensor)], bytes(t), t.name, who);
  }
  void write(int tensor) {
    if (tensor == plan::kAbsent) return;
    const plan::Tensor& t = plan_.tensors[at(plan::root(plan_, tensor))];
    mark(memory_.tensor_offset[at(tensor)], bytes(t), t.name);
  }
  void write_scratch() { mark(memory_.scratch_offset, memory_.scratch_bytes, "scratch"); }

  void mark(std::uint64_t offset, std::uint64_t size, const std::string& owner) {
    if (offset % 64 != 0) problems_.push_back(owner + " is not aligned");
    if (offset + size > memory_.arena_bytes) return problems_.push_back(owner + " lies outside the arena");
    for (std::uint64_t g = offset / kGranule; g < (offset + size + kGranule - 1) / kGranule; ++g) owners_[g] = owner;
  }
  void check(std::uint64_t offset, std::uint64_t size, const std::string& owner, const std::string& who) {
    for (std::uint64_t g = offset / kGranule; g < (offset + size + kGranule - 1) / kGranule; ++g)
      if (owners_[g] != owner) return problems_.push_back(who + " reads " + owner + " but finds " + owners_[g]);
  }

  const plan::Plan& plan_;
  const plan::MemoryPlan& memory_;
  const std::vector<plan::Need>& needs_;
  std::vector<std::string> owners_;
  std::vector<std::string> problems_;
};

}  // namespace dptrain::test
