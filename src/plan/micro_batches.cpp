#include "plan/micro_batches.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/index.h"
#include "nn/embedding.h"
#include "plan/memory.h"

namespace dptrain::plan {
namespace {

/// How often a training step moves an activation and its gradient (each: written, read forward, read backward), and a
/// weight and its gradient (read forward and backward; written, read and added).
constexpr double kMovesOfActivation = 6, kMovesOfWeight = 5;
constexpr double kMaxShareOfWeights = 0.5;

std::uint64_t arena_bytes(const Plan& plan, std::int64_t rows) {
  return plan_memory(plan, std::vector<Need>(plan.steps.size()), {}, rows, Mode::kTraining).arena_bytes;
}

double weight_bytes(const Plan& plan) {
  return static_cast<double>(plan.total - plan.table_floats) * sizeof(float);  // a batch reads few rows of a table
}

/// Forward multiply-adds of one sample, and the number of vectors per sample that the weights multiply.
struct Product {
  double work = 0;
  std::int64_t positions = 1;
};

std::optional<Product> product_of(const Plan& plan, const Step& step) {
  if (step.spec.get_if<nn::EmbeddingSpec>() != nullptr) return std::nullopt;
  std::int64_t weights = 0;
  for (const int parameter : step.parameters) {
    const Parameter& p = plan.parameters[at(parameter)];
    if (p.shape.rank() > 1) weights += p.elements();
  }
  if (weights == 0) return std::nullopt;
  const Shape& output = plan.tensors[at(step.output())].shape;
  const std::int64_t positions = output.elements() / std::max<std::int64_t>(output.back(), 1);
  return Product{static_cast<double>(weights) * static_cast<double>(positions), positions};
}

/// The smallest number of rows of a micro-batch with which at most a tenth of the multiply-adds are in products of
/// fewer than 256 vectors. Smaller products do not make up for reading the weights.
std::int64_t least_rows(const Plan& plan) {
  constexpr std::int64_t kVectors = 256;
  constexpr double kMaxShareInSmall = 0.1;
  std::vector<Product> products;
  double all = 0;
  for (const Step& step : plan.steps)
    if (const std::optional<Product> product = product_of(plan, step)) {
      products.push_back(*product);
      all += product->work;
    }
  std::ranges::stable_sort(products, {}, &Product::positions);
  double small = 0;
  for (const Product& product : products)
    if ((small += product.work) > kMaxShareInSmall * all) return (kVectors + product.positions - 1) / product.positions;
  return 1;
}

/// Counts all slots, also those on the same device: slots must not change results.
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
      kMaxShareOfWeights * kMovesOfActivation * arena / (kMovesOfWeight * std::max(weight_bytes(plan), 1.0));
  const std::int64_t most = std::min(wanted, rows / least_rows(plan));
  const auto parts = static_cast<std::int64_t>(std::min<double>(allowed, static_cast<double>(most)));
  if (parts < 2) return 1;
  const std::int64_t rows_of_part = (rows + parts - 1) / parts;
  return of_row * static_cast<double>(rows_of_part) <= static_cast<double>(cache.last) ? parts : 1;
}

}  // namespace dptrain::plan
