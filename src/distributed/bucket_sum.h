#pragma once

// BucketSum: the sum of one bucket of gradients over the CPU replicas of all processes, an exchange that is posted once
// in every step, when the bucket is ready in the replicas of this process. Every process owns a part of the bucket: the
// others send it theirs, it adds them in the order of SumTree(ranks) and sends the sum to all. What a process sends are
// sums of the largest nodes within its own ranks, so that the order of additions does not depend on who lives where.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "distributed/exchange.h"
#include "kernels/sum_tree.h"
#include "plan/plan.h"

namespace dptrain::distributed {

/// Who has which ranks; the same in all processes.
struct Seats {
  int process = 0;
  std::vector<int> first_ranks;  ///< of each process, and behind them the number of all ranks
  /// Groups of processes that share memory may stand where else processes do: who speaks for each. Empty: all speak for
  /// themselves.
  std::vector<int> leaders{};

  int processes() const { return static_cast<int>(first_ranks.size()) - 1; }
  int ranks() const { return first_ranks.back(); }
  int leader(int of_process) const;
  std::vector<kernels::SumTree::Node> nodes(int of_process) const;
};

class BucketSum final : public Exchange {
 public:
  /// `arenas`: gradients of the replicas of this process, by lane. It begins when `ready` says so, asked on the
  /// communication thread. `done` is called on the communication thread when
  /// all of them hold the sum, or with why not.
  BucketSum(const Seats& seats, const plan::Bucket& bucket, int number, std::vector<float*> arenas,
            std::function<bool()> ready, std::function<void(const Error* failed)> done);

  Progress advance(Transport& transport) override;
  void give_up(const Error& why) noexcept override { done_(&why); }

 private:
  /// What passes between this process and another.
  struct Other {
    plan::Bucket part;                       ///< that it owns
    std::vector<std::vector<float>> sums;    ///< of this process's nodes, of `part`; none where an arena itself is sent
    std::vector<std::vector<float>> theirs;  ///< of its nodes, of the part that this process owns
    std::vector<Ticket> sending, coming;
    Ticket sum_sent = 0, sum_comes = 0;
    bool sum_is_sending = false, sum_is_coming = false, has_sum = false;
  };

  void begin(Transport& transport);
  void send_nodes(Transport& transport, int to);
  void add_own_part(Transport& transport);
  void copy_to_lanes(const plan::Bucket& part);

  const Seats& seats_;
  const plan::Bucket own_;
  const std::vector<float*> arenas_;
  const std::function<bool()> ready_;
  const std::function<void(const Error* failed)> done_;
  const Tag nodes_tag_, sum_tag_;
  std::vector<kernels::SumTree::Node> nodes_;  ///< of this process
  std::vector<int> merges_;                    ///< of all processes' nodes
  std::vector<Other> others_;                  ///< by process; this one's is not used
  std::vector<std::vector<float>> own_sums_;   ///< of this process's nodes, of its own part
  bool begun_ = false, added_ = false;
};

}  // namespace dptrain::distributed
