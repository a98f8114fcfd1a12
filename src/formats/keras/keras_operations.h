#pragma once

// Operations of Keras 3 that compute what a layer does: `x - mean`, `ops.relu(x)`, `x[:, 0]`. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dptrain::formats {

/// Whether an entry of a model's `layers` is an operation by its `module`. In an .h5, which has no modules, operations
/// have neither `dtype` nor `trainable`, unlike layers.
bool is_operation(const nlohmann::json& entry);

/// Replaces an operation with these arguments by an equivalent layer, if there is one.
void become_layer(std::string& class_name, nlohmann::json& config, const nlohmann::json& arguments);
/// Whether an argument is a constant array, not the output of a layer.
bool is_constant(const nlohmann::json& argument);
/// Whether the operation and the layer of this name are different functions.
bool differs_from_layer(const std::string& operation);

/// Steps that a slice of [batch, steps, features] removes, and whether it takes one step and drops the axis.
struct StepSlice {
  std::int64_t before = 0, after = 0;
  bool drops_axis = false;
};
/// Reads GetItem's arguments, a tensor and its index: x[:, a:b] or x[:, i]. Nothing for other slices.
std::optional<StepSlice> slice_of_steps(const nlohmann::json& arguments);

}  // namespace dptrain::formats
