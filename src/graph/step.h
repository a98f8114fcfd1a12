#pragma once

// One entry of a `layers:` list, taken apart: the type, its arguments, and the six arguments that every step may have.

#include <optional>
#include <string>
#include <vector>

#include "config/reader.h"

namespace dptrain::graph {

struct ListedStep {
  std::string type;
  config::Mark mark;       ///< of the type's name
  config::Node arguments;  ///< as written, reserved ones included

  const config::Node* reserved(const char* key) const { return arguments.is_map() ? arguments.find(key) : nullptr; }
};

/// name, inputs, device, repeat, trainable, if: no Keras layer has constructor arguments of these names (but `name`).
const std::vector<std::string>& reserved_arguments();
/// reserved_arguments() and `mask`, which layers have.
const std::vector<std::string>& reserved_layer_arguments();

/// `Type`, `Type: value` or `Type: {arguments}`. Nothing after reporting.
std::optional<ListedStep> read_step(const config::Node& node, config::Reader& reader);

}  // namespace dptrain::graph
