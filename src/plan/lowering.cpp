#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/format.h"
#include "graph/masks.h"
#include "graph/slots.h"
#include "nn/activations.h"
#include "nn/layer.h"
#include "nn/normalization.h"
#include "nn/reshaping.h"
#include "plan/stages.h"
#include "plan/tail.h"

namespace dptrain::plan {
namespace {

using graph::Port;
using nn::Activation;

class Lowering {
 public:
  explicit Lowering(Draft& draft)
      : draft_(draft),
        plan_(draft.plan),
        graph_(draft.model.graph),
        masks_(graph::masks(graph_)),
        readers_(count_readers()),
        slots_(find_slots()) {
    draft_.node_tensors.resize(graph_.nodes.size());
    node_step_.assign(graph_.nodes.size(), kAbsent);
  }

  void run() {
    unfuse_outputs_read_elsewhere();
    for (int n = 0; n <= last_index(graph_.nodes.size()); ++n) {
      const config::Typed& spec = spec_of(n);
      const bool is_input = spec.get_if<nn::InputSpec>() != nullptr;
      if (starts_at(n) || (is_input && !is_head()))
        add_inputs(n);
      else if (is_input || !is_read(n))
        continue;
      else if (is_view(spec))
        add_view(n);
      else if (!computed_by_producer(n))
        add_steps(n);
    }
    if (is_head())
      for (const Port& port : draft_.options.border) plan_.inputs.push_back(tensor_of(port));
    else
      for (const int n : graph_.inputs) plan_.inputs.push_back(tensor_of(n));
    for (const Port& port : outputs()) plan_.outputs.push_back(tensor_of(port));
    bind_losses();
    weigh_statistics();
  }

 private:
  const graph::Node& node(int n) const { return graph_.nodes[at(n)]; }
  const graph::Layer& layer_of(int n) const { return graph_.layers[at(node(n).layer)]; }
  const config::Typed& spec_of(int n) const { return layer_of(n).spec; }
  int tensor_of(const Port& port) const { return draft_.node_tensors[at(port.node)][at(port.port)]; }

  std::vector<int> find_slots() const {
    std::vector<int> all(graph_.nodes.size(), 0);
    const graph::Slots names(graph_);
    for (std::size_t n = 0; n < all.size() && plan_.slot_count() > 1; ++n) {
      const std::string& name = names.of(graph_.nodes[n]);
      const auto has = [&](const std::vector<std::string>& slot) {
        return std::ranges::find(slot, name) != slot.end();
      };
      all[n] = static_cast<int>(std::ranges::find_if(plan_.slots, has) - plan_.slots.begin());
      if (all[n] == plan_.slot_count()) throw Error(ErrorKind::kInternal, "slot '" + name + "' is not in the plan");
    }
    return all;
  }

  bool is_head() const { return draft_.options.part == Part::kHead; }
  /// Whether the other part computes the node, so that its tensors are inputs of this plan.
  bool starts_at(int n) const {
    return is_head() && std::ranges::find(draft_.options.border, n, &Port::node) != draft_.options.border.end();
  }
  const std::vector<Port>& outputs() const {
    return draft_.options.part == Part::kPrefix ? draft_.options.border : graph_.outputs;
  }

  /// Readers of each output of each node that an output depends on; an output of the plan counts as a reader.
  std::vector<std::vector<int>> count_readers() const {
    std::vector<std::vector<int>> readers;
    for (const graph::Node& node : graph_.nodes) readers.emplace_back(node.outputs.size(), 0);
    const auto read = [&](const Port& port) { ++readers[at(port.node)][at(port.port)]; };
    for (const Port& port : outputs()) read(port);
    for (int n = last_index(graph_.nodes.size()); n >= 0; --n)
      if (std::ranges::any_of(readers[at(n)], [](int count) { return count > 0; }) && !starts_at(n)) {
        std::ranges::for_each(graph_.nodes[at(n)].inputs, read);
        for (const graph::Mask& mask : used_masks(n)) std::ranges::for_each(mask, read);
      }
    return readers;
  }
  /// Whether anything reads the node. The plan omits other nodes.
  bool is_read(int n) const {
    return std::ranges::any_of(readers_[at(n)], [](int count) { return count > 0; });
  }
  int readers(const Port& port) const { return readers_[at(port.node)][at(port.port)]; }

