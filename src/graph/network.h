#pragma once

// The bundled networks: configs/networks/*.yaml, compiled in (config/bundled.h). A network is a block whose
// type has a capital letter, whose arguments are Keras's, and whose own blocks no other model sees. Read at the first
// use and read-only afterwards: any thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"
#include "graph/definitions.h"
#include "graph/step.h"
#include "layers/activation.h"

namespace dptrain::graph {

enum class HeadPooling { kNone, kAvg, kMax };

/// What any network can be told; each takes those of them that its file lists under `params`. The defaults are Keras's.
struct NetworkArguments {
  bool include_top = true;
  std::optional<Shape> input_shape;  ///< [height, width, channels]; absent: the file's
  HeadPooling pooling = HeadPooling::kNone;
  std::int64_t classes = 1000;
  layers::Activation classifier_activation = layers::Activation::kSoftmax;
  double alpha = 1;
  std::int64_t depth_multiplier = 1;
  double dropout = 0.001;
};

struct Network {
  std::string name;           ///< "VGG16"
  std::string preprocessing;  ///< what the published weights want: PreprocessInput's caffe, tf or torch
  std::int64_t smallest = 0;  ///< height and width that the network can do with
  config::Schema schema;      ///< of NetworkArguments
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
/// "" or what is wrong with an image of this shape.
std::string image_complaint(const Network& network, const Shape& shape);

}  // namespace dptrain::graph

template <>
struct dptrain::config::EnumNames<dptrain::graph::HeadPooling> {
  using P = dptrain::graph::HeadPooling;
  static constexpr std::array names{std::pair{P::kNone, "none"}, std::pair{P::kAvg, "avg"}, std::pair{P::kMax, "max"}};
};
