#include "graph/network.h"

#include <algorithm>
#include <memory>

#include "config/bundled.h"
#include "config/config_loader.h"
#include "config/synonyms.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/geometry.h"

namespace dptrain::graph {
namespace {

using config::key;
using config::Reader;
using A = NetworkArguments;

bool takes(const Network& network, std::string_view argument) {
  const auto& all = network.block.parameters;
  return !network.constants.contains(argument) &&
         std::any_of(all.begin(), all.end(), [&](const Parameter& parameter) { return parameter.name == argument; });
}

std::vector<std::string> backbones_of(const Network& network) {
  std::vector<std::string> names;
  for (const config::Node::Entry& entry : network.backbones.entries()) names.push_back(entry.key);
  return names;
}

/// Describes the problem with this value of `backbone`; "" if there is none.
std::string backbone_error(const Network& network, const std::string& name) {
  const std::vector<std::string> known = backbones_of(network);
  if (network.backbones.find(name) != nullptr) return "";
  return fmt::format("must be one of {}, found '{}'{}", join(known, ", "), name, did_you_mean(name, known));
}

/// The input and outputs of a network, and the preprocessing of its published weights.
std::string description_of(const Network& network) {
  if (network.rank == 2)
    return "`[steps, features] -> [classes]`: a stack of transformer encoders; without the top `[features]`, or "
           "`[steps, features]` with `pooling: none`";
  if (takes(network, "backbone"))
    return fmt::format(
        "`[H, W, C] -> [H, W, classes]`: a network for segmentation on an encoder without top. H and W are "
        "multiples of {}. The weights of the encoder require its preprocessing",
        network.multiple_of);
  if (network.preprocessing.empty())
    return "`[H, W, C] -> [classes]`: a vision transformer with one step per patch; without the top `[hidden_dim]`, or "
           "`[patches, hidden_dim]` with `pooling: none`";
  const std::string text = fmt::format(
      "`[H, W, C] -> [classes]`, with H and W of at least {}; without the top `[H', W', C']`, or `[C']` with `pooling`",
      network.smallest);
  if (network.preprocessing == "built_in") return text + ". The network scales pixels of 0 to 255";
  return text + fmt::format(". The published weights require `PreprocessInput: {}`", network.preprocessing);
}

config::Schema schema_of(const Network& network) {
  config::Schema schema = config::Schema::of<A>(network.name).doc(description_of(network));
  const bool has_steps = takes(network, "num_heads");
  const auto add = [&](const auto& key) {
    if (takes(network, key.name())) schema.key(key);
  };
  const auto size = [&](const char* name, std::int64_t A::*member, const char* doc) {
    add(key(name, member).at_least(1).check(nn::ExtentCheck{}).doc(doc));
  };
  const auto rate = [&](const char* name, double A::*member, const char* doc) {
    add(key(name, member).at_least(0).below(1).doc(doc));
  };
  add(key("backbone", &A::backbone)
          .check([&network](const std::string& name) { return backbone_error(network, name); })
          .doc("the encoder: " + join(backbones_of(network), ", ")));
  add(key("include_top", &A::include_top)
          .doc(network.preprocessing.empty()
                   ? "whether to add the classifier"
                   : "whether to add the classifier; the published weights have 1000 classes"));
  add(key("input_shape", &A::input_shape)
          .at_least(1)
          .doc(std::string(network.rank == 3 ? "[height, width, channels]" : "[steps, features]") +
               " of the Input that the network adds as the first step; omit it after another step")
          .check([&network](const std::optional<Shape>& shape) {
            if (!shape) return std::string();
            const std::string error = input_error(network, *shape);
            return error.empty() ? nn::ExtentCheck{}(*shape) : "must be " + error;
          }));
  size("patch_size", &A::patch_size, "pixels of a patch's side, which divides height and width");
  size("num_layers", &A::num_layers, "number of blocks of one attention and two Dense");
  size("num_heads", &A::num_heads,
       "heads of each attention; their number divides the features, `key_dim` is the quotient");
  size("hidden_dim", &A::hidden_dim, "features of a step");
  size("mlp_dim", &A::mlp_dim, "units of a block's first Dense, with `gelu`");
  size("intermediate_dim", &A::intermediate_dim, "units of a block's first Dense");
  add(key("activation", &A::activation)
          .doc(has_steps ? "function of a block's first Dense"
                         : "function of the output; linear: logits; softmax of one class is sigmoid"));
  add(key("decoder_filters", &A::decoder_filters)
          .at_least(1)
          .check([](const Shape& filters) {
            if (filters.rank() != 5) return fmt::format("must have 5 numbers, found {}", filters.rank());
            return nn::ExtentCheck{}(filters);
          })
          .doc("filters of the decoder's five stages, from the smallest size to the largest"));
  rate("dropout_rate", &A::dropout_rate,
       has_steps ? "rate of the Dropout between a block's two Dense" : "rate of the Dropout before the classifier");
  rate("attention_dropout", &A::attention_dropout, "rate of the Dropout of attention scores");
  rate("dropout", &A::dropout,
       has_steps ? "rate of the Dropout of attention scores, and after each attention and each second Dense"
                 : "rate of the Dropout before the classifier");
  add(key("layer_norm_epsilon", &A::layer_norm_epsilon).above(0).doc("epsilon of all normalizations"));
  add(key("normalize_first", &A::normalize_first)
          .doc("whether to normalize before each attention and first Dense and at the end, as ViT, instead of after "
               "each sum"));
  add(key("position_embedding", &A::position_embedding).doc("whether to add a learned vector to each step"));
  add(key("pooling", &A::pooling)
          .doc(has_steps ? "pooling of the steps, also before the classifier, which with none applies to every step"
                         : "pooling of the output without the top"));
  size("classes", &A::classes,
       takes(network, "backbone") ? "number of classes of a pixel" : "number of outputs of the classifier");
  add(key("classifier_activation", &A::classifier_activation).doc("function of the classifier; linear: logits"));
  add(key("alpha", &A::alpha).above(0).at_most(64).doc("factor of the numbers of channels"));
  add(key("include_preprocessing", &A::include_preprocessing).doc("whether the network scales pixels of 0 to 255"));
  add(key("depth_multiplier", &A::depth_multiplier)
          .between(1, 4096)
          .doc("output channels for each input channel of the depthwise convolutions"));
  return schema;
}

/// Text of a top-level key of the file. Errors in bundled files are internal errors.
std::string head(const config::Node& file, const char* name) {
  const config::Node* node = file.find(name);
  if (node == nullptr || !node->is_scalar())
    throw Error(ErrorKind::kInternal, fmt::format("{}: '{}' is missing", file.mark().str(), name));
  return node->str();
}

std::vector<NetworkRule> read_rules(const config::Node& file) {
  std::vector<NetworkRule> rules;
  const config::Node* list = file.find("rules");
  if (list == nullptr) return rules;
  for (const config::Node& item : list->items()) {
    NetworkRule& rule = rules.emplace_back();
    for (const auto& entry : item.entries()) {
      if (entry.key == "of")
        for (const config::Node& argument : entry.value.items()) rule.arguments.push_back(argument.str());
      else
        (entry.key == "holds" ? rule.holds : rule.message) = entry.value;
    }
  }
  return rules;
}

/// A copy of the network with another name and other values.
Network variant(Network network, const std::string& name, const config::Node& differences) {
  network.name = name;
  for (const auto& [key, mark, value] : differences.entries()) {
    const auto parameter = std::ranges::find(network.block.parameters, key, &Parameter::name);
    if (parameter == network.block.parameters.end())
      throw Error(ErrorKind::kInternal, fmt::format("{}: '{}' is not a parameter", mark.str(), key));
    parameter->fallback = value;
  }
  return network;
}

/// The network of a file and its variants.
std::vector<Network> read_networks(const config::BundledFile& bundled) {
  config::Diagnostics diagnostics;
  Reader reader(diagnostics);
  const config::Node file = config::load_text(std::string(bundled.text), std::string(bundled.name), ".", diagnostics);
  diagnostics.throw_if_errors();
  Network network;
  network.name = head(file, "network");
  if (file.find("preprocessing") != nullptr) network.preprocessing = head(file, "preprocessing");
  if (file.find("smallest") != nullptr) network.smallest = std::stoll(head(file, "smallest"));
  if (file.find("multiple_of") != nullptr) network.multiple_of = std::stoll(head(file, "multiple_of"));
  if (const config::Node* backbones = file.find("backbones")) network.backbones = *backbones;
  network.rules = read_rules(file);
  network.definitions = read_definitions(file, reader);
  network.block = read_block(file, file.mark(),
                             {"network", "constants", "variants", "preprocessing", "smallest", "multiple_of",
                              "backbones", "rules", "blocks"},
                             reader)
                      .value_or(Block());
  if (const config::Node* constants = file.find("constants"))
    for (const auto& [name, mark, value] : constants->entries()) {
      network.constants.insert(name);
      network.block.parameters.push_back({name, value});
    }
  diagnostics.throw_if_errors();
  std::vector<Network> all{network};
  if (const config::Node* variants = file.find("variants"))
    for (const auto& [name, mark, differences] : variants->entries())
      all.push_back(variant(network, name, differences));
  return all;
}

/// Adds the schema of the network's arguments with the file's defaults. Its checks keep a pointer to `network`.
void add_schema(Network& network) {
  config::Node params = config::Node::map();
  for (const Parameter& parameter : network.block.parameters) {
    if (parameter.name == "input_shape") network.rank = static_cast<int>(parameter.fallback->items().size());
    if (takes(network, parameter.name)) params.set(parameter.name, parameter.fallback.value());
  }
  network.schema = schema_of(network);
  config::Diagnostics diagnostics;
  Reader reader(diagnostics);
  A defaults;
  network.schema.read(params, {}, reader, &defaults);
  diagnostics.throw_if_errors();
  network.schema.defaults(defaults);
}

}  // namespace

const std::map<std::string, Network, std::less<>>& networks() {
  static const auto all = [] {
    std::map<std::string, Network, std::less<>> made;
    for (const config::BundledFile& file : config::bundled_networks())
      for (Network& network : read_networks(file)) {
        const std::string name = network.name;
        add_schema(made[name] = std::move(network));
      }
    return made;
  }();
  return all;
}

const Network* find_network(std::string_view name) {
  const auto found = networks().find(name);
  return found == networks().end() ? nullptr : &found->second;
}

namespace {

std::int64_t nearest_multiple(std::int64_t extent, std::int64_t unit) {
  return std::max<std::int64_t>((extent + unit / 2) / unit, 1) * unit;
}

}  // namespace

std::string input_error(const Network& network, const Shape& shape) {
  const bool images = network.rank == 3;
  const std::int64_t unit = network.multiple_of;
  if (shape.rank() == network.rank &&
      (!images || (std::min(shape[0], shape[1]) >= network.smallest && shape[0] % unit == 0 && shape[1] % unit == 0)))
    return "";
  std::string wanted = "a sequence [steps, features]", hint;
  if (images) {
    wanted = "an image [height, width, channels]";
    if (network.smallest > 1) wanted += fmt::format(" of at least {0}x{0}", network.smallest);
    if (unit > 1) wanted += fmt::format(", height and width multiples of {}", unit);
    if (unit > 1 && shape.rank() == 3)
      hint = fmt::format("; Resizing in data.transforms changes the size, for example to {}x{}",
                         nearest_multiple(shape[0], unit), nearest_multiple(shape[1], unit));
    if (shape.rank() == 2) hint = "; Transformer expects sequences [steps, features]";
  } else if (shape.rank() == 1) {
    hint = "; an Embedding above makes vectors of ids, a Reshape steps of numbers";
  } else {
    hint = "; ViT expects images, a Reshape above makes steps of them";
  }
  return fmt::format("{}, found {}{}", wanted, shape.str(), hint);
}

std::optional<std::map<std::string, config::Node>> network_values(const Network& network, const ListedStep& step,
                                                                  Reader& reader) {
  std::vector<std::string> ignored = reserved_arguments();
  bool known = true;
  if (step.arguments.is_map()) {
    for (const auto& entry : step.arguments.entries()) {
      if (takes(network, entry.key) || std::find(ignored.begin(), ignored.end(), entry.key) != ignored.end()) continue;
      std::vector<std::string> names;
      for (const Parameter& parameter : network.block.parameters)
        if (takes(network, parameter.name)) names.push_back(parameter.name);
      std::vector<std::string> all = names;
      all.insert(all.end(), ignored.begin(), ignored.end());
      const std::string hint = config::hint_for(entry.key, network.name, all);
      reader.error(entry.mark, fmt::format("unknown argument '{}'{}; {} has the arguments {}", entry.key, hint,
                                           network.name, join(names, ", ")));
      ignored.push_back(entry.key);
      known = false;
    }
  }
  const std::shared_ptr<void> arguments = network.schema.make();
  if (!network.schema.read(step.arguments, step.mark, reader, arguments.get(), ignored) || !known) return std::nullopt;
  const config::Node given = network.schema.write(arguments.get());
  std::map<std::string, config::Node> values;
  for (const Parameter& parameter : network.block.parameters) {
    const config::Node* own = given.find(parameter.name);
    values.emplace(parameter.name, own != nullptr && !own->is_null() ? *own : *parameter.fallback);
  }
  if (const auto backbone = values.find("backbone"); backbone != values.end())
    if (const config::Node* constants = network.backbones.find(backbone->second.str()))
      for (const auto& [name, mark, value] : constants->entries()) values.insert_or_assign(name, value);
  return values;
}

}  // namespace dptrain::graph