  static bool is_view(const config::Typed& layer) {
    const config::Typed spec = nn::applied(layer).first;
    const auto* activation = spec.get_if<nn::ActivationSpec>();
    return nn::type_of(spec).is_view || (activation != nullptr && activation->activation == Activation::kLinear);
  }

  int add_tensor(Tensor tensor) {
    plan_.tensors.push_back(std::move(tensor));
    return last_index(plan_.tensors.size());
  }

  void add_inputs(int n) {
    const std::vector<Port>& border = draft_.options.border;
    for (int p = 0; p <= last_index(node(n).outputs.size()); ++p) {
      const bool comes_in = !is_head() || std::ranges::find(border, Port(n, p)) != border.end();
      draft_.node_tensors[at(n)].push_back(comes_in ? add_output({n, p}, true) : kAbsent);
    }
  }

  void add_view(int n) {
    const int source = root(plan_, tensor_of(node(n).inputs.front()));
    draft_.node_tensors[at(n)] = {add_output(n, false, source)};
  }

  int add_output(const Port& port, bool external = false, int alias_of = kAbsent) {
    const nn::OutputDef& output = graph::tensor_of(graph_, port);
    return add_tensor({.name = graph::name_of(graph_, port),
                       .shape = output.shape,
                       .alias_of = alias_of,
                       .external = external,
                       .slot = alias_of != kAbsent ? plan_.tensors[at(alias_of)].slot
                               : external          ? 0
                                                   : slots_[at(port.node)],
                       .type = output.type});
  }

  /// A fused loss skips the output's activation, so fusion requires that nothing else reads the output.
  void unfuse_outputs_read_elsewhere() {
    for (LossStep& loss : plan_.losses) {
      const Port& port = graph_.outputs[at(loss.output)];
      if (loss.fusion == LossStep::Fusion::kNone || (readers(port) == 1 && !starts_at(port.node))) continue;
      loss.fusion = LossStep::Fusion::kNone;
      loss.from_logits = false;
    }
  }

  /// Whether a loss computes this activation. It then remains a separate step, which training skips.
  bool is_fused_into_loss(int n, Activation activation) const {
    return activation != Activation::kLinear && std::ranges::any_of(plan_.losses, [&](const LossStep& loss) {
             return Port(n) == graph_.outputs[at(loss.output)] && activation == fused_activation(loss);
           });
  }

  /// Whether an op may compute the layer after its own. The layer must have an op, no weights, no random numbers, no
  /// masks and one output. Its backward must not read the inputs if there are several. A loss must not compute it.
  bool may_follow(int n) const {
    const config::Typed& spec = spec_of(n);
    const nn::LayerType& type = nn::type_of(spec);
    const std::optional<Activation> activation = pure_activation(spec);
    if (!layer_of(n).weights.empty() || nn::is_random(layer_of(n).spec) ||
        (activation && is_fused_into_loss(n, *activation)))
      return false;
    if (type.computed_as || type.applies || type.uses_masks || node(n).outputs.size() > 1) return false;
    const nn::BackwardReads reads = type.backward_reads(spec.spec());
    return node(n).inputs.size() == 1 || !(reads.input || reads.input_to_train);
  }

  /// Adds the node to the tail of the step that it alone reads, if the device can fuse it and its other inputs exist.
  bool computed_by_producer(int n) {
    if (!may_follow(n)) return false;
    const std::optional<Activation> activation = pure_activation(spec_of(n));
    const config::Typed layer = activation ? layer_of_activation(*activation) : spec_of(n);
    for (std::size_t i = node(n).inputs.size(); i-- > 0;) {
      Step* producer = only_reads(n, i);
      if (producer == nullptr || !others_exist(n, i)) continue;
      if (producer->slot != slots_[at(n)]) continue;
      // An op that treats steps as samples can fuse activations only.
      if (producer->frame_axes > 0 && !activation) continue;
      const std::optional<TailFusion> fusion = fuses(*producer, layer, shapes_of_inputs(n), node(n).output());
      if (!fusion) continue;
      fuse_into(n, i, *producer, {.layer = layer, .fusion = *fusion, .other_inputs = node(n).inputs.size() - 1});
      return true;
    }
    return false;
  }

