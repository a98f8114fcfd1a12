#pragma once

// How a global batch is cut: into a share for each replica, and each share into micro-batches. By position, so that a
// cut depends on the size of the batch alone; a sample that is missing leaves its place empty (core/batch_view.h says
// which rows stand at some positions). Pure functions; any thread.

#include <cstdint>
#include <vector>

#include "core/batch_view.h"

namespace dptrain::runtime {

/// How many each gets. Any size, any replicas; counts differ by at most one for an even split, follow the weights
/// otherwise (largest remainder), earlier ranks first.
std::vector<std::int64_t> split_rows(std::int64_t rows, const std::vector<double>& weights);

/// The largest share of a replica in batches of 0 to `rows` rows. A smaller batch may give more: of 11 rows at 3:3:1
/// the last replica gets 1, of 10 rows 2.
std::int64_t most_rows(std::int64_t rows, const std::vector<double>& weights, std::size_t rank);

/// A range in parts of the sizes that split_rows gives, one behind the other.
std::vector<RowRange> cut(RowRange whole, const std::vector<double>& weights);
/// In so many parts of like sizes.
std::vector<RowRange> cut(RowRange whole, std::int64_t parts);

/// The parts of a batch whose sums are kept apart: a share for each rank, or, where there are any, so many virtual
/// shards, of which each rank has as many neighbouring ones.
std::vector<RowRange> parts_of(std::int64_t positions, const std::vector<double>& weights, int virtual_shards);

/// What LoaderOptions::share of a process says: the shares of its replicas, lane by lane one behind the other, in a
/// batch of `positions`. `weights`: one per rank.
RowRange share_of(const World& world, int lanes, const std::vector<double>& weights, std::int64_t positions,
                  int virtual_shards = 0);

/// Those rows of the batch. Throws Error{kInternal} where the batch has them not.
BatchView take(const BatchView& batch, RowRange rows);

}  // namespace dptrain::runtime
