#include "graph/network.h"

#include <algorithm>

#include "config/bundled.h"
#include "config/load.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "layers/geometry.h"

namespace dptrain::graph {
namespace {

using config::key;
using config::Reader;
using A = NetworkArguments;

bool takes(const Network& network, std::string_view argument) {
  const auto& all = network.block.parameters;
  return std::any_of(all.begin(), all.end(), [&](const Parameter& parameter) { return parameter.name == argument; });
}

config::Schema schema_of(const Network& network) {
  config::Schema schema = config::Schema::of<A>(network.name);
  schema.key(key("include_top", &A::include_top).doc("with the classifier of ImageNet"));
  schema.key(key("input_shape", &A::input_shape)
                 .at_least(1)
                 .doc("[height, width, channels] of the Input that a network in the first place brings along")
                 .check([&network](const std::optional<Shape>& shape) {
                   if (!shape) return std::string();
                   const std::string complaint = image_complaint(network, *shape);
                   return complaint.empty() ? layers::Bounded{}(*shape) : "must be " + complaint;
                 }));
  schema.key(key("pooling", &A::pooling).doc("what ends a network without its top"));
  schema.key(key("classes", &A::classes).at_least(1).check(layers::Bounded{}));
  schema.key(key("classifier_activation", &A::classifier_activation).doc("linear: the top gives logits"));
  if (takes(network, "alpha"))
    schema.key(key("alpha", &A::alpha).above(0).at_most(64).doc("factor of the numbers of channels"));
  if (takes(network, "depth_multiplier"))
    schema.key(key("depth_multiplier", &A::depth_multiplier).at_least(1).at_most(4096));
  if (takes(network, "dropout")) schema.key(key("dropout", &A::dropout).at_least(0).below(1));
  return schema;
}

/// Text of one of the file's heads. The files are ours: what is wrong with them is a bug.
std::string head(const config::Node& file, const char* name) {
  const config::Node* node = file.find(name);
  if (node == nullptr || !node->is_scalar())
    throw Error(ErrorKind::kInternal, fmt::format("{}: '{}' is missing", file.mark().str(), name));
  return node->str();
}

Network read_network(const config::BundledFile& bundled) {
  config::Diagnostics diagnostics;
  Reader reader(diagnostics);
  const config::Node file = config::load_text(std::string(bundled.text), std::string(bundled.name), ".", diagnostics);
  diagnostics.throw_if_errors();
  Network network;
  network.name = head(file, "network");
  network.preprocessing = head(file, "preprocessing");
  network.smallest = std::stoll(head(file, "smallest"));
  network.definitions = read_definitions(file, reader);
  network.block =
      read_block(file, file.mark(), {"network", "preprocessing", "smallest", "blocks"}, reader).value_or(Block());
  diagnostics.throw_if_errors();
  return network;
}

}  // namespace

const std::map<std::string, Network, std::less<>>& networks() {
  static const auto all = [] {
    std::map<std::string, Network, std::less<>> made;
    for (const config::BundledFile& file : config::bundled_networks()) {
      Network network = read_network(file);
      Network& kept = made[network.name] = std::move(network);
      kept.schema = schema_of(kept);  // its checks refer to the network where it stays
    }
    return made;
  }();
  return all;
}

const Network* find_network(std::string_view name) {
  const auto found = networks().find(name);
  return found == networks().end() ? nullptr : &found->second;
}

std::string image_complaint(const Network& network, const Shape& shape) {
  if (shape.rank() == 3 && shape[0] >= network.smallest && shape[1] >= network.smallest) return "";
  return fmt::format("an image [height, width, channels] of at least {0}x{0}, found {1}", network.smallest,
                     shape.str());
}

std::optional<std::map<std::string, config::Node>> network_values(const Network& network, const ListedStep& step,
                                                                  Reader& reader) {
  std::vector<std::string> ignored = reserved_arguments();
  bool known = true;
  if (step.arguments.is_map()) {
    for (const auto& entry : step.arguments.entries()) {
      if (takes(network, entry.key) || std::find(ignored.begin(), ignored.end(), entry.key) != ignored.end()) continue;
      std::vector<std::string> names;
      for (const Parameter& parameter : network.block.parameters) names.push_back(parameter.name);
      const std::string hint =
          entry.key == "weights" ? "; weights are named under model.weights" : did_you_mean(entry.key, names);
      reader.error(entry.mark, fmt::format("unknown argument '{}'{}; {} takes {}", entry.key, hint, network.name,
                                           join(names, ", ")));
      ignored.push_back(entry.key);
      known = false;
    }
  }
  A arguments;
  if (!network.schema.read(step.arguments, step.mark, reader, &arguments, ignored) || !known) return std::nullopt;
  const config::Node given = network.schema.write(&arguments, true);
  std::map<std::string, config::Node> values;
  for (const Parameter& parameter : network.block.parameters) {
    const config::Node* own = given.find(parameter.name);
    values.emplace(parameter.name, own != nullptr ? *own : *parameter.fallback);
  }
  return values;
}

}  // namespace dptrain::graph
