#pragma once

// Balance: shares of a batch that follow the speed of the replicas, `split: auto`. It hears how long each replica of
// the run computed in a step, the same numbers in the same order in every process, and decides, in all processes alike,
// from which batch on who gets how many rows. Batches are known by number, so a loader that makes batches ahead asks
// for the share of the one it begins. The gradient is exact with any shares. Any thread.

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
  /// Steps whose times make a decision; it goes by the median, so that one slow step moves nothing.
  int steps = 16;
  /// Rows are moved where the step gets shorter by more than this part of it.
  double least_gain = 0.05;
};

/// A decision.
struct NewShares {
  std::int64_t from = 0;               ///< the number of the first batch that is cut so
  std::vector<std::int64_t> rows{};    ///< of a whole batch, by rank
  std::vector<double> milliseconds{};  ///< what each rank took in a step before
};

class Balance {
 public:
  explicit Balance(BalanceOptions options);

  /// A share is at most so many times an even one, and never less than a part of it: what stands still would never be
  /// heard of again.
  static constexpr double kMostShare = 2, kLeastShare = 0.125;
  /// Rows of a whole batch that a rank may get.
  std::int64_t most_rows() const;

  /// How far ahead of the last step batches are made: a decision holds from that many on. Before the first step.
  void set_ahead(std::int64_t batches);
  /// One per rank, for cut and share_of.
  std::vector<double> weights_at(std::int64_t number) const;
  /// Batch `number`, of so many positions, took each rank so long. In the order of the steps. A short batch says
  /// nothing, and of a batch with less than two rows for each replica nothing is moved.
  std::optional<NewShares> add(std::int64_t number, std::int64_t positions, std::span<const double> seconds);

 private:
  struct From {
    std::int64_t number;
    std::vector<std::int64_t> rows;
  };

  const std::vector<std::int64_t>& rows_at(std::int64_t number) const;
  std::vector<std::int64_t> wanted(const std::vector<std::int64_t>& rows, const std::vector<double>& seconds) const;

  const BalanceOptions options_;
  mutable std::mutex mutex_;
  std::int64_t ahead_ = 1;
  std::deque<From> from_;  ///< ascending; the first holds for all before the second. Those that are over are gone.
  std::vector<std::vector<double>> seconds_;  ///< by rank, of steps with the same shares
};

/// "138 + 118 rows"
std::string text_of(const NewShares& shares);

}  // namespace dptrain::runtime
