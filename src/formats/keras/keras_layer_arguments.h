#pragma once

// The `config` of one Keras layer as arguments of ours. Pure.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/node.h"

namespace dptrain::formats {

/// Arguments by name; what is not supported is added to `complaints`, as "argument 'kernel_constraint' is ...". So is,
/// unless Keras 3 wrote the file, the name of a function that is another one in Keras 2.
config::Node layer_arguments(const std::string& class_name, const nlohmann::json& config, bool by_keras3,
                             std::vector<std::string>& complaints);

}  // namespace dptrain::formats
