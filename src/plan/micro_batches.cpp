#include "plan/micro_batches.h"

#include <algorithm>

#include "plan/memory.h"

namespace dptrain::plan {
namespace {

/// How often a training step moves an activation with its gradient (written, read forward, read backward; the gradient
/// likewise), and a weight with its own (read forward and backward; the gradient written, read and added).
constexpr double kMovesOfActivation = 6, kMovesOfWeight = 5;
constexpr double kMostOfWeights = 0.5;

std::uint64_t arena_bytes(const Plan& plan, std::int64_t rows) {
  return plan_memory(plan, std::vector<Need>(plan.steps.size()), {}, rows, Mode::kTraining).arena_bytes;
}

double weight_bytes(const Plan& plan) {
  return static_cast<double>(plan.total - plan.table_floats) * sizeof(float);  // of tables a batch reads its own rows
}

/// Wherever they are: slots change no bits.
bool names_slots(const graph::Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const graph::Node& node) { return !node.device.empty(); });
}

}  // namespace

bool rows_are_independent(const Plan& plan) {
  return plan.statistics_end == plan.trainable_end && std::ranges::none_of(plan.losses, &LossStep::masked);
}

std::int64_t micro_batches_in_cache(const Plan& plan, std::int64_t rows, const CacheShare& cache) {
  if (cache.wanted == 0 || rows < 2 || !plan.has_loss() || !rows_are_independent(plan) || names_slots(*plan.graph))
    return 1;
  const auto arena = static_cast<double>(arena_bytes(plan, rows));
  const auto room = static_cast<double>(cache.wanted);
  if (arena <= room) return 1;
  const double of_row = arena / static_cast<double>(rows);
  const auto fitting = std::max<std::int64_t>(1, static_cast<std::int64_t>(room / of_row));
  const std::int64_t wanted = (rows + fitting - 1) / fitting;
  const double allowed =
      kMostOfWeights * kMovesOfActivation * arena / (kMovesOfWeight * std::max(weight_bytes(plan), 1.0));
  const auto parts = static_cast<std::int64_t>(std::min<double>(allowed, static_cast<double>(wanted)));
  if (parts < 2) return 1;
  const std::int64_t rows_of_part = (rows + parts - 1) / parts;
  return of_row * static_cast<double>(rows_of_part) <= static_cast<double>(cache.last) ? parts : 1;
}

}  // namespace dptrain::plan
