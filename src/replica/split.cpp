#include <algorithm>
#include <cmath>
#include <numeric>

#include "replica/replica_set.h"

namespace dptrain::replica {

std::vector<std::int64_t> split_rows(std::int64_t rows, const std::vector<double>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> parts;
  std::vector<double> remainders;
  for (const double weight : weights) {
    const double ideal = static_cast<double>(rows) * weight / total;
    parts.push_back(static_cast<std::int64_t>(std::floor(ideal)));
    remainders.push_back(ideal - std::floor(ideal));
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  std::int64_t left = rows - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  for (std::size_t i = 0; left > 0; ++i, --left) ++parts[order[i % order.size()]];
  return parts;
}

}  // namespace dptrain::replica
