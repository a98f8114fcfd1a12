#pragma once

// SharedMemoryGroup: the CPU replicas of all processes that share memory with this one (distributed/processes.h), their
// gradient arenas, and shared memory with counters of their progress. A group may consist of this process alone.
// Members are the ranks of the group, numbered from its first one. Local ranks are the ranks of this process.
//
// All processes construct it on the main thread. The threads of the replicas use it. The communication thread calls
// all_ready(), signal_exchanged(), notify() and abort(). An ended process blocks no other: waiting threads throw when
// the run has failed.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/error.h"
#include "distributed/bucket_sum.h"
#include "distributed/processes.h"

namespace dptrain::distributed {

class SharedMemoryGroup {
 public:
  SharedMemoryGroup(const RankLayout& rank_layout, Processes& processes);

  /// Rank layout of the groups, each treated as one process.
  const RankLayout& groups() const { return groups_; }
  int members() const { return members_; }
  int member(int local_rank) const { return own_first_ + local_rank; }
  int local_ranks() const { return local_ranks_; }
  /// Whether the group contains all ranks of the run.
  bool has_all_ranks() const { return groups_.processes() == 1; }
  /// Whether this process exchanges messages for the group.
  bool is_leader() const { return is_leader_; }

  /// Memory for the gradients of a local rank that the other members can access.
  std::unique_ptr<backend::Buffer> allocate_gradients(int local_rank, backend::Device& device, std::size_t bytes);
  /// Called once per local rank on its thread. The last call gathers over all processes of the run, so it blocks; it
  /// returns true, and gradient_arenas() is complete.
  bool attach(int local_rank, float* gradients);
  /// Gradient arenas by member. Valid when all local ranks are attached.
  const std::vector<float*>& gradient_arenas() const { return arenas_; }

  // Counters in shared memory, which accumulate over all steps.
  void signal_ready(int local_rank);            ///< one more bucket is complete in the arena of the local rank
  bool all_ready(std::uint64_t buckets);        ///< whether that many are complete in all members; any thread
  void signal_summed(int local_rank);           ///< the local rank has summed its part of one more bucket
  void signal_exchanged();                      ///< one more bucket is summed over all groups; leader only
  void wait_for_ready(std::uint64_t buckets);   ///< until all_ready()
  void wait_for_summed(std::uint64_t buckets);  ///< until all members have summed that many
  void wait_for_exchanged(std::uint64_t buckets);
  /// Waits for a condition that a thread of this process announces with notify().
  void wait(const std::function<bool()>& ready);
  void notify() { counts_->notify(); }

  /// Only if has_all_ranks(): an all-gather of `bytes` bytes from each member, in member order.
  void gather(int local_rank, const void* mine, std::size_t bytes, std::byte* all);

  /// Makes current and later waits of the local ranks throw.
  void abort(const std::string& why) noexcept;
  void throw_if_aborted();

 private:
  struct RankCounters {
    SharedCounter ready, summed;
  };
  struct SharedHeader {
    SharedEventCounts::State place;
    SharedCounter exchanged;
  };  // followed by RankCounters per member, then the memory of a SharedGather

  bool all_reached(SharedCounter RankCounters::*counter, std::uint64_t target) const;
  void find_group(const RankLayout& rank_layout);
  void make_shared_memory();
  void open_peer_arenas();

  Processes& processes_;
  RankLayout groups_;
  int first_process_ = 0, end_process_ = 0;  ///< process range of the group
  int members_ = 0, own_first_ = 0, local_ranks_ = 0;
  bool is_leader_ = true;

  std::shared_ptr<SharedMemory> shared_memory_;
  std::optional<SharedEventCounts> counts_;
  SharedCounter* exchanged_ = nullptr;
  RankCounters* rank_counters_ = nullptr;  ///< one per member
  std::vector<SharedGather> gathers_;      ///< one per local rank

  std::mutex attaching_;  // guards the members below
  int attached_ = 0;
  std::vector<std::shared_ptr<SharedMemory>> own_memory_,
      peer_memory_;  ///< per local rank; one per member in another process
  std::vector<float*> arenas_;

  std::atomic<bool> aborted_ = false;
  std::mutex why_mutex_;
  std::string why_;
};

}  // namespace dptrain::distributed
