#include "graph/expansion.h"

#include <algorithm>

#include "config/synonyms.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "graph/expander.h"
#include "nn/layer.h"

namespace dptrain::graph {
namespace {

using config::Reader;

std::tuple<const config::Source*, int, int> place(const config::Mark& mark) {
  return {mark.source.get(), mark.line, mark.column};
}

/// "Conv2D 'conv1'", or the type alone if the name is not known yet.
std::string title(const ListedStep& step) {
  const config::Node* name = step.reserved("name");
  const bool plain = name != nullptr && name->is_scalar() && name->str().find('$') == std::string::npos;
  return plain ? fmt::format("{} '{}'", step.type, name->str()) : step.type;
}

using nn::LayerError;
using nn::LayerType;
using nn::TensorDef;

/// 4 TiB of floats. Larger tensors are mistakes, and later products would overflow 64 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

bool too_large(const Shape& shape) {
  std::int64_t room = kMaxElements;
  for (const std::int64_t extent : shape.dims())
    if ((room /= std::max<std::int64_t>(extent, 1)) == 0) return true;
  return false;
}

void check_arity(const LayerType& type, std::size_t found) {
  const int n = static_cast<int>(found);
  if (n >= type.min_inputs && (type.max_inputs < 0 || n <= type.max_inputs)) return;
  const bool exact = type.max_inputs == type.min_inputs;
  throw LayerError(
      fmt::format("expected {}{}, found {}", exact ? "" : "at least ", counted(type.min_inputs, "input"), n));
}

void check_types(const LayerType& type, std::span<const TensorDef> inputs, std::span<const std::string> names) {
  for (std::size_t i = 0; !type.is_view && i < inputs.size(); ++i) {
    if (inputs[i].type == type.input_type) continue;
    throw LayerError(type.input_type == DType::kI32
                         ? fmt::format("expected int32 ids, {} is floats; give its Input dtype: int32", names[i])
                         : fmt::format("expected floats, {} is {} ids; an Embedding makes vectors of them", names[i],
                                       name_of(inputs[i].type)));
  }
}

void check_rank(const LayerType& type, std::span<const TensorDef> inputs, std::span<const std::string> names) {
  for (std::size_t i = 0; type.input_rank != 0 && i < inputs.size(); ++i)
    if (inputs[i].shape.rank() != type.input_rank)
      throw LayerError(fmt::format("expected an input of {} axes{}, {} is {}", type.input_rank,
                                   type.input_rank == 3   ? " (height, width, channels)"
                                   : type.input_rank == 2 ? " (steps, features)"
                                                          : "",
                                   names[i], inputs[i].shape.str()));
}

/// Replaces {0}, {1}, ... by the names.
std::string with_names(std::string text, std::span<const std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string hole = fmt::format("{{{}}}", i);
    for (std::size_t at = 0; (at = text.find(hole, at)) != std::string::npos; at += names[i].size())
      text.replace(at, hole.size(), names[i]);
  }
  return text;
}

}  // namespace

Expansion expand(const config::Node& layers, const Definitions& definitions, Reader& reader) {
  return Expander(definitions, reader).run(layers);
}

Expansion Expander::run(const config::Node& layers) {
  Scope top;
  top.definitions = &definitions_;
  for (const Source& source : chain(layers, top)) result_.last.push_back(source.port);
  result_.names = std::move(top.names);
  for (const auto& [name, entry] : definitions_.shared)
    if (!shared_.contains(name)) reader_.diagnostics().warn(entry.mark, fmt::format("shared '{}' is never used", name));
  return std::move(result_);
}

