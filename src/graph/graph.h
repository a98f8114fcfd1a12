#pragma once

// The graph of layers: blocks, repeats and shared layers expanded, shapes inferred, names final. Built once on the
// host, immutable afterwards: any thread may read it.

#include <optional>
#include <string>
#include <vector>

#include "config/family.h"
#include "core/shape.h"
#include "graph/weights_spec.h"
#include "layers/layer.h"

namespace dptrain::graph {

/// A layer with its one set of weights. A layer called more than once (`shared`) appears once.
struct Layer {
  std::string name;           ///< unique; Keras's rules for names
  config::Typed spec;         ///< of layers::layer_family()
  bool trainable = true;      ///< after `trainable:` and `freeze`
  std::vector<Shape> inputs;  ///< shapes at the first call; later calls have equal ones
  std::vector<int> weights;   ///< indices into Model::weights, Keras's order
  config::Mark mark;
};

/// One call of a layer: a vertex of the graph.
struct Node {
  int layer = 0;
  int call = 0;             ///< 0 for the first call of its layer
  std::vector<int> inputs;  ///< node indices, all smaller than this node's own
  Shape output;             ///< of one sample
  std::string name;         ///< of the step in the config; the layer's own name unless the layer is shared
  std::string device;       ///< slot from `device:`, "" when not given
  config::Mark mark;
};

/// A use of a bundled network, for advice; a graph that is written out and read again has none.
struct NetworkUse {
  std::string network;        ///< "VGG16"
  std::string preprocessing;  ///< what its published weights want: "caffe", "tf" or "torch"
  bool reads_input = false;   ///< an Input directly: what the transforms make of the images
  config::Mark mark;
};

struct Graph {
  std::string name;
  std::vector<Layer> layers;
  std::vector<Node> nodes;   ///< topological order
  std::vector<int> inputs;   ///< nodes of Input layers, in the order of the config
  std::vector<int> outputs;  ///< nodes
  std::vector<NetworkUse> networks;
  std::optional<WeightsSpec> weights{};  ///< what a fresh start reads from a file
};

/// Order of `model.layers` after Keras has loaded the graph (depth descending, first visit ascending;
/// docs/keras-files.md): layer indices. The k-th layer with weights here is the k-th in a Keras file.
std::vector<int> keras_order(const Graph& graph);

}  // namespace dptrain::graph
