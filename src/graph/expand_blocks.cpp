// Uses of blocks and of shared layers: lists of steps opened inside a scope of their own.

#include <algorithm>

#include "core/format.h"
#include "core/text.h"
#include "graph/expander.h"
#include "layers/layer.h"

namespace dptrain::graph {
namespace {

using config::Reader;

constexpr int kMaxNesting = 16;  ///< blocks inside blocks, a bound for the call stack

/// The name of a use: its own, or residual, residual_1, ...
std::string use_name(const std::optional<std::string>& given, const std::string& type, Scope& scope) {
  std::string name = given ? *given : scope.uses.next(type);
  while (!given && scope.names.contains(name)) name = scope.uses.next(type);
  return name;
}

/// Adds the steps of an inner scope to the names that the outer one knows.
void export_names(const Scope& inner, const std::string& local, Scope& outer) {
  for (const auto& [name, node] : inner.names) outer.names.emplace(join_names(local, name), node);
  outer.blind = outer.blind || inner.blind;
}

}  // namespace

std::optional<Scope> Expander::inner_scope(const Call& call, const std::string& kind, const std::string& local,
                                           Scope& scope) {
  const Step& step = call.step;
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
  std::optional<Sources> sources = Sources{};
  if (!call.above.empty() || step.reserved("inputs") != nullptr) sources = inputs(call, scope);

  Scope inner;  // opened even where something is missing: the rest of it may be wrong as well
  inner.layer_base = join_names(scope.layer_base, local);
  inner.node_base = join_names(scope.node_base, local);
  inner.device = slot.value_or("");
  inner.trainable = trains.value_or(true);
  inner.input = sources.value_or(Sources{Source{}});
  for (Source& source : inner.input) source.name = "input";
  inner.shared = scope.shared;
  inner.outer = &scope;
  inner.kind = kind;
  inner.type = step.type;
  inner.use = step.mark;
  return inner;
}

Source Expander::close(Scope& inner, const Sources& last, const std::string& local, Scope& scope) {
  export_names(inner, local, scope);
  int node = last.size() == 1 ? last.front().node : -1;
  if (last.size() != 1)  // every step left out by `if`, with several inputs or none
    reader_.error(inner.use,
                  fmt::format("{} '{}' must end in one step, found {}", inner.kind, inner.type, last.size()));
  if (!local.empty()) declare(scope, local, node, inner.use);
  return {node, local};
}

Source Expander::block(const Call& call, const Block& block, Scope& scope) {
  const Step& step = call.step;
  const Reader::Subject subject(reader_, step.type);
  const std::string local = use_name(call.name, step.type, scope);
  auto parameters = block_arguments(step, block);
  auto inner = inner_scope(call, "block", local, scope);
  if (!parameters || !inner) return {};
  const Reader::Scope values(reader_, std::move(*parameters));
  const Reader::Subject list(reader_, fmt::format("block '{}'", step.type));
  const Sources last = chain(block.layers, *inner);
  return close(*inner, last, local, scope);
}

std::optional<std::map<std::string, config::Node>> Expander::block_arguments(const Step& step, const Block& block) {
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
      // Next to a misspelt argument this would only say the same again.
      if (known_only) reader_.error(step.mark, fmt::format("missing argument '{}'", parameter.name));
      good = false;
    } else {  // a default may use the parameters before it
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
    reader_.error(entry.mark, fmt::format("unknown argument '{}'{}", entry.key,
                                          hint.empty() ? did_you_mean(entry.key, allowed) : hint));
    good = false;
  }
  return good;
}

Source Expander::shared(const Call& call, const Shared& shared, Scope& scope) {
  const Step& step = call.step;
  const Reader::Subject subject(reader_, step.type);
  const std::string local = use_name(call.name, step.type, scope);
  bool good =
      only_reserved(step.arguments, reserved_arguments(), "; its arguments stand in its definition under 'shared'");
  if (step.reserved("trainable") != nullptr || !scope.trainable) {
    reader_.error(step.mark, "trainable belongs to the definition under 'shared': all uses have the same weights");
    good = false;
  }
  auto inner = inner_scope(call, "shared", local, scope);
  SharedLayers& made = shared_[step.type];
  if (!inner || !good || made.broken) return {};
  inner->layer_base = step.type;
  inner->shared = &made;
  made.next = 0;

  const Reader::Scope no_parameters(reader_, {});
  Sources last;
  if (shared.definition.is_sequence()) {
    last = chain(shared.definition, *inner);
  } else if (const auto definition = read_step(shared.definition, reader_)) {
    for (const char* key : {"name", "inputs", "repeat", "if"}) {
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
