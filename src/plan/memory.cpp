#include "plan/memory.h"

#include <algorithm>

#include "plan/stages.h"

namespace dptrain::plan {
namespace {

/// Wide enough for any vector and for CUDA's alignment rules.
constexpr std::uint64_t kAlignBytes = 256;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes; }

void extend(Lifetime& life, int moment) {
  life.first = life.last < 0 ? moment : std::min(life.first, moment);
  life.last = std::max(life.last, moment);
}

/// Moments of the time line: step s runs forward at s, the losses at S, backward item i at S + 1 + i.
struct TimeLine {
  const Plan& plan;
  Mode mode;
  const DeferredPasses& deferred;

  bool is_deferred(int s) const { return at(s) < deferred.size() && deferred[at(s)]; }

  int loss() const { return static_cast<int>(plan.steps.size()); }
  int item(std::size_t i) const { return loss() + 1 + static_cast<int>(i); }
  int end() const { return mode == Mode::kInference ? loss() : item(plan.backward.size()); }
  bool runs(const Step& step) const { return mode == Mode::kInference || !step.fused_into_loss; }
};

void add_forward(const TimeLine& time, std::vector<Lifetime>& lives) {
  const Plan& plan = time.plan;
  const auto use = [&](int tensor, int moment) { extend(lives[at(root(plan, tensor))], moment); };
  for (int s = 0; s < time.loss(); ++s) {
    const Step& step = plan.steps[at(s)];
    if (!time.runs(step)) continue;
    for (const int input : step.inputs) {
      use(input, s);
      if (time.is_deferred(s)) use(input, s + 1);
    }
    if (step.copies) use(step.inputs.front(), time.end());
    for (const int output : step.outputs) use(output, s);
    // In training, forward writes statistics to these tensors where another call writes the arena.
    for (std::size_t k = 0; time.mode == Mode::kTraining && k < step.parameters.size(); ++k)
      if (step.parameter_gradient_tensors[k] != kAbsent &&
          plan.parameters[at(step.parameters[k])].kind == ParameterKind::kStatistic)
        use(step.parameter_gradient_tensors[k], s);
  }
  for (const LossStep& loss : plan.losses) {
    use(loss.prediction, time.loss());
    if (loss.has_mask_tensor()) use(loss.mask, time.loss());
  }
  for (const int output : plan.outputs)
    if (lives[at(root(plan, output))].last >= 0) use(output, time.loss());
}

void add_backward(const TimeLine& time, std::vector<Lifetime>& lives) {
  const Plan& plan = time.plan;
  const auto use = [&](int tensor, int moment) {
    if (tensor != kAbsent) extend(lives[at(root(plan, tensor))], moment);
  };
  for (const LossStep& loss : plan.losses) use(loss.prediction_gradient, time.loss());
  for (std::size_t i = 0; i < plan.backward.size(); ++i) {
    const BackwardItem& item = plan.backward[i];
    const int now = time.item(i);
    using Kind = BackwardItem::Kind;
    if (item.kind == Kind::kAccumulateTensor || item.kind == Kind::kFetchTensor) use(item.destination, now);
    if (item.kind != Kind::kStep) {
      use(item.source, item.kind == Kind::kFetchTensor || item.kind == Kind::kFetchParameter ? time.end() : now);
      continue;
    }
    const Step& step = plan.steps[at(item.step)];
    const StepReads reads = backward_reads(step);
    for (const int input : reads.inputs) use(input, now);
    for (const int output : step.outputs)
      if (reads.output) use(output, now);
    for (const int gradient : step.output_gradients) use(gradient, now);
    for (const int gradient : step.input_gradients) use(gradient, now);
    for (const int gradient : step.parameter_gradient_tensors) use(gradient, now);
  }
}

/// A piece of the arena.
struct Block {
  std::uint64_t bytes = 0;
  Lifetime life;
  std::uint64_t* offset = nullptr;
};

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// Greedy first fit, largest first: the lowest offset without overlap of live blocks. Returns the bytes used.
std::uint64_t assign_offsets(std::vector<Block> blocks) {
  std::ranges::stable_sort(blocks, std::greater{}, &Block::bytes);
  std::vector<const Block*> placed;  // by offset
  std::uint64_t used = 0;
  for (const Block& block : blocks) {
    std::uint64_t offset = 0;
    for (const Block* other : placed) {
      if (!overlap(block.life, other->life)) continue;
      if (offset + block.bytes <= *other->offset) break;
      offset = std::max(offset, *other->offset + other->bytes);
    }
    *block.offset = offset;
    used = std::max(used, offset + block.bytes);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, [](const Block* b) { return *b->offset; }), &block);
  }
  return used;
}

