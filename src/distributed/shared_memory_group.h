#pragma once

// SharedMemoryGroup: the CPU replicas of all processes that share memory with this one (distributed/processes.h), their
// gradient arenas, and a shared board with their progress. A group may consist of this process alone. Members are the
// ranks of the group, numbered from its first one; lanes are the ranks of this process.
//
// All processes construct it on the main thread. The lanes' threads use it, and the communication thread uses the
// functions that mention it. A process that has ended blocks no other: waiting threads throw when the run has failed.

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

  /// Seats of the groups, each treated as one process.
  const RankLayout& groups() const { return groups_; }
  int members() const { return members_; }
  int member(int local_rank) const { return own_first_ + local_rank; }
  int local_ranks() const { return local_ranks_; }
  /// Whether the group contains all ranks of the run.
  bool is_all() const { return groups_.processes() == 1; }
  /// Whether this process exchanges messages for the group.
  bool is_leader() const { return is_leader_; }

  /// Memory for a lane's gradients that the other members can access.
  std::unique_ptr<backend::Buffer> memory(int local_rank, backend::Device& device, std::size_t bytes);
  /// Called once per lane on its thread. Returns true for the last lane, after which arenas() is complete.
  bool attach(int local_rank, float* gradients);
  /// Gradient arenas by member. Valid when all lanes are attached.
  const std::vector<float*>& arenas() const { return arenas_; }

  // The board. Counters accumulate over all steps.
  void signal_ready(int local_rank);            ///< one more bucket is complete in the lane's arena
  bool all_ready(std::uint64_t buckets);        ///< whether that many are complete in all members; any thread
  void signal_summed(int local_rank);           ///< the lane has summed its part of one more bucket
  void signal_exchanged();                      ///< one more bucket is summed over all groups; communication thread
  void wait_for_ready(std::uint64_t buckets);   ///< until all_ready()
  void wait_for_summed(std::uint64_t buckets);  ///< until all members have summed that many
  void wait_for_exchanged(std::uint64_t buckets);
  /// Waits for a condition that a thread of this process announces with notify().
  void wait(const std::function<bool()>& ready);
  void notify() { counts_->notify(); }

  /// Only if is_all(): an all-gather of `bytes` bytes from each member, in member order.
  void gather(int local_rank, const void* mine, std::size_t bytes, std::byte* all);

  /// Makes current and later waits of the lanes throw.
  void abort(const std::string& why) noexcept;
  void throw_if_aborted();

 private:
  struct RankCounters {
    SharedCounter ready, summed;
  };
  struct SharedHeader {
    SharedEventCounts::Place place;
    SharedCounter exchanged;
  };  // followed by a Line per member, then the memory of a SharedGather

  bool all_reached(SharedCounter RankCounters::*counter, std::uint64_t target) const;
  void find_group(const RankLayout& rank_layout);
  void make_shared_memory();
  void reach_arenas();

  Processes& processes_;
  RankLayout groups_;
  int first_process_ = 0, end_process_ = 0;  ///< process range of the group
  int members_ = 0, own_first_ = 0, local_ranks_ = 0;
  bool is_leader_ = true;

  std::shared_ptr<SharedMemory> shared_memory_;
  std::optional<SharedEventCounts> counts_;
  SharedCounter* exchanged_ = nullptr;
  RankCounters* rank_counters_ = nullptr;  ///< one per member
  std::vector<SharedGather> gathers_;      ///< one per lane

  std::mutex attaching_;  // guards the members below
  int attached_ = 0;
  std::vector<std::shared_ptr<SharedMemory>> own_, theirs_;  ///< per lane; one per member in another process
  std::vector<float*> arenas_;

  std::atomic<bool> aborted_ = false;
  std::mutex why_mutex_;
  std::string why_;
};

}  // namespace dptrain::distributed