Sources Expander::chain(const config::Node& layers, Scope& scope) {
  Sources above = scope.input;
  if (scope.input_names.size() > 1) above.resize(1);  // with several named inputs, steps read the others by name
  if (!layers.is_sequence() || layers.items().empty()) {
    reader_.error(layers, fmt::format("layers must be a list of steps, found {}", layers.describe()));
    return {Source{}};
  }
  for (const config::Node& node : layers.items()) {
    if (steps_ > kMaxSteps) return {Source{}};
    const std::optional<ListedStep> read = listed(node);
    if (read) {
      above = step(*read, scope, above);
    } else {
      above = {Source{}};
      scope.blind = true;
    }
  }
  return above;
}

std::optional<ListedStep> Expander::listed(const config::Node& node) {
  std::optional<ListedStep> step = read_step(node, reader_);
  if (!step || !step->type.starts_with('$')) return step;
  config::Node parameter = config::Node::scalar(step->type, step->mark);
  parameter.set_literal(false);
  const auto type = reader_.text(parameter);
  if (!type || (*type == step->type && !reader_.diagnostics().ok())) return std::nullopt;  // unknown, reported
  step->type = *type;
  return step;
}

Sources Expander::step(const ListedStep& step, Scope& scope, const Sources& above) {
  if (failed_.contains(place(step.mark))) return failed(step, scope);
  const std::size_t errors = reader_.diagnostics().errors().size();
  const Reader::Subject subject(reader_, title(step));
  const auto wanted = condition(step);
  const auto base = name(step, scope);
  const auto count = copies(step);
  if (!wanted || !base || !count) return failed(step, scope);
  if (!*wanted) {
    if (*base) scope.left_out.emplace(**base, step.mark);
    return above;
  }
  Sources last = above;
  const bool numbered = step.reserved("repeat") != nullptr;
  for (std::int64_t n = 1; n <= *count; ++n) {
    std::optional<std::string> local = *base;
    if (local && numbered && !local->empty()) local = repeated_name(*local, n);
    const Source before = n > 1 ? last.front() : Source{};
    last = {copy({step, local, above, n > 1 ? &before : nullptr}, scope)};
    if (reader_.diagnostics().errors().size() > errors) return failed(step, scope);
    if (steps_ > kMaxSteps) break;
  }
  return last;
}

Sources Expander::failed(const ListedStep& step, Scope& scope) {
  failed_.insert(place(step.mark));
  const config::Node* name = step.reserved("name");
  const bool known = name != nullptr && name->is_scalar() && name->str().find('$') == std::string::npos &&
                     step.reserved("repeat") == nullptr;
  if (known)
    scope.names.emplace(name->str(), -1);
  else
    scope.blind = true;
  return {Source{}};
}

Source Expander::copy(const Call& call, Scope& scope) {
  const ListedStep& step = call.step;
  if (++steps_ > kMaxSteps) {
    if (steps_ == kMaxSteps + 1)
      reader_.error(step.mark, fmt::format("the model has more than {} steps", with_commas(kMaxSteps)));
    return {};
  }
  if (const config::TypeDef* type = nn::layer_family().find(step.type))
    return layer(call, static_cast<const nn::LayerType&>(*type), scope);
  const Definitions& known = *scope.definitions;
  if (const auto block = known.blocks.find(step.type); block != known.blocks.end())
    return this->block(call, block->second, scope);
  if (const auto entry = known.shared.find(step.type); entry != known.shared.end())
    return shared(call, entry->second, scope);
  if (const Network* network = find_network(step.type)) return this->network(call, *network, scope);
  std::string hint = config::hint_for(step.type, "layer", known.type_names());
  if (hint.empty()) hint = "; docs/reference/layers.md lists the layers, model.blocks and model.shared name your own";
  reader_.diagnostics().error(step.mark, fmt::format("unknown layer '{}'{}", step.type, hint));
  return {};
}

