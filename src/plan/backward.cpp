#include <algorithm>

#include "core/format.h"
#include "plan/stages.h"
#include "plan/tail.h"

namespace dptrain::plan {
namespace {

/// Walks the steps backward. A tensor's gradient is written by its first user in backward order. Every later user
/// writes a tensor of its own, which an item of the plan adds. So exactly one step reads a gradient, the one that
/// computes the tensor; it may use the gradient as scratch. A user in another slot writes in its slot, and an item
/// fetches the result. The sums are thus those of one slot, in the same order.
class BackwardPlanner {
 public:
  explicit BackwardPlanner(Draft& draft) : draft_(draft), plan_(draft.plan) {}

  void run() {
    for (Step& step : plan_.steps) {
      step.input_gradients.assign(step.inputs.size(), kAbsent);
      step.parameter_gradients.assign(step.parameters.size(), false);
      step.parameter_gradient_tensors.assign(step.parameters.size(), kAbsent);
    }
    if (!plan_.has_loss()) return;
    find_wanted();
    gradient_.assign(plan_.tensors.size(), kAbsent);
    started_.assign(plan_.tensors.size(), false);
    find_origins();
    written_.assign(plan_.parameters.size(), false);
    for (LossStep& loss : plan_.losses) add_prediction_gradient(loss);
    for (int s = last_index(plan_.steps.size()); s >= 0; --s)
      if (!plan_.steps[at(s)].fused_into_loss) visit(s);
    leave_to_readers();
  }

 private:
  /// Marks tensors that need a gradient: their step, or a step before it, has trained parameters.
  void find_wanted() {
    wanted_.assign(plan_.tensors.size(), false);
    for (const Step& step : plan_.steps) {
      bool wanted = false;
      for (const int p : step.parameters) wanted = wanted || is_trained(plan_.parameters[at(p)].kind);
      for (const int input : step.inputs) wanted = wanted || wanted_[at(root(plan_, input))];
      for (const int output : step.outputs) wanted_[at(output)] = wanted && plan_.tensors[at(output)].is_float();
    }
  }

  void find_origins() {
    for (int t = 0; t <= last_index(plan_.tensors.size()); ++t) origin_.push_back(root(plan_, t));
    for (const Step& step : plan_.steps)
      if (step.copies) origin_[at(step.output())] = root(plan_, step.inputs.front());
    for (int& origin : origin_) origin = origin_[at(origin)];  // views of copies
  }

  int add_tensor(const std::string& name, const Shape& shape, int slot, bool rowless = false) {
    plan_.tensors.push_back({.name = name, .shape = shape, .rowless = rowless, .slot = slot});
    return last_index(plan_.tensors.size());
  }

  /// The tensor that a user of `source` writes its gradient to. It is the gradient itself for the first user if that is
  /// in the same slot; otherwise it is a new tensor that deliver() adds.
  int gradient_for(int source, int slot) {
    const Tensor of = plan_.tensors[at(source)];
    int& gradient = gradient_[at(source)];
    const bool first = gradient == kAbsent;
    if (first) gradient = add_tensor("d " + of.name, of.shape, of.slot);
    return first && slot == of.slot ? gradient : add_part(source, slot);
  }
  int add_part(int source, int slot) {
    const Tensor of = plan_.tensors[at(source)];
    return add_tensor(fmt::format("d {} (part)", of.name), of.shape, slot);
  }

  /// Adds what a user has written to the gradient of `source`, fetching it first if it is in another slot.
  void deliver(int source, int written) {
    const int gradient = gradient_[at(source)];
    const bool first = !started_[at(source)];
    started_[at(source)] = true;
    if (written == gradient) return;
    const int slot = plan_.tensors[at(gradient)].slot;
    int here = written;
    if (plan_.tensors[at(written)].slot != slot) {
      here = first ? gradient : add_part(source, slot);
      plan_.backward.push_back({.kind = BackwardItem::Kind::kFetchTensor, .destination = here, .source = written});
    }
    if (here != gradient)
      plan_.backward.push_back(
          {.kind = BackwardItem::Kind::kAccumulateTensor, .destination = gradient, .source = here});
  }

