
#include "plan/stages.h"

namespace dptrain::plan {
namespace {

/// Whether all steps that use the parameter read it by row.
bool read_by_row(const Draft& draft, int parameter) {
  bool used = false;
  for (const Step& step : draft.plan.steps)
    for (std::size_t k = 0; k < step.parameters.size(); ++k)
      if (step.parameters[k] == parameter) {
        used = true;
        if (!draft.device.reads_rows(step.spec, k) || step.slot != 0) return false;  // tables are in the primary slot
      }
  return used;
}

}  // namespace

void find_tables(Draft& draft) {
  if (!draft.options.tables_from || !draft.plan.has_loss()) return;
  std::vector<int> tables;
  std::ptrdiff_t trainable = 0;
  for (int p = 0; p <= last_index(draft.plan.parameters.size()); ++p) {
    const Parameter& parameter = draft.plan.parameters[at(p)];
    if (parameter.kind != ParameterKind::kTrainable) continue;
    ++trainable;
    const bool penalized = parameter.penalty.l1 != 0 || parameter.penalty.l2 != 0;
    if (parameter.elements() >= *draft.options.tables_from && !penalized && parameter.order.empty() &&
        read_by_row(draft, p))
      tables.push_back(p);
  }
  // A loss that is not finite marks the first gradient of the arena, so the arena must not be empty.
  if (std::ssize(tables) == trainable) return;
  for (const int p : tables) draft.plan.parameters[at(p)].kind = ParameterKind::kTable;
}

}  // namespace dptrain::plan
