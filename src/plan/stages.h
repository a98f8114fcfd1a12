#pragma once

// The stages of make_plan, in the order in which they run. Private to the module.

#include <optional>
#include <vector>

#include "core/index.h"
#include "nn/activations.h"
#include "plan/plan.h"

namespace dptrain::plan {

/// What the stages hand on. Until lay_out_parameters a parameter's index is that of its weight in the model.
struct Draft {
  const graph::Model& model;
  const PlanOptions& options;
  const Capabilities& device;
  Plan plan;
  /// Of each node's outputs; none for nodes that no output depends on.
  std::vector<std::vector<int>> node_tensors;
};
inline int last_index(std::size_t size) { return static_cast<int>(size) - 1; }

/// The function a layer is, where it is nothing else: Activation, Softmax, a ReLU with Keras's or relu6's numbers.
std::optional<nn::Activation> pure_activation(const config::Typed& layer);
/// The activation that the loss takes over when the output ends in it; kLinear when the loss is not fused.
nn::Activation fused_activation(const LossStep& loss);

/// Checks losses, metrics and labels against their outputs and decides about fusions (check.cpp).
void resolve_losses(Draft& draft);
/// Parameters in the model's order, without places (parameters.cpp).
void list_parameters(Draft& draft);
/// Nodes to steps: views aliased, activations fused or split off, the losses bound (lower.cpp).
void lower(Draft& draft);
/// What steps and losses read from other slots gets steps that copy it (slots.cpp).
void cross_slots(Draft& draft);
/// Which trainable weights are tables (tables.cpp).
void find_tables(Draft& draft);
/// Which gradients are wanted, their tensors, sums where a tensor or a parameter is used more than once (backward.cpp).
void plan_backward(Draft& draft);
/// Nobody waits for another slot earlier than he must (slots.cpp).
void delay_fetches(Plan& plan);
/// The arena's order and the buckets (parameters.cpp).
void lay_out_parameters(Draft& draft);

}  // namespace dptrain::plan
