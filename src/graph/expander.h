#pragma once

// The implementation of expand(); an Expander lives for one call. expand.cpp walks lists of steps and calls layers,
// expand_blocks.cpp opens blocks and shared sub-models, expand_arguments.cpp reads arguments of every step.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "graph/definitions.h"
#include "graph/expansion.h"
#include "graph/network.h"

namespace dptrain::graph {

/// A tensor that a step can read: its port, and its name in the scope of the step.
struct Source {
  Port port = -1;  ///< node -1: the step that computes it has an error, which has been reported
  std::string name;
};
using Sources = std::vector<Source>;

/// The layers of a `shared:` entry, in the order of its definition. The first use creates them, later uses call them.
struct SharedLayers {
  struct Made {
    int layer;
    std::string local;  ///< name inside the definition
  };
  std::vector<Made> layers;
  std::size_t next = 0;
  bool built = false, broken = false;
};

/// One list of steps being expanded: the model's, or that of one use of a block or shared sub-model.
struct Scope {
  const Definitions* definitions = nullptr;  ///< the blocks and shared layers that its steps can use
  std::string layer_base, node_base;         ///< prefixes of the names of layers and nodes
  std::string device;
  bool trainable = true;
  std::optional<Port> mask;                      ///< for a shared entry of one layer: Node::mask
  Sources input;                                 ///< inputs of a block or shared entry
  std::vector<std::string> input_names;          ///< one per `input`, or one for all of them; empty at the top
  StepNames names;                               ///< steps so far
  StepNames aliases;                             ///< further names of steps in unnamed uses; `names` take precedence
  std::map<std::string, config::Mark> left_out;  ///< left out by a false `if`
  AutoNames uses;                                ///< numbers unnamed uses of blocks and shared layers
  bool blind = false;                            ///< a step of unknown name failed; unknown names are not reported
  SharedLayers* shared = nullptr;

  // The use that this scope expands; all empty at the top.
  const Scope* outer = nullptr;
  std::string kind, type;  ///< "block", "residual"
  config::Mark use;

  bool is_input(const std::string& name) const;
};

/// Maximum number of steps and uses of blocks in a model, which limits `repeat` and nested blocks.
inline constexpr std::int64_t kMaxSteps = 20'000;

class Expander {
 public:
  Expander(const Definitions& definitions, config::Reader& reader) : definitions_(definitions), reader_(reader) {}

  Expansion run(const config::Node& layers);

 private:
  /// One call of a step, with its context.
  struct Call {
    const ListedStep& step;
    std::optional<std::string> name;  ///< nullopt: choose one; "": that of the scope (a shared layer)
    const Sources& above;
    const Source* before = nullptr;  ///< for copies of a repeated step: the copy before
  };

  Sources chain(const config::Node& layers, Scope& scope);
  /// Reads a step. Its type may be a parameter: `$norm`, or `$norm: {arguments}`.
  std::optional<ListedStep> listed(const config::Node& node);
  Sources step(const ListedStep& step, Scope& scope, const Sources& above);
  Source copy(const Call& call, Scope& scope);
  Source layer(const Call& call, const nn::LayerType& type, Scope& scope);
  Source block(const Call& call, const Block& block, Scope& scope);
  Source network(const Call& call, const Network& network, Scope& scope);
  /// Inputs of the network: `inputs`, else the step above, else a new Input. Returns nullopt after reporting an error.
  std::optional<Sources> network_input(const Call& call, const Network& network,
                                       const std::map<std::string, config::Node>& values, Scope& scope);
  /// Checks the rules in the network's file and reports those that do not hold.
  bool keeps_rules(const Network& network, const ListedStep& step, std::map<std::string, config::Node> values,
                   const Shape& input, const Scope& scope);
  /// Expands the steps of a block or network, with values for its parameters.
  Source open(const Block& block, std::map<std::string, config::Node> values, Scope inner, const std::string& local,
              Scope& scope);
  Source shared(const Call& call, const Shared& shared, Scope& scope);

  // The six arguments of every step. Each function reports an invalid value and returns nullopt.
  std::optional<bool> condition(const ListedStep& step);
  std::optional<std::optional<std::string>> name(const ListedStep& step, const Scope& scope);
  std::optional<std::int64_t> copies(const ListedStep& step);
  std::optional<std::string> device(const ListedStep& step, const Scope& scope);
  std::optional<bool> trainable(const ListedStep& step, const Scope& scope);
  std::optional<Sources> inputs(const Call& call, const Scope& scope);
  /// `mask` of a layer or of a use of a shared layer: Node::mask.
  std::optional<std::optional<Port>> mask(const ListedStep& step, const Scope& scope);
  /// Inputs of a use of a block, one for each of `names`. Without names there are none if no step is above.
  std::optional<Sources> block_inputs(const Call& call, const std::vector<std::string>& names, const Scope& scope);
  std::optional<Sources> find(const config::Node& node, const Scope& scope);

  config::Typed read_layer(const nn::LayerType& type, const ListedStep& step);
  std::optional<std::vector<nn::OutputDef>> inferred(const config::Typed& layer, const ListedStep& step,
                                                     const Sources& inputs, const Scope& scope);
  const nn::OutputDef& tensor(const Source& source) const { return tensor_of(result_.graph, source.port); }
  int add_layer(const std::string& name, std::string path, const config::Typed& typed, bool trainable,
                const Sources& inputs);
  int add_node(int layer, const Sources& inputs, std::vector<nn::OutputDef> outputs, const std::string& name,
               const std::string& device, const config::Mark& mark);
  std::optional<std::map<std::string, config::Node>> block_arguments(const ListedStep& step, const Block& block);
  bool only_reserved(const config::Node& arguments, const std::vector<std::string>& allowed, const std::string& hint);
  bool is_block(const std::string& type, const Scope& scope) const;  ///< true for a network, too
  void export_names(const Scope& inner, const std::string& local, Scope& outer);
  /// `inputs`: the names of its inputs in the definition.
  std::optional<Scope> inner_scope(const Call& call, const std::string& kind, const std::string& local,
                                   const std::vector<std::string>& inputs, Scope& scope);
  Source close(Scope& inner, const Sources& last, const std::string& local, Scope& scope);

  void declare(Scope& scope, const std::string& local, Port port, const config::Mark& mark);
  /// Reserves a name of a layer or node for the whole model. Reports a duplicate.
  bool claim(std::map<std::string, config::Mark>& taken, const std::string& name, const config::Mark& mark,
             const Scope& scope);
  Sources failed(const ListedStep& step, Scope& scope);
  void add_notes(config::Diagnostic& diagnostic, const Scope& scope) const;

  const Definitions& definitions_;
  config::Reader& reader_;
  Expansion result_;
  AutoNames automatic_;
  std::map<std::string, config::Mark> layer_names_, node_names_;
  std::map<std::string, SharedLayers> shared_;
  std::set<std::tuple<const config::Source*, int, int>> failed_;  ///< steps whose error has been reported
  std::vector<int> calls_;                                        ///< number of calls so far, per layer
  std::int64_t steps_ = 0;
};

}  // namespace dptrain::graph