/// Places packed weights one after the other: all are alive at all times.
void place_packed(const Plan& plan, const std::vector<Need>& needs, int slot, MemoryPlan& memory) {
  for (std::size_t s = 0; s < needs.size(); ++s) {
    memory.packed_offset.push_back(memory.packed_bytes);
    if (plan.steps[s].slot == slot) memory.packed_bytes += aligned(needs[s].packed);
  }
}

}  // namespace

std::vector<Lifetime> tensor_lifetimes(const Plan& plan, Mode mode, const DeferredPasses& deferred) {
  const TimeLine time{plan, mode, deferred};
  std::vector<Lifetime> lives(plan.tensors.size());
  add_forward(time, lives);
  if (mode == Mode::kTraining) add_backward(time, lives);
  for (int t = 0; t <= last_index(lives.size()); ++t) {
    if (plan.tensors[at(root(plan, t))].external)
      lives[at(t)] = {};
    else
      lives[at(t)] = lives[at(root(plan, t))];
  }
  return lives;
}

// From a step's forward to its backward, if it has one, or to the next step if that runs a part of it.
std::vector<Lifetime> saved_lifetimes(const Plan& plan, Mode mode, const DeferredPasses& deferred) {
  const TimeLine time{plan, mode, deferred};
  std::vector<Lifetime> lives(plan.steps.size());
  for (int s = 0; s < time.loss(); ++s)
    if (time.runs(plan.steps[at(s)])) {
      extend(lives[at(s)], s);
      if (time.is_deferred(s)) extend(lives[at(s)], s + 1);
    }
  if (mode == Mode::kTraining)
    for (std::size_t i = 0; i < plan.backward.size(); ++i)
      if (plan.backward[i].kind == BackwardItem::Kind::kStep) extend(lives[at(plan.backward[i].step)], time.item(i));
  return lives;
}

MemoryPlan plan_memory(const Plan& plan, const std::vector<Need>& needs, const Need& loss_need, std::int64_t rows,
                       Mode mode, int slot, const DeferredPasses& deferred) {
  MemoryPlan memory{.rows = rows};
  memory.tensor_offset.assign(plan.tensors.size(), 0);
  memory.saved_offset.assign(plan.steps.size(), 0);

  const std::vector<Lifetime> lives = tensor_lifetimes(plan, mode, deferred);
  const std::vector<Lifetime> saved = saved_lifetimes(plan, mode, deferred);
  std::vector<Block> blocks;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const Tensor& tensor = plan.tensors[t];
    if (tensor.alias_of != kAbsent || lives[t].last < 0 || tensor.slot != slot) continue;
    const std::uint64_t bytes = tensor.bytes(rows);
    memory.activation_bytes += bytes;
    blocks.push_back({aligned(bytes), lives[t], &memory.tensor_offset[t]});
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    if (saved[s].last >= 0 && needs[s].saved > 0 && plan.steps[s].slot == slot)
      blocks.push_back({aligned(needs[s].saved), saved[s], &memory.saved_offset[s]});

  memory.scratch_bytes = std::max(loss_need.scratch, loss_need.saved);
  std::uint64_t first_pass_scratch = 0;
  for (std::size_t s = 0; s < needs.size(); ++s) {
    if (plan.steps[s].slot != slot) continue;
    memory.scratch_bytes = std::max(memory.scratch_bytes, needs[s].scratch);
    first_pass_scratch = std::max(first_pass_scratch, needs[s].first_pass_scratch);
  }
  memory.first_pass_scratch_offset = aligned(memory.scratch_bytes);
  if (first_pass_scratch > 0) memory.scratch_bytes = memory.first_pass_scratch_offset + first_pass_scratch;
  memory.scratch_offset = assign_offsets(std::move(blocks));
  memory.arena_bytes = memory.scratch_offset + aligned(memory.scratch_bytes);
  place_packed(plan, needs, slot, memory);
  for (std::size_t t = 0; t < plan.tensors.size(); ++t)
    if (plan.tensors[t].alias_of != kAbsent)
      memory.tensor_offset[t] = memory.tensor_offset[at(plan.tensors[t].alias_of)];
  return memory;
}

}  // namespace dptrain::plan
