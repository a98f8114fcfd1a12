#pragma once

// Balance: shares of a batch that follow the speed of the replicas (`split: auto`). It receives the compute time of
// each rank per step, equal in all processes and in the same order, so all processes make the same decisions. Batches
// are identified by number: a loader that makes batches ahead gets the shares of each. The gradient is exact with
// any shares. Any thread.

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dptrain::runtime {

struct BalanceOptions {
  int ranks = 1;
  std::int64_t batch = 1;  ///< rows of a whole batch
  /// Number of steps per decision. It uses the median, so one slow step has no effect.
  int steps = 16;
  /// Minimum relative reduction of the step time for which shares change.
  double min_gain = 0.05;
};

/// Shares decided by Balance::add().
struct NewShares {
  std::int64_t from = 0;               ///< number of the first batch with these shares
  std::vector<std::int64_t> rows{};    ///< rows of a whole batch, by rank
  std::vector<double> milliseconds{};  ///< median step time of each rank before the decision
};

class Balance {
 public:
  explicit Balance(BalanceOptions options);

  /// Limits of a share relative to an even one. A replica without rows could no longer be measured.
  static constexpr double kMaxShare = 2, kMinShare = 0.125;
  /// Rows of a whole batch that a rank may get.
  std::int64_t max_rows() const;

  /// Number of batches made ahead of the last step; a decision applies after them. Called before the first step.
  void set_ahead(std::int64_t batches);
  /// Weights for cut() and share_of(), one per rank.
  std::vector<double> weights_at(std::int64_t number) const;
  /// Adds the seconds of each rank for batch `number` of `positions` rows, in the order of the steps. Ignores short
  /// batches, and batches of fewer than two rows per replica.
  std::optional<NewShares> add(std::int64_t number, std::int64_t positions, std::span<const double> seconds);

 private:
  struct Decision {
    std::int64_t number;
    std::vector<std::int64_t> rows;
  };

  const std::vector<std::int64_t>& rows_at(std::int64_t number) const;
  std::vector<std::int64_t> wanted(const std::vector<std::int64_t>& rows, const std::vector<double>& seconds) const;

  const BalanceOptions options_;
  mutable std::mutex mutex_;
  std::int64_t ahead_ = 1;
  std::deque<Decision> decisions_;  ///< ascending; the first also applies to earlier batches; outdated ones are removed
  std::vector<std::vector<double>> seconds_;  ///< by rank, for steps with the current shares
};

/// "138 + 118 rows"
std::string text_of(const NewShares& shares);

}  // namespace dptrain::runtime