Source Expander::layer(const Call& call, const nn::LayerType& type, Scope& scope) {
  const ListedStep& step = call.step;
  SharedLayers* const shared = scope.shared;
  const bool again = shared != nullptr && shared->built;
  const auto* made = again ? &shared->layers.at(shared->next++) : nullptr;
  const std::string local = made ? made->local : call.name ? *call.name : automatic_.next(automatic_base(step.type));
  const std::string layer_name = made        ? result_.graph.layers[static_cast<std::size_t>(made->layer)].name
                                 : call.name ? join_names(scope.layer_base, local)
                                             : local;
  const std::string node_name = shared ? join_names(scope.node_base, local) : layer_name;

  const Reader::Subject subject(reader_, fmt::format("{} '{}'", step.type, node_name));
  const auto slot = device(step, scope);
  const auto trains = trainable(step, scope);
  const auto masked = mask(step, scope);
  const config::Typed typed =
      made ? result_.graph.layers[static_cast<std::size_t>(made->layer)].spec : read_layer(type, step);
  std::optional<Sources> sources = Sources{};
  if (type.max_inputs != 0)
    sources = inputs(call, scope);
  else if (shared != nullptr)
    reader_.error(step.mark, "an Input cannot be shared"), sources.reset();
  else if (step.reserved("inputs") != nullptr)
    reader_.error(step.mark, "takes no inputs"), sources.reset();
  else if (step.reserved("mask") != nullptr)
    reader_.error(step.mark, "takes no mask"), sources.reset();
  const bool named =
      claim(node_names_, node_name, step.mark, scope) && (again || claim(layer_names_, layer_name, step.mark, scope));
  auto outputs = typed && sources ? inferred(typed, step, *sources, scope) : std::nullopt;

  Source result{-1, local};
  if (slot && trains && masked && named && outputs) {
    const int index =
        made ? made->layer : add_layer(layer_name, join_names(scope.layer_base, local), typed, *trains, *sources);
    if (shared != nullptr && !made) shared->layers.push_back({index, local});
    const bool whole = call.name && call.name->empty();  // a shared entry of one layer: the call is located at its use
    result.port = add_node(index, *sources, std::move(*outputs), node_name, *slot, whole ? scope.use : step.mark);
    result_.graph.nodes.back().mask = *masked;
    std::vector<BlockUse>& blocks = result_.graph.nodes.back().blocks;
    for (const Scope* s = whole ? scope.outer : &scope; s->outer != nullptr; s = s->outer)
      blocks.insert(blocks.begin(), {s->node_base, s->type, s->use});
    if (type.max_inputs == 0) result_.graph.inputs.push_back(result.port.node);
  } else if (shared != nullptr) {
    shared->broken = true;
  }
  if (!local.empty()) declare(scope, local, result.port, step.mark);
  return result;
}

config::Typed Expander::read_layer(const nn::LayerType& type, const ListedStep& step) {
  const std::shared_ptr<void> spec = type.schema.make();
  if (!type.schema.read(step.arguments, step.mark, reader_, spec.get(), reserved_layer_arguments())) return {};
  return {type, spec, step.mark};
}

std::optional<std::vector<nn::OutputDef>> Expander::inferred(const config::Typed& layer, const ListedStep& step,
                                                             const Sources& inputs, const Scope& scope) {
  std::vector<nn::TensorDef> tensors;
  std::vector<std::string> names;
  for (const Source& source : inputs) {
    if (source.port.node < 0) return std::nullopt;
    tensors.push_back({tensor(source).shape, tensor(source).type});
    names.push_back(source.name);
  }
  try {
    std::vector<nn::OutputDef> outputs = infer(layer, tensors, names);
    if (!scope.shared || !scope.shared->built) return outputs;
    const std::vector<Shape> shapes = nn::shapes_of(tensors);
    const Layer& first =
        result_.graph.layers[static_cast<std::size_t>(scope.shared->layers[scope.shared->next - 1].layer)];
    if (first.inputs == shapes) return outputs;
    config::Diagnostic& error = reader_.error(
        scope.use, fmt::format("shared '{}' was first used with an input of {}, here {} is {}", scope.type,
                               first.inputs.front().str(), names.front(), shapes.front().str()));
    error.notes.emplace_back(first.mark, "defined");
  } catch (const nn::LayerError& error) {
    add_notes(reader_.error(step.mark, error.what()), scope);
  }
  return std::nullopt;
}

