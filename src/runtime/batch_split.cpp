#include "runtime/batch_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"

namespace dptrain::runtime {

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

std::int64_t max_rows(std::int64_t rows, const std::vector<double>& weights, std::size_t rank) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::int64_t most = split_rows(rows, weights)[rank];
  // A share is its ideal rounded down or up, so once the ideal is below `most` no smaller batch gives more.
  const auto can_give_more = [&](std::int64_t fewer) {
    return fewer > 0 && weights[rank] > 0 &&
           static_cast<double>(fewer) * weights[rank] / total >= static_cast<double>(most);
  };
  for (std::int64_t fewer = rows - 1; can_give_more(fewer); --fewer)
    most = std::max(most, split_rows(fewer, weights)[rank]);
  return most;
}

std::vector<RowRange> cut(RowRange whole, const std::vector<double>& weights) {
  std::vector<RowRange> parts;
  for (const std::int64_t count : split_rows(whole.count, weights))
    parts.push_back({parts.empty() ? whole.first : parts.back().end(), count});
  return parts;
}

std::vector<RowRange> cut(RowRange whole, std::int64_t parts) {
  return cut(whole, std::vector<double>(static_cast<std::size_t>(parts), 1.0));
}

std::vector<RowRange> parts_of(std::int64_t positions, const std::vector<double>& weights, int virtual_shards) {
  return virtual_shards > 0 ? cut({0, positions}, virtual_shards) : cut({0, positions}, weights);
}

RowRange share_of(const World& world, int local_ranks, const std::vector<double>& weights, std::int64_t positions,
                  int virtual_shards) {
  const std::vector<RowRange> parts = parts_of(positions, weights, virtual_shards);
  const std::size_t of_rank = parts.size() / weights.size();
  const std::int64_t first = parts[at(world.first_rank) * of_rank].first;
  return {first, parts[at(world.first_rank + local_ranks) * of_rank - 1].end() - first};
}

BatchView take(const BatchView& batch, RowRange rows) {
  const RowRange here{batch.first_row, batch.rows};
  if (rows.first < here.first || rows.end() > here.end())
    throw Error(ErrorKind::kInternal, fmt::format("rows {} to {} of a batch of which {} to {} are here", rows.first,
                                                  rows.end(), here.first, here.end()));
  return batch.sub(rows.first - here.first, rows.count);
}

}  // namespace dptrain::runtime
