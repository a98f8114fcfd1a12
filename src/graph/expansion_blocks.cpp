// Uses of blocks and of shared layers: each expands a list of steps in an inner scope.

#include <algorithm>

#include "config/synonyms.h"
#include "core/format.h"
#include "core/text.h"
#include "graph/expander.h"
#include "nn/layer.h"

namespace dptrain::graph {
namespace {

using config::Reader;

constexpr int kMaxNesting = 16;  ///< maximum depth of blocks in blocks, to bound the call stack

/// The name of a use: the given one, or residual, residual_1, ...
std::string use_name(const std::optional<std::string>& given, const std::string& type, Scope& scope) {
  std::string name = given ? *given : scope.uses.next(type);
  while (!given && scope.names.contains(name)) name = scope.uses.next(type);
  return name;
}

const std::vector<std::string> kOneInput{"input"};

/// Adds the extents of a block's input as variables for its expressions. A parameter of the same name has priority.
void add_extents(const std::string& input, const Shape& shape, std::map<std::string, config::Node>& values) {
  if (shape.rank() == 3) {
    values.emplace(input + "_height", config::Node::integer(shape[0]));
    values.emplace(input + "_width", config::Node::integer(shape[1]));
  } else if (shape.rank() == 2) {
    values.emplace(input + "_steps", config::Node::integer(shape[0]));
  }
  if (shape.rank() > 0) values.emplace(input + "_channels", config::Node::integer(shape.back()));
}

/// Adds the items of each list as variables: the first of `filters` is filters_0.
void add_items(std::map<std::string, config::Node>& values) {
  std::map<std::string, config::Node> items;
  for (const auto& [name, value] : values)
    for (std::size_t i = 0; value.is_sequence() && i < value.items().size(); ++i)
      items.emplace(fmt::format("{}_{}", name, i), value.items()[i]);
  values.merge(items);
}

/// The place of a step in the user's file: of a step in a network's file, the use of the outermost network.
const config::Mark& users_mark(const Scope& scope, const config::Mark& step) {
  const config::Mark* mark = &step;
  for (const Scope* s = &scope; s->outer != nullptr; s = s->outer)
    if (s->kind == "network") mark = &s->use;
  return *mark;
}

}  // namespace

bool Expander::is_block(const std::string& type, const Scope& scope) const {
  return scope.definitions->blocks.contains(type) || find_network(type) != nullptr;
}

/// Adds the inner scope's names to the outer scope; for an unnamed use, names in the graph without the outer prefix.
/// The steps of an unnamed use keep their names in its definition as aliases.
void Expander::export_names(const Scope& inner, const std::string& local, Scope& outer) {
  const std::string base = inner.node_base.empty() ? "" : inner.node_base + "_";
  for (const auto& [name, port] : inner.names) {
    if (!local.empty() || port.node < 0) {
      outer.names.emplace(join_names(local, name), port);
    } else {
      const std::string real = name_of(result_.graph, port);
      outer.names.emplace(real.starts_with(base) ? real.substr(base.size()) : real, port);
      outer.aliases.emplace(name, port);
    }
  }
  for (const auto& [name, port] : inner.aliases) outer.aliases.emplace(join_names(local, name), port);
  outer.blind = outer.blind || inner.blind;
}

std::optional<Scope> Expander::inner_scope(const Call& call, const std::string& kind, const std::string& local,
                                           const std::vector<std::string>& inputs, Scope& scope) {
  const ListedStep& step = call.step;
  int nesting = 0;
  std::string path = step.type;
  for (const Scope* s = &scope; s->outer != nullptr; s = s->outer) {
    path = s->type + " > " + path;
    if (s->type == step.type) {
      reader_.error(step.mark, fmt::format("{} '{}' uses itself: {}", kind, step.type, path));
      return std::nullopt;
    }
    if (++nesting == kMaxNesting) {
      reader_.error(step.mark, fmt::format("blocks are nested more than {} deep", kMaxNesting));
      return std::nullopt;
    }
  }
  const auto slot = device(step, scope);
  const auto trains = trainable(step, scope);
  const auto sources = block_inputs(call, inputs, scope);

  Scope inner;  // created even after an error, to report further errors in it
  inner.definitions = scope.definitions;
  inner.layer_base = join_names(scope.layer_base, local);
  inner.node_base = join_names(scope.node_base, local);
  inner.device = slot.value_or("");
  inner.trainable = trains.value_or(true);
  inner.input_names = inputs.empty() ? kOneInput : inputs;
  inner.input = sources.value_or(Sources(inner.input_names.size()));
  for (std::size_t i = 0; i < inner.input.size(); ++i) inner.input[i].name = inner.input_names[inputs.empty() ? 0 : i];
  inner.shared = scope.shared;
  inner.outer = &scope;
  inner.kind = kind;
  inner.type = step.type;
  inner.use = step.mark;
  return inner;
}

Source Expander::close(Scope& inner, const Sources& last, const std::string& local, Scope& scope) {
  export_names(inner, local, scope);
  const Port port = last.size() == 1 ? last.front().port : Port(-1);
  if (last.size() != 1)  // `if` left out every step, and there are several inputs or none
    reader_.error(inner.use,
                  fmt::format("{} '{}' must end in one step, found {}", inner.kind, inner.type, last.size()));
  if (!local.empty()) declare(scope, local, port, inner.use);
  return {port, local.empty() && last.size() == 1 ? last.front().name : local};
}

Source Expander::block(const Call& call, const Block& block, Scope& scope) {
  const ListedStep& step = call.step;
  const Reader::Subject subject(reader_, step.type);
  const std::string local = use_name(call.name, step.type, scope);
  auto parameters = block_arguments(step, block);
  auto inner = inner_scope(call, "block", local, block.inputs, scope);
  if (!parameters || !inner) return {};
  return open(block, std::move(*parameters), std::move(*inner), local, scope);
}

Source Expander::open(const Block& block, std::map<std::string, config::Node> values, Scope inner,
                      const std::string& local, Scope& scope) {
  // After an error in the input the extents are arbitrary, since nothing is inferred from them.
  for (std::size_t i = 0; i < inner.input_names.size(); ++i) {
    const bool known = i < inner.input.size() && inner.input[i].port.node >= 0;
    add_extents(inner.input_names[i], known ? tensor(inner.input[i]).shape : Shape{64, 64, 64}, values);
  }
  const Reader::Scope parameters(reader_, std::move(values));
  const Reader::Subject list(reader_, fmt::format("{} '{}'", inner.kind, inner.type));
  const Sources last = chain(block.layers, inner);
  return close(inner, last, local, scope);
}

Source Expander::network(const Call& call, const Network& network, Scope& scope) {
  const ListedStep& step = call.step;
  const Reader::Subject subject(reader_, step.type);
  const std::string local = call.name.value_or("");  // without a name its layers have Keras's names
  auto values = network_values(network, step, reader_);
  auto read = values ? network_input(call, network, *values, scope) : std::nullopt;
  if (!read) return {};
  add_items(*values);
  const int node = read->front().port.node;
  if (node >= 0 && !keeps_rules(network, step, *values, tensor(read->front()).shape, scope)) return {};
  auto inner = inner_scope({step, call.name, call.above, &read->front()}, "network", local, {}, scope);
  if (!inner) return {};
  inner->definitions = &network.definitions;
  const std::vector<int>& given = result_.graph.inputs;
  if (!network.preprocessing.empty())
    result_.graph.networks.push_back({network.name, network.preprocessing,
                                      std::find(given.begin(), given.end(), node) != given.end(),
                                      users_mark(scope, step.mark)});
  return open(network.block, std::move(*values), std::move(*inner), local, scope);
}

bool Expander::keeps_rules(const Network& network, const ListedStep& step, std::map<std::string, config::Node> values,
                           const Shape& input, const Scope& scope) {
  add_extents("input", input, values);
  const Reader::Scope parameters(reader_, std::move(values));
  bool good = true;
  for (const NetworkRule& rule : network.rules) {
    if (reader_.condition(rule.holds).value_or(true)) continue;
    config::Mark place = step.mark;
    for (const std::string& argument : rule.arguments) {
      const config::Node* given = step.arguments.is_map() ? step.arguments.find(argument) : nullptr;
      if (given == nullptr) continue;
      place = given->mark();
      break;
    }
    add_notes(reader_.error(place, reader_.text(rule.message).value_or("")), scope);
    good = false;
  }
  return good;
}

std::optional<Sources> Expander::network_input(const Call& call, const Network& network,
                                               const std::map<std::string, config::Node>& values, Scope& scope) {
  const ListedStep& step = call.step;
  if (call.before == nullptr && call.above.empty() && step.reserved("inputs") == nullptr) {
    ListedStep own{"Input", step.mark, config::Node::map(step.mark)};
    own.arguments.set("shape", values.at("input_shape"));
    const auto& type = static_cast<const nn::LayerType&>(*nn::layer_family().find("Input"));
    return Sources{layer({own, std::nullopt, {}}, type, scope)};
  }
  const auto sources = inputs(call, scope);
  if (!sources) return std::nullopt;
  if (sources->size() != 1) {
    reader_.error(step.mark, fmt::format("expected 1 input, found {}", sources->size()));
    return std::nullopt;
  }
  const auto& [port, name] = sources->front();
  if (port.node < 0) return sources;
  const Shape& found = tensor(sources->front()).shape;
  const config::Node* given = step.arguments.is_map() ? step.arguments.find("input_shape") : nullptr;
  Shape wanted = found;
  if (given != nullptr && !reader_.substituted(*given).is_null()) config::Value<Shape>::read(*given, reader_, wanted);
  std::string error = input_error(network, found);
  if (!error.empty()) error = fmt::format("'{}' must be {}", name, error);
  if (wanted != found)
    error = fmt::format("input_shape is {}, but '{}' is {}; leave input_shape out, or '{}'", wanted.str(), name,
                        found.str(), name);
  if (error.empty()) return sources;
  add_notes(reader_.error(step.mark, error), scope);
  return std::nullopt;
}

std::optional<std::map<std::string, config::Node>> Expander::block_arguments(const ListedStep& step,
                                                                             const Block& block) {
  std::vector<std::string> allowed = reserved_arguments();
  std::map<std::string, config::Node> values;
  for (const Parameter& parameter : block.parameters) allowed.push_back(parameter.name);
  config::Node arguments = step.arguments;
  if (!arguments.is_map() && !arguments.is_null() && !block.parameters.empty()) {  // `vgg: 64`
    config::Node map = config::Node::map(arguments.mark());
    map.set(block.parameters.front().name, std::move(arguments));
    arguments = std::move(map);
  }
  const bool known_only = only_reserved(arguments, allowed, "");
  bool good = known_only;
  for (const Parameter& parameter : block.parameters)
    if (const config::Node* given = arguments.is_map() ? arguments.find(parameter.name) : nullptr)
      values.emplace(parameter.name, reader_.substituted(*given));
  for (const Parameter& parameter : block.parameters) {
    if (values.contains(parameter.name)) continue;
    if (!parameter.fallback) {
      // A misspelt argument has already been reported.
      if (known_only) reader_.error(step.mark, fmt::format("missing argument '{}'", parameter.name));
      good = false;
    } else {  // a default may use earlier parameters
      const Reader::Scope known(reader_, values);
      values.emplace(parameter.name, reader_.substituted(*parameter.fallback));
    }
  }
  return good ? std::optional(std::move(values)) : std::nullopt;
}

bool Expander::only_reserved(const config::Node& arguments, const std::vector<std::string>& allowed,
                             const std::string& hint) {
  if (arguments.is_null()) return true;
  if (!arguments.is_map()) {
    reader_.error(arguments, fmt::format("expected arguments by name, found {}{}", arguments.describe(), hint));
    return false;
  }
  bool good = true;
  for (const auto& entry : arguments.entries()) {
    if (std::find(allowed.begin(), allowed.end(), entry.key) != allowed.end()) continue;
    std::string meant = hint.empty() ? config::hint_for(entry.key, "block", allowed) : hint;
    if (meant.empty()) meant = (allowed.size() == 1 ? "; expected " : "; expected one of ") + join(allowed, ", ");
    reader_.error(entry.mark, fmt::format("unknown argument '{}'{}", entry.key, meant));
    good = false;
  }
  return good;
}

Source Expander::shared(const Call& call, const Shared& shared, Scope& scope) {
  const ListedStep& step = call.step;
  const Reader::Subject subject(reader_, step.type);
  const std::string local = use_name(call.name, step.type, scope);
  bool good =
      only_reserved(step.arguments, shared.definition.is_sequence() ? reserved_arguments() : reserved_layer_arguments(),
                    "; write its arguments in its definition under 'shared'");
  const auto masked = mask(step, scope);
  if (step.reserved("trainable") != nullptr || !scope.trainable) {
    reader_.error(step.mark, "trainable belongs to the definition under 'shared': all uses have the same weights");
    good = false;
  }
  auto inner = inner_scope(call, "shared", local, shared.inputs, scope);
  SharedLayers& made = shared_[step.type];
  if (!inner || !good || !masked || made.broken) return {};
  inner->mask = *masked;
  inner->layer_base = step.type;
  inner->shared = &made;
  made.next = 0;

  const Reader::Scope no_parameters(reader_, {});
  Sources last;
  if (shared.definition.is_sequence()) {
    last = chain(shared.definition, *inner);
  } else if (const auto definition = read_step(shared.definition, reader_)) {
    for (const char* key : {"name", "inputs", "mask", "repeat", "if"}) {
      if (definition->reserved(key) == nullptr) continue;
      reader_.error(definition->mark,
                    fmt::format("'{}' belongs to the uses of shared '{}', not to its definition", key, step.type));
      made.broken = true;
    }
    if (!made.broken) last = {copy({*definition, "", inner->input}, *inner)};
  }
  made.built = true;
  return close(*inner, last.empty() ? Sources{Source{}} : last, local, scope);
}

}  // namespace dptrain::graph
