#include "graph/slots.h"

#include <algorithm>

#include "nn/reshaping.h"

namespace dptrain::graph {
namespace {

constexpr const char* kDefault = "gpu:0";
constexpr const char* kHost = "cpu";
constexpr std::size_t kLongest = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

Slots::Slots(const Graph& graph) : first_(kDefault) {
  std::vector<const Node*> steps;
  for (const Node& node : graph.nodes)
    if (layer_of(graph, node).spec.get_if<nn::InputSpec>() == nullptr) steps.push_back(&node);
  const auto named =
      std::ranges::find_if(steps, [](const Node* node) { return !node->device.empty() && node->device != kHost; });
  if (named != steps.end()) first_ = (*named)->device;
  const auto add = [this](const std::string& name) {
    if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
  };
  const auto uses = [&](const std::string& name) {
    return std::ranges::any_of(steps, [&](const Node* node) { return of(*node) == name; });
  };
  if (uses(first_) || steps.empty()) add(first_);
  for (const Node* node : steps)
    if (of(*node) != kHost) add(of(*node));
  if (uses(kHost)) add(kHost);
}

std::string slot_name_error(const std::string& name) {
  const std::string number = name.starts_with("gpu:") ? name.substr(4) : "";
  const bool gpu = !number.empty() && number.size() <= 4 && std::ranges::all_of(number, is_digit);
  const bool word =
      !name.empty() && name.size() <= kLongest && is_letter(name.front()) &&
      std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; });
  return gpu || word ? "" : "a slot of the replica: a word as in a, cpu, or gpu:K";
}

}  // namespace dptrain::graph
