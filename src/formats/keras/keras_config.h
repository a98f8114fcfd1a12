#pragma once

// The two JSON texts that describe the model in a Keras file, each on one line. They are in the dialect of Keras 2 that
// Keras 3 also loads. docs/reference/keras-files.md lists every rule with the version that fails without it. Pure
// functions, any thread.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "config/family.h"
#include "formats/compile_config.h"
#include "graph/graph.h"

namespace dptrain::formats::keras {

std::string model_config(const graph::Graph& graph);
/// "" without optimizer or loss, and if Keras 2 would fail to load the file (AdamW, weight decay, averages).
std::string training_config(const CompileConfig& compiled);
/// Losses, metrics and weights of the losses: by the outputs' names, or of the one output, which has no weight.
/// `object` converts a {"class_name", "config"} of this module to its dialect.
nlohmann::ordered_json compiled_outputs(const CompileConfig& compiled,
                                        nlohmann::ordered_json (*object)(const char* module,
                                                                         nlohmann::ordered_json entry));
/// The string that all releases of Keras accept or, if keys differ from their defaults, class name and config.
config::Node loss_config(const config::Typed& loss);
/// A string of Keras, or the arguments as a map.
config::Node metric_config(const config::Typed& metric);
/// Whether Keras 2 loads the optimizer from a file, as one of its "legacy" optimizers.
bool in_keras2(const config::Typed& optimizer);
/// The optimizer's own arguments, without those of OptimizerCommon.
config::Node optimizer_arguments(const config::Typed& optimizer);

}  // namespace dptrain::formats::keras
