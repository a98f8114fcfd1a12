#include "plan/plan.h"

#include "plan/stages.h"

namespace dptrain::plan {

Plan make_plan(const graph::Model& model, const PlanOptions& options, const Capabilities& device) {
  Draft draft{.model = model, .options = options, .device = device, .plan = {}, .node_tensor = {}};
  draft.plan.graph = &model.graph;
  resolve_loss(draft);
  list_parameters(draft);
  lower(draft);
  plan_backward(draft);
  lay_out_parameters(draft);
  draft.plan.compute = options.compute;
  for (Tensor& tensor : draft.plan.tensors)
    if (!tensor.rowless) tensor.type = options.compute;
  return std::move(draft.plan);
}

}  // namespace dptrain::plan
