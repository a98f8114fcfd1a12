#pragma once

// The texts of JSON in a `.keras` file, in the dialect of Keras 3 (docs/reference/keras-files.md). Pure functions, any
// thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/family.h"
#include "formats/compile_config.h"
#include "graph/graph.h"
#include "graph/model.h"

namespace dptrain::formats::keras {

/// config.json: the model, and its training if `compiled` has an optimizer and a loss.
std::string keras3_config(const graph::Graph& graph, const CompileConfig& compiled);
/// metadata.json, without a date so that the same model gives the same bytes.
std::string keras3_metadata();
/// Null without optimizer or loss.
nlohmann::ordered_json compile_config(const CompileConfig& compiled);

// Keras 3's list of an optimizer's variables, which has no names: the steps done, the learning rate, then the slots.

/// The weights for which a Keras optimizer has slots, in its order: indices into Model::weights.
std::vector<int> trained_weights(const graph::Model& model);

/// The slots in the order of Keras's variables. Slots of a group alternate: "momentum" of the first weight, "velocity"
/// of the first, "momentum" of the second, ... EMA's "average" is a group of its own and the first.
std::vector<std::vector<std::string>> slot_groups(const config::Typed& optimizer);

/// Names of the arrays of all slots, in Keras's order: "momentum/conv1/kernel".
std::vector<std::string> slot_names(const config::Typed& optimizer, const graph::Model& model);

/// Nadam's product of its momentum schedule, a variable that belongs to no weight. Nothing for other optimizers.
std::optional<double> momentum_product(const config::Typed& optimizer, std::int64_t iterations);

}  // namespace dptrain::formats::keras
