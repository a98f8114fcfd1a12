#pragma once

// The bundled networks: configs/networks/*.yaml, compiled in (config/bundled.h). A network is a block whose
// type has a capital letter, whose arguments are Keras's, and whose own blocks no other model sees. Its file says, next
// to a block's params and layers:
//
//   network        its name
//   constants      parameters that nobody gives: what variants differ in
//   variants       further networks of the file: their names, and the parameters and constants that are others
//   preprocessing  of the published weights, where there are any; built_in: the network does it itself
//   smallest       height and width that it can do with, where they have a bound
//   rules          what must hold between arguments and input: {of, holds, else}
//   blocks         its own
//
// Its default input_shape says what it reads: images, or sequences. Read at the first use and read-only afterwards: any
// thread.

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

/// What networks can be told; each takes those of them that its file lists under `params`, with the file's defaults.
struct NetworkArguments {
  bool include_top = true;
  std::optional<Shape> input_shape;  ///< [height, width, channels] or [steps, features]; absent: the file's
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
  bool minimalistic = false, include_preprocessing = true;
};

/// What a network's file demands of its arguments and of what it reads.
struct NetworkRule {
  std::vector<std::string> arguments;  ///< the first of them that a use gives is the place of the message
  config::Node holds, message;         ///< a condition; what is said where it is false
};

struct Network {
  std::string name;  ///< "VGG16"
  std::string
      preprocessing;  ///< what the published weights want: PreprocessInput's caffe, tf or torch, or built_in; "": none
  int rank = 3;       ///< of its input: 3 for images, 2 for sequences
  std::int64_t smallest = 1;  ///< height and width that the network can do with
  std::vector<NetworkRule> rules;
  std::set<std::string, std::less<>> constants;  ///< parameters of the block that are no arguments
  config::Schema schema;                         ///< of NetworkArguments
  Block block;
  Definitions definitions;  ///< the file's own blocks
};

/// By name.
const std::map<std::string, Network, std::less<>>& networks();
/// Null when there is none of that name.
const Network* find_network(std::string_view name);

/// Values of all parameters of one use: those that it gives, else the file's. Nothing after reporting.
std::optional<std::map<std::string, config::Node>> network_values(const Network& network, const ListedStep& step,
                                                                  config::Reader& reader);
/// "" or what is wrong with an input of this shape.
std::string input_complaint(const Network& network, const Shape& shape);

}  // namespace dptrain::graph

template <>
struct dptrain::config::EnumNames<dptrain::graph::HeadPooling> {
  using P = dptrain::graph::HeadPooling;
  static constexpr std::array names{std::pair{P::kNone, "none"}, std::pair{P::kAvg, "avg"}, std::pair{P::kMax, "max"}};
};
