#pragma once

// The graph of layers: blocks, repeats and shared layers expanded, shapes inferred, names final. Immutable: any thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"
#include "graph/weights_spec.h"
#include "nn/layer_signature.h"

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

struct Port {
  int node = 0;
  int port = 0;  ///< index in Node::outputs

  Port() = default;
  Port(int of_node, int which = 0) : node(of_node), port(which) {}  // NOLINT(google-explicit-constructor)
  friend bool operator==(const Port&, const Port&) = default;
};

/// A use of a block or of a network.
struct BlockUse {
  std::string name;  ///< prefix of its steps' names; that of the enclosing block if unnamed
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
  std::vector<Port> inputs;    ///< ports of nodes with smaller indices
  std::optional<Port> mask{};  ///< replaces the masks of the inputs by the mask of this tensor; node -1: no mask
  std::vector<nn::OutputDef> outputs;
  std::string name;    ///< name of the step in the config; the layer's own name unless the layer is shared
  std::string device;  ///< slot from `device:`, "" when not given
  config::Mark mark;
  std::vector<BlockUse> blocks;  ///< enclosing blocks, outermost first

  const Shape& output() const { return outputs.front().shape; }  ///< shape of the first output, often the only one
};

/// A bundled network with published weights, for hints to the user. Not preserved by write() and build().
struct NetworkUse {
  std::string network;        ///< "VGG16"
  std::string preprocessing;  ///< preprocessing for its published weights: "caffe", "tf", "torch" or "built_in"
  bool reads_input = false;   ///< whether it reads an Input directly, that is the output of the transforms
  config::Mark mark;
};

struct Graph {
  std::string name;
  std::vector<Layer> layers;
  std::vector<Node> nodes;  ///< topological order
  std::vector<int> inputs;  ///< nodes of Input layers, in the order of the config
  std::vector<Port> outputs;
  std::vector<NetworkUse> networks;
  std::optional<WeightsSpec> weights{};  ///< file with the initial weights of a new training
};

inline const Layer& layer_of(const Graph& graph, const Node& node) {
  return graph.layers[static_cast<std::size_t>(node.layer)];
}
const nn::OutputDef& tensor_of(const Graph& graph, const Port& port);
/// Name in the config: "conv1". For a node with several outputs "lstm" is the first, "lstm.state_h" another one.
std::string name_of(const Graph& graph, const Port& port);
/// Names of steps and of uses of blocks and shared layers, each with its first output. Node -1: the step has an error.
using StepNames = std::map<std::string, Port>;
/// The port for a name in the config: "lstm", "lstm.state_h", or by number "lstm.1". Node -1: no port has this name.
Port find_port(const Graph& graph, const StepNames& names, const std::string& name);
/// "; lstm has the outputs lstm.state_h, lstm.state_c" if the name begins with that of a step with several outputs.
std::string port_hint(const Graph& graph, const StepNames& names, const std::string& name);

/// Exclusive upper bound of an Input's ids: the smallest limit of layers that read them, also through views. 0: floats.
std::int64_t id_limit(const Graph& graph, int input);

/// Order of `model.layers` after Keras has loaded the graph (depth descending, first visit ascending;
/// docs/reference/keras-files.md): layer indices. The k-th layer with weights here is the k-th in a Keras file.
std::vector<int> keras_order(const Graph& graph);

}  // namespace dptrain::graph