  static config::Typed layer_of_activation(Activation activation) {
    return nn::layer_family().make(nn::ActivationSpec{activation});
  }

  std::vector<Shape> shapes_of_inputs(int n) const {
    std::vector<Shape> shapes;
    for (const Port& input : node(n).inputs) shapes.push_back(graph::tensor_of(graph_, input).shape);
    return shapes;
  }

  std::optional<TailFusion> fuses(const Step& step, const config::Typed& layer, const std::vector<Shape>& layer_inputs,
                                  const Shape& layer_output) const {
    std::vector<Shape> inputs;
    for (std::size_t i = 0; i < own_inputs(step); ++i)
      inputs.push_back(shape_for_op(step, plan_.tensors[at(step.inputs[i])].shape));
    std::vector<Shape> behind;
    for (const Shape& shape : layer_inputs) behind.push_back(shape_for_op(step, shape));
    return draft_.device.fuses({.step = step,
                                .inputs = inputs,
                                .layer = layer,
                                .layer_inputs = behind,
                                .layer_output = shape_for_op(step, layer_output)});
  }

  /// Whether all inputs of node `n` but `i` are written before the step that computes input `i`.
  bool others_exist(int n, std::size_t i) const {
    for (std::size_t k = 0; k < node(n).inputs.size(); ++k)
      if (k != i && written_by(tensor_of(node(n).inputs[k])) >= node_step_[at(node(n).inputs[i].node)]) return false;
    return true;
  }

  /// The step that writes the tensor's memory; kAbsent for inputs of the plan.
  int written_by(int tensor) const {
    for (int s = last_index(plan_.steps.size()); s >= 0; --s)
      if (std::ranges::find(plan_.steps[at(s)].outputs, root(plan_, tensor)) != plan_.steps[at(s)].outputs.end())
        return s;
    return kAbsent;
  }

  /// The step that computes input `i` of node `n`, if it has one output and no other reader; else null.
  Step* only_reads(int n, std::size_t i) {
    const Port& input = node(n).inputs[i];
    if (node_step_[at(input.node)] == kAbsent || readers(input) != 1 || node(input.node).outputs.size() > 1)
      return nullptr;
    return &plan_.steps[at(node_step_[at(input.node)])];
  }

  void fuse_into(int n, std::size_t i, Step& step, TailEntry entry) {
    for (std::size_t k = 0; k < node(n).inputs.size(); ++k)
      if (k != i) step.inputs.push_back(tensor_of(node(n).inputs[k]));
    step.tail.push_back(std::move(entry));
    std::size_t passing = 0;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) passing += passes_gradient(step, k) ? 1 : 0;
    if (passing > 1)
      throw Error(ErrorKind::kInternal,
                  fmt::format("step '{}' would leave {} gradients in one place", step.name, passing));
    Tensor& output = plan_.tensors[at(step.output())];
    output.name = node(n).name;
    output.shape = node(n).output();
    draft_.node_tensors[at(n)] = step.outputs;
    node_step_[at(n)] = node_step_[at(node(n).inputs[i].node)];
  }

  void add_steps(int n) {
    const config::Typed& spec = spec_of(n);
    const Activation activation = nn::activation_of(spec).value_or(Activation::kLinear);
    Step step{.name = node(n).name, .node = n, .slot = slots_[at(n)]};
    set_layer(step, nn::without_activation(spec), graph::tensor_of(graph_, node(n).inputs.front()).shape);
    for (const Port& input : node(n).inputs) step.inputs.push_back(tensor_of(input));
    add_masks(n, step);
    step.parameters = layer_of(n).weights;
    set_normalisation(step, layer_of(n).trainable);

    if (activation == Activation::kLinear) return add_step(std::move(step));
    const config::Typed behind = layer_of_activation(activation);
    if (!is_fused_into_loss(n, activation))
      if (const auto fusion = fuses(step, behind, {node(n).output()}, node(n).output())) {
        step.tail.push_back({.layer = behind, .fusion = *fusion});
        return add_step(std::move(step));
      }
    add_step(std::move(step));
    add_step({.name = node(n).name + "/" + nn::name_of(activation),
              .node = n,
              .slot = slots_[at(n)],
              .spec = behind,
              .inputs = {tensor_of(n)}});
  }

