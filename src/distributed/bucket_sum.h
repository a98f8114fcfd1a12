#pragma once

// BucketSum: all-reduce of one gradient bucket over the CPU replicas of all processes. It is posted once per step, when
// the bucket is ready in the replicas of this process. Each process owns a part of the bucket. The others send it their
// values of that part, and it sends the sum back to all. Additions follow SumTree(ranks): a process sends the sums of
// the largest tree nodes within its own ranks, so the order does not depend on how ranks are distributed.

#include <functional>
#include <vector>

#include "distributed/exchange.h"
#include "kernels/sum_tree.h"
#include "plan/plan.h"

namespace dptrain::distributed {

/// Assignment of ranks to processes, equal in all processes except for `process`. A group of processes that share
/// memory may take the place of a process.
struct RankLayout {
  int process = 0;
  std::vector<int> first_ranks;  ///< first rank of each process, followed by the number of ranks
  /// Per group, the process that exchanges messages for it. Empty: every process exchanges its own.
  std::vector<int> leaders{};

  int processes() const { return static_cast<int>(first_ranks.size()) - 1; }
  int ranks() const { return first_ranks.back(); }
  int leader(int process_index) const;
  std::vector<kernels::SumTree::Node> nodes(int process_index) const;
};

class BucketSum final : public Exchange {
 public:
  /// `arenas`: gradients of the replicas of this process, by local rank. The sum begins when `ready` returns true.
  /// `done` gets null when all arenas hold the sum, else the error. advance() calls both; cancel() calls `done`.
  BucketSum(const RankLayout& rank_layout, const plan::Bucket& bucket, int number, std::vector<float*> arenas,
            std::function<bool()> ready, std::function<void(const Error* failed)> done);

  Progress advance(Transport& transport) override;
  void cancel(const Error& why) noexcept override { done_(&why); }

 private:
  struct Other {
    plan::Bucket part;                         ///< part of the bucket that the other process owns
    std::vector<std::vector<float>> sums;      ///< sums of own nodes over `part`; empty where an arena is sent
    std::vector<std::vector<float>> received;  ///< sums of its nodes over the part that this process owns
    std::vector<Ticket> sending, receiving;
    Ticket sum_sent = 0, sum_receive = 0;
    bool sum_is_sending = false, sum_is_receiving = false, has_sum = false;
  };

  void begin(Transport& transport);
  void send_nodes(Transport& transport, int to);
  void add_own_part(Transport& transport);
  void copy_to_local_ranks(const plan::Bucket& part);

  const RankLayout& rank_layout_;
  const plan::Bucket own_;
  const std::vector<float*> arenas_;
  const std::function<bool()> ready_;
  const std::function<void(const Error* failed)> done_;
  const Tag nodes_tag_, sum_tag_;
  std::vector<kernels::SumTree::Node> nodes_;  ///< nodes of this process
  std::vector<int> merges_;                    ///< merges of the nodes of all processes
  std::vector<Other> others_;                  ///< by process; the entry of this process is unused
  std::vector<std::vector<float>> own_sums_;   ///< sums of this process's nodes over its own part
  bool begun_ = false, added_ = false;
};

}  // namespace dptrain::distributed
