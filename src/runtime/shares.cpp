#include "runtime/shares.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"

namespace dptrain::runtime {

Shares::Shares(const SetOptions& options, const World& world) : options_(options), world_(world) {
  if (options_.virtual_shards > 0) check_shards();
}

void Shares::check_shards() const {
  const bool even = has_equal_shares();
  if (shards() * world_.ranks != options_.virtual_shards || !std::has_single_bit(at(world_.ranks)) ||
      !std::has_single_bit(at(options_.virtual_shards)) || options_.accumulate_steps != 1 || !even)
    throw Error(ErrorKind::kInternal,
                fmt::format("{} virtual shards over {} replicas, {} micro-batches{}", options_.virtual_shards,
                            world_.ranks, options_.accumulate_steps, even ? "" : ", uneven"));
}

bool Shares::has_equal_shares() const {
  return std::ranges::count(options_.weights, options_.weights.front()) == world_.ranks;
}

int Shares::shards() const { return std::max(1, options_.virtual_shards / world_.ranks); }

std::vector<RowRange> Shares::shares(const BatchKey& batch, int rank) const {
  const std::vector<RowRange> all =
      batch.number < 0 || options_.balance == nullptr
          ? parts_of(batch.positions, options_.weights, options_.virtual_shards)
          : parts_of(batch.positions, options_.balance->weights_at(batch.number), options_.virtual_shards);
  const auto first = all.begin() + rank * shards();
  return {first, first + shards()};
}

std::vector<RowRange> Shares::pieces_of(const BatchKey& batch, int rank, std::int64_t pieces) const {
  std::vector<RowRange> all;
  for (const RowRange share : shares(batch, rank))
    for (const RowRange piece : cut(share, pieces)) all.push_back(piece);
  return all;
}

std::vector<RowRange> Shares::prepared(std::int64_t batch, int rank) const {
  return options_.virtual_shards > 0 ? cut({0, batch}, options_.virtual_shards)
                                     : pieces_of({batch}, rank, options_.accumulate_steps);
}

std::int64_t Shares::max_positions(std::int64_t batch, int rank) const {
  return options_.virtual_shards > 0 ? cut({0, batch}, options_.virtual_shards).front().count
                                     : cut({0, max_share(batch, rank)}, options_.accumulate_steps).front().count;
}

std::int64_t Shares::max_share(std::int64_t batch, int rank) const {
  const std::int64_t most = runtime::max_rows(batch, options_.weights, has_equal_shares() ? 0 : at(rank));
  return options_.balance == nullptr ? most : std::min(batch, std::max(most, options_.balance->max_rows()));
}

std::vector<std::int64_t> Shares::row_counts(int rank) const {
  std::set<std::int64_t> counts;
  for (const std::int64_t batch : options_.batch_sizes)
    for (const RowRange piece : prepared(batch, rank)) counts.insert(piece.count);
  return {counts.begin(), counts.end()};
}

std::int64_t Shares::max_rows(int rank) const {
  std::int64_t most = 1;
  for (const std::int64_t batch : options_.batch_sizes)  // a resumed epoch may end with another size
    most = std::max(most, max_positions(batch, rank));
  return most;
}

std::vector<BatchView> Shares::slices(const BatchView& batch, int rank, std::int64_t pieces) const {
  const BatchPositions positions = batch.positions();
  std::vector<BatchView> all;
  for (const RowRange piece : pieces_of({positions.count, batch.number}, rank, pieces))
    all.push_back(take(batch, positions.rows_at(piece)));
  return all;
}

std::int64_t Shares::inference_pieces(const BatchView& batch, int rank, std::int64_t capacity) const {
  const int largest = has_equal_shares() ? 0 : rank;
  const std::int64_t count = shares({batch.positions().count, batch.number}, largest).front().count;
  return std::max(options_.accumulate_steps, (count + capacity - 1) / capacity);
}

bool Shares::is_full_batch(const BatchView& batch, std::int64_t global_samples) const {
  const BatchPositions positions = batch.positions();
  if (options_.balance != nullptr || options_.accumulate_steps > 1 || options_.batch_sizes.empty() ||
      positions.count != std::ranges::max(options_.batch_sizes) || positions.rows() != positions.count ||
      global_samples != positions.count)
    return false;
  for (int rank = 0; rank < world_.ranks; ++rank)
    if (shares({positions.count}, rank).front().count == 0) return false;
  return true;
}

bool Shares::may_load_kernels(const BatchView& batch) {
  const BatchPositions positions = batch.positions();
  bool any = false;
  for (int rank = 0; rank < world_.ranks; ++rank)
    for (const RowRange piece : pieces_of({positions.count, batch.number}, rank, options_.accumulate_steps))
      any = trained_rows_.emplace(rank, positions.rows_at(piece).count).second || any;
  return any;
}

}  // namespace dptrain::runtime
