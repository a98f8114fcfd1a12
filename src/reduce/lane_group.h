#pragma once

// LaneGroup: the CPU replicas of all processes that share memory with this one (mpi/processes.h): their gradient
// arenas, and a board on which they say how far they are. A group may be this process alone. Members are the group's
// ranks, counted from its first one; lanes are those of this process.
//
// Made by all processes alike, on the main thread; used by the lanes' threads and, where said, by the communication
// thread. Nothing on the board needs a process that has ended: who waits throws when the run has failed.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/error.h"
#include "mpi/processes.h"
#include "reduce/bucket_sum.h"

namespace dptrain::reduce {

class LaneGroup {
 public:
  LaneGroup(const Seats& seats, mpi::Processes& processes);

  /// The groups in place of processes.
  const Seats& groups() const { return groups_; }
  int members() const { return members_; }
  int member(int lane) const { return own_first_ + lane; }
  int lanes() const { return lanes_; }
  /// All ranks of the run.
  bool is_all() const { return groups_.processes() == 1; }
  /// This process exchanges messages for the group.
  bool speaks() const { return speaks_; }

  /// Memory of a lane's gradients that the other members reach.
  std::unique_ptr<backend::Buffer> memory(int lane, backend::Device& device, std::size_t bytes);
  /// Of a lane, once, on its thread; true for the last one, which then has those of all members.
  bool attach(int lane, float* gradients);
  /// By member; when all lanes are attached.
  const std::vector<float*>& arenas() const { return arenas_; }

  // The board. Counters grow over all steps.
  void say_ready(int lane);                 ///< one more bucket is complete in the lane's arena
  bool all_ready(std::uint64_t buckets);    ///< in all members; any thread
  void say_summed(int lane);                ///< the lane has summed its part of one more bucket
  void say_spoken();                        ///< one more bucket is summed over all groups; communication thread
  void wait_ready(std::uint64_t buckets);   ///< for all_ready()
  void wait_summed(std::uint64_t buckets);  ///< in all members
  void wait_spoken(std::uint64_t buckets);
  /// Any wait for what a thread of this process says with tell().
  void wait(const std::function<bool()>& ready);
  void tell() { meeting_->tell(); }

  /// is_all() only: what each member gives, so many bytes, in their order.
  void gather(int lane, const void* mine, std::size_t bytes, std::byte* all);

  /// Lanes that wait, or come later, throw.
  void abort(const std::string& why) noexcept;
  void throw_if_aborted();

 private:
  struct Line {
    mpi::SharedCounter ready, summed;
  };
  struct Board {
    mpi::SharedMeeting::Place place;
    mpi::SharedCounter spoken;
  };  // behind it a Line for each member, then the memory of a SharedGather

  bool all_reached(mpi::SharedCounter Line::*counter, std::uint64_t target) const;
  void find_group(const Seats& seats);
  void make_board();
  void reach_arenas();

  mpi::Processes& processes_;
  Seats groups_;
  int first_process_ = 0, end_process_ = 0;  ///< of the group
  int members_ = 0, own_first_ = 0, lanes_ = 0;
  bool speaks_ = true;

  std::shared_ptr<mpi::SharedMemory> board_;
  std::optional<mpi::SharedMeeting> meeting_;
  mpi::SharedCounter* spoken_ = nullptr;
  Line* lines_ = nullptr;                   ///< by member
  std::vector<mpi::SharedGather> gathers_;  ///< by lane

  std::mutex attaching_;  // guards what follows
  int attached_ = 0;
  std::vector<std::shared_ptr<mpi::SharedMemory>> own_, theirs_;  ///< by lane; of other processes' members
  std::vector<float*> arenas_;

  std::atomic<bool> aborted_ = false;
  std::mutex why_mutex_;
  std::string why_;
};

}  // namespace dptrain::reduce
