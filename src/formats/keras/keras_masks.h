#pragma once

// Masks of a Keras file. dptrain derives the masks of a graph from its layers (graph/masks.h). A Keras file can have
// other masks: operators neither use nor pass them, users give layers masks of their own, and older releases have other
// rules for merges. plan_masks() follows the masks as the release that wrote the file does, and finds the steps that
// need a `mask` to get the same ones. Pure functions.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace dptrain::formats {

/// Steps are valid where an element of a tensor differs from a number; over the last `joined` axes, where any does.
struct MaskSource {
  std::string tensor;  ///< as the config names it: "ids", "lstm.state_h"
  double number = 0;
  int joined = 0;
  auto operator<=>(const MaskSource&) const = default;
};

/// A mask by what it is computed from. A step is valid where any source has it so; no sources: there is no mask.
using MaskValue = std::set<MaskSource>;

/// One call of a layer.
struct KerasCall {
  bool is_operator = false;  ///< an operation such as `x + y`
  /// The masks that the file states for the call's inputs, by keyword: "mask", "value_mask". Empty: the file states
  /// that the input has none.
  std::map<std::string, MaskValue> masks{};
};

/// The number of a call's input that a mask of this keyword is for.
std::size_t mask_input(const std::string& keyword);

/// A mask that a model inside of the model is called with: it must be that of the tensor.
struct KerasModelCall {
  std::string model, tensor;
  MaskValue mask;
};

/// The mask that a merge (Add, Multiply, Concatenate) gives its output, and whether it uses the masks of its inputs.
enum class MergeMasks {
  kAnyOfAll,     ///< Keras 3.4 and later, and dptrain: valid where any input is, none where an input has none
  kAllOfMasked,  ///< Keras 2: valid where all masked inputs are; not used
  kNone,         ///< Keras 3.0 to 3.3: no mask; not used
};

/// The program that wrote a file, as far as the meaning of the file depends on it.
struct KerasWriter {
  bool keras3 = false;  ///< functions have the meaning that Keras 3 gives their names
  MergeMasks merges = MergeMasks::kAnyOfAll;
  bool ignores_training = false;  ///< Keras 3 trains a layer that is called with training=False
  /// Keras 3: a recurrent layer with an initial state uses a mask only if its call names one.
  bool states_replace_masks = false;
  /// Keras 3.8 and later: MultiHeadAttention removes the masks of the tensors that it reads while the model runs.
  bool attention_removes_masks = false;
};

struct MaskPlan {
  std::map<std::string, std::string> masks{};  ///< the value of `mask` for each step that needs one, by its name
  std::vector<std::string> complaints{};       ///< masks that dptrain does not have, with the step's name
  std::vector<std::string> warnings{};         ///< where Keras can compute something else
};

/// `graph` is that of the file, with no mask of its own; calls that are not in `calls` are those of layers for which
/// the file states nothing.
MaskPlan plan_masks(const graph::Graph& graph, const std::map<std::string, KerasCall>& calls,
                    const std::vector<KerasModelCall>& model_calls, const KerasWriter& writer);

}  // namespace dptrain::formats
