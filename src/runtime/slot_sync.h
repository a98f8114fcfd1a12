#pragma once

// SlotSync: synchronization between the slots of one replica, which run a pass concurrently, each on its own thread
// and stream. A slot that has written a tensor which another slot fetches calls signal(). The other slot calls wait():
// its thread waits until the writer has queued its work, and its stream waits until the work is done. The second part
// uses events; CPUs run calls at once and need only the first.
//
// One object per replica of several slots. Before the first pass, each slot calls attach() and publish() on its own
// thread. The slots' threads call the functions after those; any thread may call abort().

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/device.h"
#include "core/index.h"
#include "plan/plan.h"

namespace dptrain::runtime {

class SlotSync {
 public:
  explicit SlotSync(const plan::Plan& plan);

  /// Makes the events of the slot's device.
  void attach(int slot, backend::Device& device);
  /// Stores the address of a tensor of the slot that others fetch, for training or inference.
  void publish(int tensor, bool training, const void* address);
  const void* address(int tensor, bool training) const { return tensors_[at(tensor)].address[training ? 1 : 0]; }
  /// The loss sums of the slot, for slots that run losses.
  void publish_sums(int slot, const double* sums) { slots_[at(slot)].sums = sums; }
  const double* sums(int slot) const { return slots_[at(slot)].sums; }

  /// Whether a step or backward item of another slot fetches the tensor.
  bool is_shared(int tensor) const { return tensors_[at(tensor)].is_shared; }

  /// Clears an abort. Called while no slot is running.
  void reset();
  /// A barrier of all slots at the beginning and end of every pass, also between their streams: work queued before it
  /// precedes work queued after it. Like all waits of this class it throws if another slot has failed.
  void barrier(int slot, backend::Stream& stream);
  /// Signals that the tensor has been written in this pass; wait() returns after that.
  void signal(int tensor, backend::Stream& stream);
  void wait(int tensor, int slot, backend::Stream& stream);
  /// As signal() and wait(), for the sums of a slot's losses.
  void signal_sums(int slot, backend::Stream& stream);
  void wait_for_sums(int owner, int slot, backend::Stream& stream);
  /// Makes all waits throw.
  void abort() noexcept;

 private:
  /// A signal that is given once in a pass.
  struct Signal {
    std::unique_ptr<backend::Event> event;
    std::atomic<std::uint64_t> barrier = 0;  ///< number of the barrier before the last signal
  };
  struct SharedTensor {
    bool is_shared = false;
    int slot = 0;
    const void* address[2] = {nullptr, nullptr};
    Signal written;
  };
  struct Slot {
    std::unique_ptr<backend::Event> arrived[2];  ///< a slow slot may still use the one of the previous barrier
    std::uint64_t barriers = 0;                  ///< barriers that the slot has reached
    const double* sums = nullptr;
    Signal summed;
  };

  void set_signal(Signal& s, int slot, backend::Stream& stream);
  void wait_for_signal(Signal& s, int slot, backend::Stream& stream);
  template <class Condition>
  void wait_until(const Condition& condition);

  std::vector<SharedTensor> tensors_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> passed_ = 0;  ///< barriers that all slots have reached
  std::size_t arrived_ = 0;                ///< slots that have reached the next barrier; guarded by `mutex_`
  std::atomic<bool> failed_ = false;
};

}  // namespace dptrain::runtime
