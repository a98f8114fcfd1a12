#include "runtime/slot_sync.h"

#include <thread>

#include "core/error.h"

namespace dptrain::runtime {

SlotSync::SlotSync(const plan::Plan& plan) : tensors_(plan.tensors.size()), slots_(at(plan.slot_count())) {
  const auto share = [&](int tensor) {
    tensors_[at(tensor)].is_shared = true;
    tensors_[at(tensor)].slot = plan.tensors[at(tensor)].slot;
  };
  for (const plan::Step& step : plan.steps)
    if (step.copies) share(step.inputs.front());
  using Kind = plan::BackwardItem::Kind;
  for (const plan::BackwardItem& item : plan.backward)
    if (item.kind == Kind::kFetchTensor || item.kind == Kind::kFetchParameter) share(item.source);
}

void SlotSync::attach(int slot, backend::Device& device) {
  for (auto& event : slots_[at(slot)].arrived) event = device.make_event();
  slots_[at(slot)].summed.event = device.make_event();
  for (SharedTensor& tensor : tensors_)
    if (tensor.is_shared && tensor.slot == slot) tensor.written.event = device.make_event();
}

void SlotSync::publish(int tensor, bool training, const void* address) {
  tensors_[at(tensor)].address[training ? 1 : 0] = address;
}

void SlotSync::reset() {
  const std::lock_guard lock(mutex_);
  failed_ = false;
  arrived_ = 0;
  for (Slot& slot : slots_) slot.barriers = passed_;
}

/// Polls for a moment before it sleeps, because slots usually wait only briefly.
template <class Condition>
void SlotSync::wait_until(const Condition& condition) {
  constexpr int kSpins = 64;
  for (int spin = 0; spin < kSpins && !condition() && !failed_; ++spin) std::this_thread::yield();
  if (!condition() && !failed_) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return condition() || failed_; });
  }
  if (failed_) throw Error(ErrorKind::kInternal, "another slot of the replica has failed");
}

void SlotSync::barrier(int slot, backend::Stream& stream) {
  Slot& mine = slots_[at(slot)];
  const std::uint64_t number = ++mine.barriers;
  mine.arrived[number % 2]->record(stream);
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = ++arrived_ == slots_.size();
    if (last) {
      arrived_ = 0;
      passed_ = number;
    }
  }
  if (last) changed_.notify_all();
  wait_until([&] { return passed_ >= number; });
  for (std::size_t other = 0; other < slots_.size(); ++other)
    if (other != at(slot)) slots_[other].arrived[number % 2]->hold(stream);
}

void SlotSync::set_signal(Signal& s, int slot, backend::Stream& stream) {
  s.event->record(stream);
  {
    const std::lock_guard lock(mutex_);
    s.barrier = slots_[at(slot)].barriers;
  }
  changed_.notify_all();
}

void SlotSync::wait_for_signal(Signal& s, int slot, backend::Stream& stream) {
  const std::uint64_t now = slots_[at(slot)].barriers;
  wait_until([&] { return s.barrier >= now; });
  s.event->hold(stream);
}

void SlotSync::signal(int tensor, backend::Stream& stream) {
  set_signal(tensors_[at(tensor)].written, tensors_[at(tensor)].slot, stream);
}

void SlotSync::wait(int tensor, int slot, backend::Stream& stream) {
  wait_for_signal(tensors_[at(tensor)].written, slot, stream);
}

void SlotSync::signal_sums(int slot, backend::Stream& stream) { set_signal(slots_[at(slot)].summed, slot, stream); }

void SlotSync::wait_for_sums(int owner, int slot, backend::Stream& stream) {
  wait_for_signal(slots_[at(owner)].summed, slot, stream);
}

void SlotSync::abort() noexcept {
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
  }
  changed_.notify_all();
}

}  // namespace dptrain::runtime
