#pragma once

// Division of a global batch into a share per replica, and of a share into micro-batches. Positions are divided, so the
// result depends only on the size of the batch. Missing samples leave their position empty; BatchView
// (core/batch_view.h) maps positions to rows. Pure functions; any thread.

#include <cstdint>
#include <vector>

#include "core/batch_view.h"

namespace dptrain::runtime {

/// Rows per part, proportional to the weights (largest remainder, earlier parts first). Even parts differ by at most
/// one.
std::vector<std::int64_t> split_rows(std::int64_t rows, const std::vector<double>& weights);

/// The largest share of a replica in batches of 0 to `rows` rows. A smaller batch may give more: of 11 rows at 3:3:1
/// the last replica gets 1, of 10 rows 2.
std::int64_t max_rows(std::int64_t rows, const std::vector<double>& weights, std::size_t rank);

/// Consecutive parts of a range, with the sizes of split_rows().
std::vector<RowRange> cut(RowRange whole, const std::vector<double>& weights);
/// As above, with equal weights.
std::vector<RowRange> cut(RowRange whole, std::int64_t parts);

/// The parts of a batch that are summed separately: one share per rank, or `virtual_shards` shards, of which each rank
/// has an equal number of consecutive ones.
std::vector<RowRange> parts_of(std::int64_t positions, const std::vector<double>& weights, int virtual_shards);

/// Rows of a process in a batch of `positions` (LoaderOptions::share): shares of its ranks. `weights`: one per rank.
RowRange share_of(const World& world, int local_ranks, const std::vector<double>& weights, std::int64_t positions,
                  int virtual_shards = 0);

/// View of those rows. Throws Error{kInternal} if the batch does not contain them.
BatchView take(const BatchView& batch, RowRange rows);

}  // namespace dptrain::runtime
