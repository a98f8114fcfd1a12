#include <algorithm>

#include "core/format.h"
#include "plan/stages.h"
#include "plan/tail.h"

namespace dptrain::plan {
namespace {

/// Walks the steps backward. What is used once has one writer, which overwrites. What is used more often is written by
/// its first user in backward order; every later one writes a tensor of its own, and an item of the plan adds that. So
/// a gradient tensor has exactly one reader, the step that made the tensor, which may use it as scratch. A user in
/// another slot writes in its own, and an item fetches that: the sums are those of one slot, in the same order.
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
  /// A tensor's gradient is wanted when something trainable lies at or below the step that makes it.
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

  /// A tensor that a user of `source` writes its gradient to: the gradient itself, for later users and those in other
  /// slots one to be delivered.
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

  /// What a user has written becomes part of the gradient.
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

  /// A loss writes its own; where it is not the only one of that tensor's, it is added to the first.
  void add_prediction_gradient(LossStep& loss) {
    const int source = origin_[at(loss.prediction)];
    if (!wanted_[at(source)]) return;
    loss.prediction_gradient = gradient_for(source, loss.slot);
    deliver(source, loss.prediction_gradient);
  }

  void visit(int index) {
    Step& step = plan_.steps[at(index)];
    for (const int output : step.outputs) step.output_gradients.push_back(gradient_[at(output)]);
    // None: no output leads to a loss, and there is nothing to go back from.
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
    if (parameter.kind == ParameterKind::kTable) return;  // which adds up what all its steps give
    const bool first = !written_[at(p)], at_home = step.slot == 0;
    written_[at(p)] = true;
    if (first && at_home) return;
    const std::string name = fmt::format("d {} ({})", parameter.path, step.name);
    int part = step.parameter_gradient_tensors[i] = add_tensor(name, parameter.shape, step.slot, true);
    if (first) {
      plan_.backward.push_back({.kind = BackwardItem::Kind::kFetchParameter, .destination = p, .source = part});
      return;
    }
    if (!at_home) {
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

  /// A step's one reader may go back through the last of the step's tail: a max-pooling hands gradients only to maxima,
  /// so its own output, smaller by the window, says where a ReLU below it let them through.
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
  std::vector<bool> wanted_;   ///< per tensor of forward
  std::vector<int> gradient_;  ///< per tensor of forward: its gradient tensor
  std::vector<bool> started_;  ///< per tensor of forward: its gradient has had its first writer
  std::vector<int> origin_;    ///< per tensor of forward: of a copy the tensor that it is a copy of, else its memory
  std::vector<bool> written_;  ///< per parameter: the arena has its writer
};

}  // namespace

void plan_backward(Draft& draft) { BackwardPlanner(draft).run(); }

}  // namespace dptrain::plan