  /// The mask of each input if the node's op reads masks; else empty.
  std::vector<graph::Mask> used_masks(int n) const {
    const config::Typed& spec = graph_.layers[at(node(n).layer)].spec;
    if (!nn::type_of(spec).uses_masks) return {};
    return graph::input_masks(graph_, node(n), masks_);
  }
  /// Adds the masks of the inputs as further inputs. The graph has checked that each is one tensor.
  void add_masks(int n, Step& step) const {
    for (const graph::Mask& mask : used_masks(n)) {
      step.masks.push_back(mask.empty() ? kAbsent : last_index(step.inputs.size()) + 1);
      if (!mask.empty()) step.inputs.push_back(tensor_of(mask.front()));
    }
  }

  void add_step(Step step) {
    for (int p = 0; p <= last_index(node(step.node).outputs.size()); ++p)
      step.outputs.push_back(add_output({step.node, p}));
    plan_.tensors[at(step.output())].name = step.name;
    draft_.node_tensors[at(step.node)] = step.outputs;
    node_step_[at(step.node)] = last_index(plan_.steps.size()) + 1;
    plan_.steps.push_back(std::move(step));
  }

  void set_normalisation(Step& step, bool trainable) const {
    const auto* norm = step.spec.get_if<nn::BatchNormalizationSpec>();
    if (norm == nullptr) return;
    step.inference_mode = !trainable || norm->inference_mode;
    if (!draft_.options.sync_batchnorm || norm->synchronized) return;
    auto synchronized = std::make_shared<nn::BatchNormalizationSpec>(*norm);
    synchronized->synchronized = true;
    step.spec = config::Typed(step.spec.def(), std::move(synchronized), step.spec.mark());
  }

  void bind_losses() {
    for (LossStep& loss : plan_.losses) {
      loss.prediction = plan_.outputs[at(loss.output)];
      const Port& port = graph_.outputs[at(loss.output)];
      if (loss.has_mask_tensor()) loss.mask = tensor_of(masks_[at(port.node)][at(port.port)].front());
      if (loss.fusion == LossStep::Fusion::kNone) continue;
      Step& activation = plan_.steps[at(node_step_[at(port.node)])];
      activation.fused_into_loss = true;
      loss.prediction = activation.inputs.front();
    }
  }

  /// Keras updates moving values in every call: new = m new + (1 - m) value. After calls 1..k that is
  /// m^k old + sum of (1 - m) m^(k-i) value_i, which is one update with momentum m^k and the weights below.
  void weigh_statistics() {
    std::vector<std::vector<Step*>> calls_of(graph_.layers.size());
    for (Step& step : plan_.steps)
      if (!step.parameters.empty()) calls_of[at(node(step.node).layer)].push_back(&step);
    for (const std::vector<Step*>& calls : calls_of) {
      if (calls.size() < 2) continue;
      for (const int w : calls.front()->parameters) {
        Parameter& p = plan_.parameters[at(w)];
        if (p.kind != ParameterKind::kStatistic) continue;
        const double m = p.momentum;
        double sum = 0, weight = 1;
        for (std::size_t i = calls.size(); i-- > 0; weight *= m) {
          calls[i]->statistics_weight = weight;
          sum += weight;
        }
        for (Step* call : calls) call->statistics_weight /= sum;
        p.momentum = weight;
      }
    }
  }

  Draft& draft_;
  Plan& plan_;
  const graph::Graph& graph_;
  const std::vector<std::vector<graph::Mask>> masks_;  ///< per node and output
  const std::vector<std::vector<int>> readers_;        ///< per node and output
  const std::vector<int> slots_;                       ///< per node
  std::vector<int> node_step_;  ///< the step that wrote a node's tensors; kAbsent for inputs and views
};

}  // namespace

void lower(Draft& draft) { Lowering(draft).run(); }

}  // namespace dptrain::plan
