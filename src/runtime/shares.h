#pragma once

// Shares: what every replica computes of a batch, which follows from the batch's positions alone (cut.h) and, where
// shares move, from its number. The same in all processes. One object for a ReplicaSet; it changes nothing but the
// account of loads(), which is for one thread at a time.

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/batch_view.h"
#include "runtime/cut.h"
#include "runtime/replica_set.h"

namespace dptrain::runtime {

class Shares {
 public:
  /// Both outlive this. Throws Error{kInternal} where virtual shards cannot be had.
  Shares(const SetOptions& options, const World& world);

  /// Shards of a replica; 1 without virtual ones.
  int shards() const;
  /// The numbers of rows that a rank is made ready for, ascending.
  std::vector<std::int64_t> row_counts(int rank) const;
  /// The most rows of a slice of a rank in training. Ranks of equal weights have the same.
  std::int64_t most_rows(int rank) const;
  /// A rank's part of a batch, each share in so many pieces. Never empty: without rows there are empty slices.
  std::vector<BatchView> slices(const BatchView& batch, int rank, std::int64_t pieces) const;
  /// Without gradients rows do not depend on one another, so a share that is larger than `capacity` goes through in
  /// more pieces. Equal shares are cut into as many pieces as the first, which is the largest: virtual shards and as
  /// many replicas compute the same slices.
  std::int64_t inference_pieces(const BatchView& batch, int rank, std::int64_t capacity) const;
  /// As StepInputs::whole: a batch of the largest size of which no row is missing, shares that do not move, and one for
  /// every rank. `valid`: as StepInputs::valid.
  bool whole(const BatchView& batch, std::int64_t valid) const;
  /// Whether a rank meets a slice of so many rows for the first time.
  bool loads(const BatchView& batch);

 private:
  /// What decides how a batch is cut.
  struct Whole {
    std::int64_t positions = 0;
    std::int64_t number = -1;  ///< BatchView::number
  };

  void check_shards() const;
  bool has_equal_shares() const;
  /// What a rank computes of a batch of so many positions: its share, or its shards.
  std::vector<RowRange> shares(const Whole& batch, int rank) const;
  /// Each in so many pieces, in the order of the rows.
  std::vector<RowRange> pieces_of(const Whole& batch, int rank, std::int64_t pieces) const;
  /// The pieces that a rank is made ready for; of shards all, so that every replica is made alike.
  std::vector<RowRange> prepared(std::int64_t batch, int rank) const;
  std::int64_t most_positions(std::int64_t batch, int rank) const;
  std::int64_t most_of_share(std::int64_t batch, int rank) const;

  const SetOptions& options_;
  const World& world_;
  std::set<std::pair<int, std::int64_t>> trained_rows_;  ///< of slices, by rank: steps of others load something yet
};

}  // namespace dptrain::runtime
