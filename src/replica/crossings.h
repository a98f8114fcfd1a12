#pragma once

// Crossings: what the slots of one replica tell one another while they run a pass side by side, each on its own thread
// and stream. Who has written a tensor that another slot fetches posts it; who fetches it awaits that: on the host
// until the writer has queued his work, then on the stream until it is done. Events carry the second half; on CPUs,
// where calls run at once, there is only the first.
//
// One object per replica of several slots. attach() and publish() come before the first pass, each slot's on its own
// thread; what follows is called by the slots' threads, abort() by any.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/device.h"
#include "core/index.h"
#include "plan/plan.h"

namespace dptrain::replica {

class Crossings {
 public:
  explicit Crossings(const plan::Plan& plan);

  /// Makes what the slot's device has to mark.
  void attach(int slot, backend::Device& device);
  /// Where a tensor of the slot lies that others fetch, in training and else.
  void publish(int tensor, bool training, const void* address);
  const void* address(int tensor, bool training) const { return tensors_[at(tensor)].address[training ? 1 : 0]; }
  /// The slot's sums, for the slots that losses run on.
  void publish_sums(int slot, const double* sums) { slots_[at(slot)].sums = sums; }
  const double* sums(int slot) const { return slots_[at(slot)].sums; }

  /// Some step or item in another slot fetches the tensor.
  bool leaves(int tensor) const { return tensors_[at(tensor)].leaves; }

  /// No slot is at work: whatever was aborted is forgotten.
  void reset();
  /// All slots together, at the beginning and at the end of every pass: what any has queued before comes before what
  /// any queues afterwards. Throws where another one has failed, as all that wait here do.
  void meet(int slot, backend::Stream& stream);
  /// The tensor has been written in this pass.
  void post(int tensor, backend::Stream& stream);
  void await(int tensor, int slot, backend::Stream& stream);
  /// The same for the sums of a slot's losses.
  void post_sums(int slot, backend::Stream& stream);
  void await_sums(int of, int slot, backend::Stream& stream);
  /// Wakes everybody.
  void abort() noexcept;

 private:
  /// Something that is said once in a pass.
  struct Word {
    std::unique_ptr<backend::Event> event;
    std::atomic<std::uint64_t> meeting = 0;  ///< behind which it was said last
  };
  struct Traveller {
    bool leaves = false;
    int slot = 0;
    const void* address[2] = {nullptr, nullptr};
    Word written;
  };
  struct Slot {
    std::unique_ptr<backend::Event> came[2];  ///< of this meeting and of the one before: who is slow still looks at it
    std::uint64_t meetings = 0;               ///< the slot's own
    const double* sums = nullptr;
    Word summed;
  };

  void say(Word& word, int slot, backend::Stream& stream);
  void hear(Word& word, int slot, backend::Stream& stream);
  template <class Reached>
  void wait(const Reached& reached);

  std::vector<Traveller> tensors_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> met_ = 0;  ///< meetings that all have come to
  std::size_t present_ = 0;             ///< in the next one; guarded by the mutex
  std::atomic<bool> failed_ = false;
};

}  // namespace dptrain::replica
