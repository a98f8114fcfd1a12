// Reads the arguments that every step may have (name, inputs, device, repeat, trainable, if) and `mask` of layers.

#include <algorithm>
#include <iterator>

#include "core/format.h"
#include "core/text.h"
#include "graph/expander.h"
#include "graph/slots.h"

namespace dptrain::graph {

using config::Reader;

bool Scope::is_input(const std::string& name) const {
  return std::ranges::find(input_names, name) != input_names.end();
}

std::optional<bool> Expander::condition(const ListedStep& step) {
  const config::Node* node = step.reserved("if");
  if (node == nullptr) return true;
  const Reader::Key key(reader_, "if");
  return reader_.condition(*node);
}

std::optional<std::optional<std::string>> Expander::name(const ListedStep& step, const Scope& scope) {
  const config::Node* node = step.reserved("name");
  if (node == nullptr) return std::optional<std::string>();
  const Reader::Key key(reader_, "name");
  const auto text = reader_.text(*node);
  if (!text) return std::nullopt;
  if (text->empty() && is_block(step.type, scope)) return text;
  std::string error = name_error(*text);
  if (scope.is_input(*text))
    error = fmt::format("a name other than '{}', {} input of {} '{}'", *text,
                        scope.input_names.size() > 1 ? "an" : "the", scope.kind, scope.type);
  if (error.empty()) return text;
  reader_.expected(config::Node::text(*text, node->mark()), error);
  return std::nullopt;
}

std::optional<std::int64_t> Expander::copies(const ListedStep& step) {
  const config::Node* node = step.reserved("repeat");
  if (node == nullptr) return 1;
  const Reader::Key key(reader_, "repeat");
  const auto n = reader_.integer(*node);
  if (!n || (*n >= 1 && *n <= kMaxSteps)) return n;
  reader_.error(*node, *n < 1 ? fmt::format("repeat must be >= 1, found {}", *n)
                              : fmt::format("repeat must be <= {}, found {}", kMaxSteps, *n));
  return std::nullopt;
}

std::optional<std::string> Expander::device(const ListedStep& step, const Scope& scope) {
  const config::Node* node = step.reserved("device");
  if (node == nullptr) return scope.device;
  const Reader::Key key(reader_, "device");
  const auto text = reader_.text(*node);
  if (!text) return std::nullopt;
  const std::string error = slot_name_error(*text);
  if (error.empty()) return text;
  reader_.expected(*node, error);
  return std::nullopt;
}

std::optional<bool> Expander::trainable(const ListedStep& step, const Scope& scope) {
  const config::Node* node = step.reserved("trainable");
  if (node == nullptr) return scope.trainable;
  const Reader::Key key(reader_, "trainable");
  const auto own = reader_.boolean(*node);
  return own ? std::optional(*own && scope.trainable) : own;
}

std::optional<std::optional<Port>> Expander::mask(const ListedStep& step, const Scope& scope) {
  const config::Node* node = step.reserved("mask");
  if (node == nullptr) return scope.mask;
  const Reader::Key key(reader_, "mask");
  const config::Node value = reader_.substituted(*node);
  if (!value.is_scalar()) return reader_.expected(value, "the name of a step or none"), std::nullopt;
  if (value.str() == "none") return std::optional(Port(-1));
  const std::optional<Sources> found = find(value, scope);
  if (!found || found->front().port.node < 0) return std::nullopt;
  return std::optional(found->front().port);
}

std::optional<Sources> Expander::inputs(const Call& call, const Scope& scope) {
  if (call.before != nullptr) return Sources{*call.before};
  const config::Node* node = call.step.reserved("inputs");
  if (node == nullptr) {
    if (!call.above.empty()) return call.above;
    reader_.error(call.step.mark, "there is no step above to read; begin with Input, or name steps with inputs");
    return std::nullopt;
  }
  const Reader::Key key(reader_, "inputs");
  const config::Node list = reader_.substituted(*node);
  if (!list.is_sequence()) return find(list, scope);
  Sources all;
  bool good = !list.items().empty();
  if (!good) reader_.expected(list, "a name or a list of names");
  for (const config::Node& item : list.items()) {
    const auto found = find(item, scope);
    if (found) all.insert(all.end(), found->begin(), found->end());
    good = good && found;
  }
  return good ? std::optional(all) : std::nullopt;
}

std::optional<Sources> Expander::block_inputs(const Call& call, const std::vector<std::string>& names,
                                              const Scope& scope) {
  const ListedStep& step = call.step;
  const config::Node* node = step.reserved("inputs");
  if (names.empty()) return call.before || node || !call.above.empty() ? inputs(call, scope) : Sources{};
  const std::string wanted =
      fmt::format("{} {} ({})", names.size(), names.size() == 1 ? "input" : "inputs", join(names, ", "));
  if (node == nullptr && call.above.empty()) {
    reader_.error(step.mark, fmt::format("there is no step above to read; inputs must name {}", wanted));
    return std::nullopt;
  }
  auto found = inputs({step, call.name, call.above}, scope);
  if (found && found->size() != names.size()) {
    const std::string hint = node == nullptr ? ", the step above; name all of them with inputs" : "";
    reader_.error(node != nullptr ? node->mark() : step.mark,
                  fmt::format("expected {}, found {}{}", wanted, found->size(), hint));
    return std::nullopt;
  }
  if (found && call.before != nullptr) found->front() = *call.before;
  return found;
}

std::optional<Sources> Expander::find(const config::Node& node, const Scope& scope) {
  if (!node.is_scalar()) return reader_.expected(node, "a name or a list of names"), std::nullopt;
  const std::string& name = node.str();
  if (scope.is_input(name)) {
    Sources meant;
    std::ranges::copy_if(scope.input, std::back_inserter(meant), [&](const Source& one) { return one.name == name; });
    if (!meant.empty()) return meant;
    reader_.error(node,
                  fmt::format("{} '{}' has no input here: there is no step above its use", scope.kind, scope.type));
    return std::nullopt;
  }
  if (scope.names.contains(name)) return Sources{{scope.names.at(name), name}};
  if (const Port port = find_port(result_.graph, scope.names, name); port.node >= 0) return Sources{{port, name}};
  if (const auto alias = scope.aliases.find(name); alias != scope.aliases.end()) return Sources{{alias->second, name}};
  if (const auto left_out = scope.left_out.find(name); left_out != scope.left_out.end()) {
    reader_.error(node, fmt::format("step '{}' is left out by its 'if'", name))
        .notes.emplace_back(left_out->second, "defined");
    return std::nullopt;
  }
  if (scope.blind) return Sources{{-1, name}};
  std::vector<std::string> known;
  for (const auto& [other, port] : scope.names) known.push_back(other);
  known.insert(known.end(), scope.input_names.begin(), scope.input_names.end());
  std::string hint = port_hint(result_.graph, scope.names, name);
  if (hint.empty() && name == "input" && scope.outer != nullptr)
    hint = fmt::format("; {} '{}' reads {}", scope.kind, scope.type, join(scope.input_names, ", "));
  if (hint.empty()) hint = did_you_mean(name, known);
  reader_.error(node, fmt::format("no step above is called '{}'{}", name, hint));
  return std::nullopt;
}

}  // namespace dptrain::graph
