#pragma once

// Runs a plan over a map of memory that records the last writer of every 64 bytes. It does not use lifetimes, so it
// finds tensors overwritten before their last reader independent of the planner. With several slots, each has a memory
// and a list of actions; their order is drawn from a seed, subject to their waits.

#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/index.h"
#include "plan/memory.h"
#include "plan/tail.h"

namespace dptrain::test {

class Simulation {
 public:
  Simulation(const plan::Plan& plan, const plan::MemoryPlan& memory, const std::vector<plan::Need>& needs)
      : Simulation(plan, std::vector<plan::MemoryPlan>{memory}, needs, 0) {}
  /// One memory per slot.
  Simulation(const plan::Plan& plan, const std::vector<plan::MemoryPlan>& memories,
             const std::vector<plan::Need>& needs, std::uint64_t seed)
      : plan_(plan), memories_(memories), needs_(needs), lists_(memories.size()), random_(seed) {
    for (const plan::MemoryPlan& memory : memories) owners_.emplace_back(memory.arena_bytes / kGranule);
  }

  /// Errors as text; empty if none. Training with loss, or prediction of the outputs.
  std::vector<std::string> run(plan::Mode mode) {
    const bool training = mode == plan::Mode::kTraining;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const plan::Step& step = plan_.steps[s];
      if (training && step.fused_into_loss) continue;
      then(
          step.slot, [this, s, training] { forward(s, training); }, step.copies ? step.inputs.front() : plan::kAbsent);
    }
    for (const plan::LossStep& loss : plan_.losses) then(loss.slot, [this, &loss] { read(loss.prediction, "loss"); });
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i)
      if (!training || !left_to_a_loss(static_cast<int>(i)))
        then(slot_of(plan_.outputs[i]), [this, i] { read(plan_.outputs[i], "output"); });
    for (const plan::LossStep& loss : plan_.losses)
      if (training) {
        then(loss.slot, [this, &loss] {
          write_scratch(loss.slot);
          write(loss.prediction_gradient);
        });
      }
    for (std::size_t i = 0; training && i < plan_.backward.size(); ++i) {
      const plan::BackwardItem& item = plan_.backward[i];
      then(
          plan::slot_of(plan_, item), [this, &item] { backward(item); }, fetches(item) ? item.source : plan::kAbsent);
    }
    run_lists();
    return problems_;
  }

 private:
  static constexpr std::uint64_t kGranule = 64;

  struct Action {
    std::function<void()> run;
    int awaits = plan::kAbsent;  ///< a tensor of another slot
  };

  static bool fetches(const plan::BackwardItem& item) {
    using Kind = plan::BackwardItem::Kind;
    return item.kind == Kind::kFetchTensor || item.kind == Kind::kFetchParameter;
  }
  int slot_of(int tensor) const { return plan_.tensors[at(plan::root(plan_, tensor))].slot; }
  void then(int slot, std::function<void()> action, int awaits = plan::kAbsent) {
    lists_[at(slot)].push_back({std::move(action), awaits});
  }
  void run_lists() {
    std::vector<std::size_t> next(lists_.size(), 0);
    while (true) {
      std::vector<std::size_t> ready;
      bool done = true;
      for (std::size_t slot = 0; slot < lists_.size(); ++slot) {
        if (next[slot] == lists_[slot].size()) continue;
        done = false;
        const int awaits = lists_[slot][next[slot]].awaits;
        if (awaits == plan::kAbsent || written_.contains(awaits)) ready.push_back(slot);
      }
      if (done) return;
      if (ready.empty()) return problems_.push_back("the slots wait for one another");
      const std::size_t slot = ready[random_() % ready.size()];
      // Some slots run far ahead.
      for (std::size_t more = random_() % 4 == 0 ? 1000 : 1; more > 0 && next[slot] < lists_[slot].size(); --more) {
        const Action& action = lists_[slot][next[slot]];
        if (action.awaits != plan::kAbsent && !written_.contains(action.awaits)) break;
        action.run();
        ++next[slot];
      }
    }
  }

  bool left_to_a_loss(int output) const {
    return std::ranges::any_of(plan_.losses, [&](const plan::LossStep& loss) {
      return loss.output == output && loss.fusion != plan::LossStep::Fusion::kNone;
    });
  }

  void forward(std::size_t s, bool training) {
    const plan::Step& step = plan_.steps[s];
    for (const int input : step.inputs) read(input, step.name);
    for (const int output : step.outputs) write(output);
    if (step.copies) return;
    mark(step.slot, memories_[at(step.slot)].saved_offset[s], needs_[s].saved, "saved of " + step.name);
    for (std::size_t k = 0; training && k < step.parameters.size(); ++k)
      if (step.parameter_gradient_tensors[k] != plan::kAbsent &&
          plan_.parameters[at(step.parameters[k])].kind == plan::ParameterKind::kStatistic)
        write(step.parameter_gradient_tensors[k]);
    write_scratch(step.slot);
  }

  void backward(const plan::BackwardItem& item) {
    using Kind = plan::BackwardItem::Kind;
    if (item.kind != Kind::kStep) {
      read(item.source, "sum");
      if (item.kind == Kind::kAccumulateTensor) read(item.destination, "sum");
      if (item.kind == Kind::kFetchTensor) write(item.destination);
      return;
    }
    const plan::Step& step = plan_.steps[at(item.step)];
    const plan::StepReads reads = plan::backward_reads(step);
    const std::string who = "backward of " + step.name;
    for (const int gradient : step.output_gradients) read(gradient, who);
    for (const int input : reads.inputs) read(input, who);
    for (const int output : step.outputs)
      if (reads.output) read(output, who);
    check(step.slot, memories_[at(step.slot)].saved_offset[at(item.step)], needs_[at(item.step)].saved,
          "saved of " + step.name, who);
    write_scratch(step.slot);
    for (const int gradient : step.input_gradients) write(gradient);
    for (std::size_t k = 0; k < step.parameters.size(); ++k)
      if (plan_.parameters[at(step.parameters[k])].kind == plan::ParameterKind::kTrainable)
        write(step.parameter_gradient_tensors[k]);
    // The op may use its output's gradient as scratch: no later reader, and not another tensor's memory.
    for (std::size_t i = 0; i < step.input_gradients.size(); ++i)  // now a summand's gradient
      if (plan::passes_gradient(step, i) && step.input_gradients[i] != plan::kAbsent) return;
    for (const int gradient : step.output_gradients) {
      if (gradient == plan::kAbsent) continue;
      const plan::Tensor& spent = plan_.tensors[at(plan::root(plan_, gradient))];
      const std::uint64_t offset = memories_[at(step.slot)].tensor_offset[at(gradient)];
      check(step.slot, offset, bytes(spent), spent.name, who + " (its own scratch)");
      mark(step.slot, offset, bytes(spent), "garbage");
    }
  }

  std::uint64_t bytes(const plan::Tensor& tensor) const { return tensor.bytes(memories_.front().rows); }

  void read(int tensor, const std::string& who) {
    const plan::Tensor& t = plan_.tensors[at(plan::root(plan_, tensor))];
    if (!t.external) check(t.slot, memories_[at(t.slot)].tensor_offset[at(tensor)], bytes(t), t.name, who);
  }
  void write(int tensor) {
    if (tensor == plan::kAbsent) return;
    const plan::Tensor& t = plan_.tensors[at(plan::root(plan_, tensor))];
    mark(t.slot, memories_[at(t.slot)].tensor_offset[at(tensor)], bytes(t), t.name);
    written_.insert(tensor);
  }
  void write_scratch(int slot) {
    mark(slot, memories_[at(slot)].scratch_offset, memories_[at(slot)].scratch_bytes, "scratch");
  }

  void mark(int slot, std::uint64_t offset, std::uint64_t size, const std::string& owner) {
    if (offset % 64 != 0) problems_.push_back(owner + " is not aligned");
    if (offset + size > memories_[at(slot)].arena_bytes) return problems_.push_back(owner + " lies outside the arena");
    for (std::uint64_t g = offset / kGranule; g < (offset + size + kGranule - 1) / kGranule; ++g)
      owners_[at(slot)][g] = owner;
  }
  void check(int slot, std::uint64_t offset, std::uint64_t size, const std::string& owner, const std::string& who) {
    for (std::uint64_t g = offset / kGranule; g < (offset + size + kGranule - 1) / kGranule; ++g)
      if (owners_[at(slot)][g] != owner)
        return problems_.push_back(who + " reads " + owner + " but finds " + owners_[at(slot)][g]);
  }

  const plan::Plan& plan_;
  const std::vector<plan::MemoryPlan> memories_;
  const std::vector<plan::Need>& needs_;
  std::vector<std::vector<std::string>> owners_;  ///< per slot
  std::vector<std::vector<Action>> lists_;        ///< per slot
  std::set<int> written_;
  std::mt19937_64 random_;
  std::vector<std::string> problems_;
};

}  // namespace dptrain::test
