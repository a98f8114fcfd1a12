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
  return std::move(draft.plan);
}

}  // namespace dptrain::plan
