#pragma once

// Masks of a Keras file. dptrain derives the masks of a graph from its layers (graph/masks.h). A Keras file can have
// others: operators neither use nor pass masks, calls can have mask arguments, and rules for merges depend on the
// release. plan_masks() applies the rules of that release and finds the steps that need a `mask`. Pure functions.

#include <map>
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

/// A mask, as the set of its sources. A step is valid if it is valid in any source; no sources: no mask.
using MaskValue = std::set<MaskSource>;

/// One call of a layer.
struct KerasCall {
  bool is_operator = false;  ///< an operation such as `x + y`
  /// The masks of the call's inputs in the file, by keyword: "mask", "value_mask". Empty: the input has no mask.
  std::map<std::string, MaskValue> masks{};
};

/// Index of the input to which a mask of this keyword applies.
std::size_t mask_input(const std::string& keyword);

/// A mask argument of a nested model. It must be the mask of the tensor.
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

/// Properties of the program that wrote a file on which the file's meaning depends.
struct KerasWriter {
  bool keras3 = false;  ///< names of functions mean Keras 3's functions
  MergeMasks merges = MergeMasks::kAnyOfAll;
  bool ignores_training = false;  ///< Keras 3 trains a layer that is called with training=False
  /// Keras 3: a recurrent layer with an initial state uses a mask only if its call has a mask argument.
  bool states_replace_masks = false;
  /// Keras 3.8 and later: MultiHeadAttention removes the masks of the tensors that it reads while the model runs.
  bool attention_removes_masks = false;
};

struct MaskPlan {
  std::map<std::string, std::string> masks{};  ///< the value of `mask` for each step that needs one, by its name
  std::vector<std::string> errors{};           ///< masks that dptrain cannot represent, with the step's name
  std::vector<std::string> warnings{};         ///< steps that Keras can compute differently
};

/// `graph` is that of the file, without masks. `calls` has the calls with mask arguments.
MaskPlan plan_masks(const graph::Graph& graph, const std::map<std::string, KerasCall>& calls,
                    const std::vector<KerasModelCall>& model_calls, const KerasWriter& writer);

}  // namespace dptrain::formats
