#pragma once

// The stages of make_plan, in the order in which they run. Private to the module.

#include <optional>
#include <vector>

#include "core/index.h"
#include "nn/activations.h"
#include "plan/plan.h"

namespace dptrain::plan {

/// State that the stages share. Until lay_out_parameters a parameter's index is that of its weight in the model.
struct Draft {
  const graph::Model& model;
  const PlanOptions& options;
  const Capabilities& device;
  Plan plan;
  /// Per node, a tensor for each output; empty for nodes that no output depends on.
  std::vector<std::vector<int>> node_tensors;
};
inline int last_index(std::size_t size) { return static_cast<int>(size) - 1; }

/// The equivalent activation, if any, of an Activation, Softmax, or ReLU with the default or relu6 numbers.
std::optional<nn::Activation> pure_activation(const config::Typed& layer);
/// The activation that the loss computes for the output; kLinear if the loss is not fused.
nn::Activation fused_activation(const LossStep& loss);

/// Checks losses, metrics and labels against their outputs and decides on fusion (check.cpp).
void resolve_losses(Draft& draft);
/// Lists parameters in the model's order, without offsets (parameters.cpp).
void list_parameters(Draft& draft);
/// Turns nodes into steps: aliases views, fuses or splits off activations, binds losses (lower.cpp).
void lower(Draft& draft);
/// Adds steps that copy the tensors that steps and losses read from other slots (slots.cpp).
void cross_slots(Draft& draft);
/// Chooses the trainable weights that become tables (tables.cpp).
void find_tables(Draft& draft);
/// Chooses the gradients to compute, their tensors, and the sums for repeated uses (backward.cpp).
void plan_backward(Draft& draft);
/// Moves each fetch from another slot as late as possible (slots.cpp).
void delay_fetches(Plan& plan);
/// Sorts parameters into arena order and cuts the buckets (parameters.cpp).
void lay_out_parameters(Draft& draft);

}  // namespace dptrain::plan
