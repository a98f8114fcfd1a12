#pragma once

// Operations of Keras 3 that compute what a layer does: `x - mean`, `ops.relu(x)`, `x[:, 0]`. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dptrain::formats {

/// Whether an entry of a model's `layers` is an operation, not a layer: by its `module`. Keras 3 writes no modules into
/// an .h5; there an operation has neither `dtype` nor `trainable`, which every layer has.
bool is_operation(const nlohmann::json& entry);

/// Puts a layer of the same meaning in the place of an operation with these arguments, if there is one.
void become_layer(std::string& class_name, nlohmann::json& config, const nlohmann::json& arguments);
/// Whether an argument is an array of numbers, not a tensor that a layer computes.
bool is_constant(const nlohmann::json& argument);
/// Whether the operation of this name is another function than the layer of this name.
bool differs_from_layer(const std::string& operation);

/// Steps that a slice of [batch, steps, features] leaves out, and whether it takes one step and its axis away.
struct StepSlice {
  std::int64_t before = 0, after = 0;
  bool drops_axis = false;
};
/// Reads GetItem's arguments, a tensor and its index: x[:, a:b] or x[:, i]. Nothing: another slice.
std::optional<StepSlice> slice_of_steps(const nlohmann::json& arguments);

}  // namespace dptrain::formats
