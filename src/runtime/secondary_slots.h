#pragma once

// SecondarySlots: the slots of a replica after the primary one. Each has its own long-lived thread, device, stream and
// StepRunner. Made and used on the replica's thread, which is the thread of the primary slot.

#include <functional>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "runtime/arenas.h"
#include "runtime/slot_sync.h"
#include "runtime/step_runner.h"
#include "runtime/worker_group.h"

namespace dptrain::runtime {

class SecondarySlots {
 public:
  /// `devices`: those of slots 1, 2, ... Enables peer access between all devices of the replica.
  SecondarySlots(const plan::Plan& plan, backend::Device& primary_device, const std::vector<backend::Device*>& devices,
                 const ParameterArenas& primary, SlotSync& sync, const ReplicaOptions& options);
  ~SecondarySlots();

  /// Runs `on_secondary` on the thread of each secondary slot and `on_primary` on the calling thread; returns when all
  /// are done. The first failure aborts waits in all slots and is rethrown, with the name of a secondary slot first
  /// ("slot b").
  using Work = std::function<void(StepRunner& runner)>;
  void run(const Work& on_secondary, const std::function<void()>& on_primary);
  void drain() noexcept;

  int size() const { return workers_.size(); }
  std::size_t bytes() const;  ///< all arenas
  /// Only while nothing runs.
  const StepRunner& runner(int index) const { return *slots_[at(index)].runner; }

 private:
  struct Slot {
    backend::Device* device = nullptr;
    std::unique_ptr<backend::Stream> stream;
    std::unique_ptr<StepRunner> runner;
  };

  void fail(const std::exception_ptr& why);

  const plan::Plan& plan_;
  SlotSync& sync_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::exception_ptr failure_;  ///< the first; guarded by the mutex
  WorkerGroup workers_;         ///< last: its threads use everything above
};

}  // namespace dptrain::runtime
