#pragma once

// The graph of layers: blocks, repeats and shared layers expanded, shapes inferred, names final. Built once on the
// host, immutable afterwards: any thread may read it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/family.h"
#include "core/shape.h"
#include "graph/weights_spec.h"
#include "nn/layer.h"

namespace dptrain::graph {

/// A layer with its one set of weights. A layer called more than once (`shared`) appears once.
struct Layer {
  std::string name;           ///< unique; Keras's rules for names
  config::Typed spec;         ///< of nn::layer_family()
  bool trainable = true;      ///< after `trainable:` and `freeze`
  std::vector<Shape> inputs;  ///< shapes at the first call; later calls have equal ones (and types)
  std::vector<int> weights;   ///< indices into Model::weights, Keras's order
  config::Mark mark;
};

/// One of the tensors that a node gives: what nodes read.
struct Port {
  int node = 0;
  int port = 0;  ///< in Node::outputs

  Port() = default;
  Port(int of_node, int which = 0) : node(of_node), port(which) {}  // NOLINT(google-explicit-constructor)
  friend bool operator==(const Port&, const Port&) = default;
};

/// A use of a block or of a network.
struct BlockUse {
  std::string name;  ///< below which its steps have theirs; that of the block around it where it has none
  std::string type;  ///< "residual", "VGG16"
  config::Mark mark;

  friend bool operator==(const BlockUse& a, const BlockUse& b) {
    return a.name == b.name && a.type == b.type && a.mark.line == b.mark.line && a.mark.column == b.mark.column;
  }
};

/// One call of a layer: a vertex of the graph.
struct Node {
  int layer = 0;
  int call = 0;                ///< 0 for the first call of its layer
  std::vector<Port> inputs;    ///< of nodes with smaller indices than this one's
  std::optional<Port> mask{};  ///< replaces the masks of the inputs by this tensor's; node -1: no mask
  std::vector<nn::OutputDef> outputs;
  std::string name;    ///< of the step in the config; the layer's own name unless the layer is shared
  std::string device;  ///< slot from `device:`, "" when not given
  config::Mark mark;
  std::vector<BlockUse> blocks;  ///< that it stands in, outermost first

  const Shape& output() const { return outputs.front().shape; }  ///< of the first, often the only one
};

/// A use of a bundled network that has published weights, for advice; a graph that is written out and read again has
/// none.
struct NetworkUse {
  std::string network;        ///< "VGG16"
  std::string preprocessing;  ///< what its published weights want: "caffe", "tf", "torch" or "built_in"
  bool reads_input = false;   ///< an Input directly: what the transforms make of the images
  config::Mark mark;
};

struct Graph {
  std::string name;
  std::vector<Layer> layers;
  std::vector<Node> nodes;  ///< topological order
  std::vector<int> inputs;  ///< nodes of Input layers, in the order of the config
  std::vector<Port> outputs;
  std::vector<NetworkUse> networks;
  std::optional<WeightsSpec> weights{};  ///< what a fresh start reads from a file
};

const nn::OutputDef& tensor_of(const Graph& graph, const Port& port);
/// As the config names it: "conv1"; of a node with several outputs "lstm" for the first, "lstm.state_h" for others.
std::string name_of(const Graph& graph, const Port& port);
/// What steps, uses of blocks and of shared layers are called: the first, or only, tensor that each gives. -1 for the
/// node: the step is wrong.
using StepNames = std::map<std::string, Port>;
/// The port that a name means in the config: "lstm", "lstm.state_h", or by number "lstm.1". -1 for the node: nothing is
/// called so.
Port find_port(const Graph& graph, const StepNames& names, const std::string& name);
/// "; lstm has the outputs lstm.state_h, lstm.state_c" where the name begins like one of those of a step with several.
std::string port_hint(const Graph& graph, const StepNames& names, const std::string& name);

/// Of an Input of ids: every layer that reads them, behind views or not, takes what is below this. 0: it is of floats.
std::int64_t id_limit(const Graph& graph, int input);

/// Order of `model.layers` after Keras has loaded the graph (depth descending, first visit ascending;
/// docs/keras-files.md): layer indices. The k-th layer with weights here is the k-th in a Keras file.
std::vector<int> keras_order(const Graph& graph);

}  // namespace dptrain::graph