  /// The loss writes the gradient of its prediction. If another loss reads the same tensor, the gradients are added.
  void add_prediction_gradient(LossStep& loss) {
    const int source = origin_[at(loss.prediction)];
    if (!wanted_[at(source)]) return;
    loss.prediction_gradient = gradient_for(source, loss.slot);
    deliver(source, loss.prediction_gradient);
  }

  void visit(int index) {
    Step& step = plan_.steps[at(index)];
    for (const int output : step.outputs) step.output_gradients.push_back(gradient_[at(output)]);
    // If no output has a gradient, no loss depends on the step.
    step.has_backward = std::ranges::any_of(step.output_gradients, [](int gradient) { return gradient != kAbsent; });
    if (step.has_backward) plan_.backward.push_back({.kind = BackwardItem::Kind::kStep, .step = index});
    for (std::size_t i = 0; step.has_backward && i < step.inputs.size(); ++i) add_input_gradient(step, i);
    for (std::size_t i = 0; i < step.parameters.size(); ++i) add_parameter_gradient(step, i);
  }

  void add_input_gradient(Step& step, std::size_t i) {
    const int source = origin_[at(step.inputs[i])];
    if (!wanted_[at(source)]) return;
    step.input_gradients[i] = gradient_for(source, step.slot);
    if (passes_gradient(step, i))
      plan_.tensors[at(step.input_gradients[i])].alias_of = root(plan_, step.output_gradients.front());
    deliver(source, step.input_gradients[i]);
  }

  void add_parameter_gradient(Step& step, std::size_t i) {
    const int p = step.parameters[i];
    const Parameter& parameter = plan_.parameters[at(p)];
    const bool statistic = parameter.kind == ParameterKind::kStatistic && !step.inference_mode;
    if ((!is_trained(parameter.kind) || !step.has_backward) && !statistic) return;
    step.parameter_gradients[i] = true;
    if (parameter.kind == ParameterKind::kTable) return;  // the row table adds up the gradients of all steps
    const bool first = !written_[at(p)], in_primary_slot = step.slot == 0;
    written_[at(p)] = true;
    if (first && in_primary_slot) return;
    const std::string name = fmt::format("d {} ({})", parameter.path, step.name);
    int part = step.parameter_gradient_tensors[i] = add_tensor(name, parameter.shape, step.slot, true);
    if (first) {
      plan_.backward.push_back({.kind = BackwardItem::Kind::kFetchParameter, .destination = p, .source = part});
      return;
    }
    if (!in_primary_slot) {
      const int here = add_tensor(name, parameter.shape, 0, true);
      plan_.backward.push_back({.kind = BackwardItem::Kind::kFetchTensor, .destination = here, .source = part});
      part = here;
    }
    plan_.backward.push_back({.kind = BackwardItem::Kind::kAccumulateParameter, .destination = p, .source = part});
  }

  int readers(int tensor) const {
    int count = 0;
    for (const Step& step : plan_.steps)
      for (const int input : step.inputs) count += root(plan_, input) == tensor ? 1 : 0;
    for (const int output : plan_.outputs) count += root(plan_, output) == tensor ? 1 : 0;
    return count;
  }

  /// Lets the only reader of a step include the step's last fused layer in its backward. Example: max-pooling passes
  /// gradients only to maxima, so its own, smaller output shows where a ReLU before it is positive.
  void leave_to_readers() {
    for (Step& reader : plan_.steps) {
      if (!reader.has_backward || reader.inputs.size() != 1) continue;
      for (Step& producer : plan_.steps) {
        if (producer.output() != reader.inputs.front() || producer.tail.empty() || !producer.has_backward) continue;
        TailEntry& last = producer.tail.back();
        if (readers(producer.output()) != 1 || !draft_.device.undoes(reader, last)) continue;
        last.undone = true;
        reader.undoes = last.layer;
      }
    }
  }

  Draft& draft_;
  Plan& plan_;
  std::vector<bool> wanted_;   ///< per forward tensor
  std::vector<int> gradient_;  ///< per forward tensor: its gradient tensor
  std::vector<bool> started_;  ///< per forward tensor: whether a user has written the gradient
  std::vector<int> origin_;    ///< per forward tensor: the tensor that owns its memory; for a copy, that of its source
  std::vector<bool> written_;  ///< per parameter: whether a step has written its gradient in the arena
};

}  // namespace

void plan_backward(Draft& draft) { BackwardPlanner(draft).run(); }

}  // namespace dptrain::plan
