#pragma once

// The bundled networks: configs/networks/*.yaml, compiled in (config/bundled.h). A network is a block whose type is
// capitalized, whose arguments are Keras's, and whose own blocks are private. In addition to `params` and `layers` its
// file has:
//   network        name
//   constants      parameters that users cannot set, which differ between variants
//   variants       further networks in the file: their names and changed parameters and constants
//   preprocessing  preprocessing of the published weights, if any; built_in: the network includes it
//   smallest       minimum height and width, if limited
//   multiple_of    divisor of height and width, if limited
//   backbones      networks that the argument `backbone` accepts: {name: {constant: value}}
//   rules          conditions on arguments and input: {of, holds, else}
//   blocks         private blocks
//
// Items of a list `x` are also parameters: $x_0, $x_1, ...
// Its default input_shape determines whether it reads images or sequences. Networks are read at first use and immutable
// afterwards: any thread.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"
#include "graph/definitions.h"
#include "nn/activations.h"

namespace dptrain::graph {

enum class HeadPooling { kNone, kAvg, kMax };

/// Arguments of networks. A network accepts those listed under `params` of its file, with the file's defaults.
struct NetworkArguments {
  bool include_top = true;
  std::optional<Shape> input_shape;  ///< [height, width, channels] or [steps, features]; absent: the file's default
  HeadPooling pooling = HeadPooling::kNone;
  std::int64_t classes = 1000;
  nn::Activation classifier_activation = nn::Activation::kSoftmax;
  double alpha = 1;
  std::int64_t depth_multiplier = 1;
  double dropout = 0.001;
  std::int64_t patch_size = 1, num_layers = 1, num_heads = 1, hidden_dim = 1, mlp_dim = 1, intermediate_dim = 1;
  double dropout_rate = 0, attention_dropout = 0, layer_norm_epsilon = 1e-6;
  nn::Activation activation = nn::Activation::kRelu;
  bool normalize_first = false, position_embedding = true;
  bool include_preprocessing = true;
  std::string backbone;   ///< name of another network
  Shape decoder_filters;  ///< from the smallest size to the largest
};

/// A condition on a network's arguments and input.
struct NetworkRule {
  std::vector<std::string> arguments;  ///< the error is located at the first of them that is given
  config::Node holds, message;         ///< the condition, and the text of the error
};

struct Network {
  std::string name;           ///< "VGG16"
  std::string preprocessing;  ///< of the published weights: PreprocessInput's caffe, tf or torch, or built_in; "": none
  int rank = 3;               ///< rank of the input: 3 for images, 2 for sequences
  std::int64_t smallest = 1;  ///< minimum height and width
  std::int64_t multiple_of = 1;  ///< divides height and width
  config::Node backbones;        ///< values of `backbone`, each with the constants that it sets; null: no such argument
  std::vector<NetworkRule> rules;
  std::set<std::string, std::less<>> constants;  ///< parameters of the block that are not arguments
  config::Schema schema;                         ///< of NetworkArguments
  Block block;
  Definitions definitions;  ///< the file's own blocks
};

const std::map<std::string, Network, std::less<>>& networks();
const Network* find_network(std::string_view name);

/// Values of all parameters of one use: those given, else the file's. nullopt after reporting an error.
std::optional<std::map<std::string, config::Node>> network_values(const Network& network, const ListedStep& step,
                                                                  config::Reader& reader);
/// Describes the problem with an input of this shape; "" if there is none.
std::string input_error(const Network& network, const Shape& shape);

}  // namespace dptrain::graph

template <>
struct dptrain::config::EnumNames<dptrain::graph::HeadPooling> {
  using P = dptrain::graph::HeadPooling;
  static constexpr std::array names{std::pair{P::kNone, "none"}, std::pair{P::kAvg, "avg"}, std::pair{P::kMax, "max"}};
};
