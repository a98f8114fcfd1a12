#pragma once

// Shares: the rows of a batch that each replica computes. They follow from the batch's positions (batch_split.h) and,
// with a Balance, from its number, so they are equal in all processes. One object per ReplicaSet. Any thread;
// may_load_kernels() by one thread at a time.

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/batch_view.h"
#include "runtime/batch_split.h"
#include "runtime/replica_set.h"

namespace dptrain::runtime {

class Shares {
 public:
  /// Both outlive this object. Throws Error{kInternal} if the virtual shards are invalid.
  Shares(const SetOptions& options, const World& world);

  /// Number of shards per replica; 1 without virtual shards.
  int shards() const;
  /// Numbers of rows for which a rank prepares its ops, ascending.
  std::vector<std::int64_t> row_counts(int rank) const;
  /// Largest number of rows of a rank's slice in training. Equal for ranks of equal weights.
  std::int64_t max_rows(int rank) const;
  /// A rank's slices of a batch, `pieces` per share, in row order. Slices may be empty but are never missing.
  std::vector<BatchView> slices(const BatchView& batch, int rank, std::int64_t pieces) const;
  /// Pieces per share without gradients, where rows are independent, so that no slice exceeds `capacity` rows. Equal
  /// shares use the number of the first and largest one, so N virtual shards have the same slices as N replicas.
  std::int64_t inference_pieces(const BatchView& batch, int rank, std::int64_t capacity) const;
  /// As StepInputs::is_full_batch: a batch of the largest size without missing rows, fixed shares, and rows for every
  /// rank. `global_samples`: as StepInputs::global_samples.
  bool is_full_batch(const BatchView& batch, std::int64_t global_samples) const;
  /// Whether a rank gets a slice with this number of rows for the first time. Remembers the slices.
  bool may_load_kernels(const BatchView& batch);

 private:
  /// The properties of a batch that determine how it is cut.
  struct BatchKey {
    std::int64_t positions = 0;
    std::int64_t number = -1;  ///< BatchView::number
  };

  void check_shards() const;
  bool has_equal_shares() const;
  /// Rows of a rank: its share, or its shards.
  std::vector<RowRange> shares(const BatchKey& batch, int rank) const;
  /// Each share in `pieces` parts, in row order.
  std::vector<RowRange> pieces_of(const BatchKey& batch, int rank, std::int64_t pieces) const;
  /// The pieces for which a rank prepares its ops: with shards all of them, so that all replicas prepare the same.
  std::vector<RowRange> prepared(std::int64_t batch, int rank) const;
  std::int64_t max_positions(std::int64_t batch, int rank) const;
  std::int64_t max_share(std::int64_t batch, int rank) const;

  const SetOptions& options_;
  const World& world_;
  std::set<std::pair<int, std::int64_t>> trained_rows_;  ///< rank and rows of earlier slices
};

}  // namespace dptrain::runtime