int Expander::add_layer(const std::string& name, std::string path, const config::Typed& typed, bool trainable,
                        const Sources& inputs) {
  Layer layer{.name = name, .spec = typed, .trainable = trainable, .inputs = {}, .weights = {}, .mark = typed.mark()};
  for (const Source& source : inputs) layer.inputs.push_back(tensor(source).shape);
  result_.graph.layers.push_back(std::move(layer));
  result_.paths.push_back(std::move(path));
  calls_.push_back(0);
  return static_cast<int>(result_.graph.layers.size()) - 1;
}

int Expander::add_node(int layer, const Sources& inputs, std::vector<nn::OutputDef> outputs, const std::string& name,
                       const std::string& device, const config::Mark& mark) {
  Node node{.layer = layer,
            .call = calls_[static_cast<std::size_t>(layer)]++,
            .inputs = {},
            .outputs = std::move(outputs),
            .name = name,
            .device = device,
            .mark = mark,
            .blocks = {}};
  for (const Source& source : inputs) node.inputs.push_back(source.port);
  result_.graph.nodes.push_back(std::move(node));
  return static_cast<int>(result_.graph.nodes.size()) - 1;
}

void Expander::declare(Scope& scope, const std::string& local, Port port, const config::Mark& mark) {
  if (scope.is_input(local)) {
    reader_.error(mark, fmt::format("the name '{}' is already that of an input of {} '{}'; rename the step", local,
                                    scope.kind, scope.type));
    return;
  }
  if (!scope.names.emplace(local, port).second && port.node >= 0)
    reader_.error(mark, fmt::format("the name '{}' is already that of another step", local));
}

bool Expander::claim(std::map<std::string, config::Mark>& taken, const std::string& name, const config::Mark& mark,
                     const Scope& scope) {
  const auto [entry, fresh] = taken.emplace(name, mark);
  if (fresh) return automatic_.take(name), true;
  config::Diagnostic& error = reader_.error(mark, fmt::format("the name '{}' is taken", name));
  error.notes.emplace_back(entry->second, "first used");
  add_notes(error, scope);
  return false;
}

void Expander::add_notes(config::Diagnostic& diagnostic, const Scope& scope) const {
  for (const Scope* s = &scope; s->outer != nullptr; s = s->outer) {
    const auto named = std::ranges::find_if(s->input_names, [&](const std::string& name) {
      return s == &scope && diagnostic.message.find(" " + name + " is ") != std::string::npos;
    });
    diagnostic.notes.emplace_back(
        s->use, named == s->input_names.end()
                    ? fmt::format("in {} '{}', used", s->kind, s->type)
                    : fmt::format("'{}' is {} input of {} '{}', used", *named, s->input_names.size() > 1 ? "an" : "the",
                                  s->kind, s->type));
  }
}

std::vector<nn::OutputDef> infer(const config::Typed& layer, std::span<const TensorDef> inputs,
                                 std::span<const std::string> names) {
  const LayerType& type = nn::type_of(layer);
  check_arity(type, inputs.size());
  check_types(type, inputs, names);
  check_rank(type, inputs, names);
  try {
    std::vector<nn::OutputDef> outputs = type.outputs(layer.spec(), inputs);
    for (const nn::OutputDef& output : outputs)
      if (too_large(output.shape))
        throw LayerError(fmt::format("one sample of the output would be {}: too large", output.shape.str()));
    for (const nn::WeightDef& weight : type.weights(layer.spec(), nn::shapes_of(inputs)))
      if (too_large(weight.shape))
        throw LayerError(fmt::format("{} would be {}: too large", weight.name, weight.shape.str()));
    return outputs;
  } catch (const LayerError& error) {
    throw LayerError(with_names(error.what(), names));
  }
}

}  // namespace dptrain::graph
