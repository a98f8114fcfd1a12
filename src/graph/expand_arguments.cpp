// The six arguments that every step may have: name, inputs, device, repeat, trainable, if.

#include "core/format.h"
#include "core/text.h"
#include "graph/expander.h"
#include "graph/slots.h"

namespace dptrain::graph {

using config::Reader;

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
  std::string complaint = name_complaint(*text);
  if (scope.outer != nullptr && *text == "input")
    complaint = fmt::format("another than 'input', the input of {} '{}'", scope.kind, scope.type);
  if (complaint.empty()) return text;
  reader_.expected(config::Node::text(*text, node->mark()), complaint);
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
  const std::string complaint = slot_complaint(*text);
  if (complaint.empty()) return text;
  reader_.expected(*node, complaint);
  return std::nullopt;
}

std::optional<bool> Expander::trainable(const ListedStep& step, const Scope& scope) {
  const config::Node* node = step.reserved("trainable");
  if (node == nullptr) return scope.trainable;
  const Reader::Key key(reader_, "trainable");
  const auto own = reader_.boolean(*node);
  return own ? std::optional(*own && scope.trainable) : own;
}

std::optional<Sources> Expander::inputs(const Call& call, const Scope& scope) {
  const config::Node* node = call.follows ? nullptr : call.step.reserved("inputs");
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

std::optional<Sources> Expander::find(const config::Node& node, const Scope& scope) {
  if (!node.is_scalar()) return reader_.expected(node, "a name or a list of names"), std::nullopt;
  const std::string& name = node.str();
  if (scope.outer != nullptr && name == "input") {
    if (!scope.input.empty()) return scope.input;
    reader_.error(node, fmt::format("{} '{}' has no input here: no step stands above its use", scope.kind, scope.type));
    return std::nullopt;
  }
  if (scope.names.contains(name)) return Sources{{scope.names.at(name), name}};
  if (const Port port = find_port(result_.graph, scope.names, name); port.node >= 0) return Sources{{port, name}};
  if (const auto left_out = scope.left_out.find(name); left_out != scope.left_out.end()) {
    reader_.error(node, fmt::format("step '{}' is left out by its 'if'", name))
        .notes.emplace_back(left_out->second, "defined");
    return std::nullopt;
  }
  if (scope.blind) return Sources{{-1, name}};
  std::vector<std::string> known;
  for (const auto& [other, index] : scope.names) known.push_back(other);
  if (scope.outer != nullptr) known.emplace_back("input");
  std::string hint = port_hint(result_.graph, scope.names, name);
  if (hint.empty()) hint = did_you_mean(name, known);
  reader_.error(node, fmt::format("no step above is called '{}'{}", name, hint));
  return std::nullopt;
}

}  // namespace dptrain::graph
