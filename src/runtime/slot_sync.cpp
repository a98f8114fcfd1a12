#include "runtime/slot_sync.h"

#include <algorithm>
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
template <class Reached>
void SlotSync::wait(const Reached& reached) {
  constexpr int kSpins = 64;
  for (int look = 0; look < kSpins && !reached() && !failed_; ++look) std::this_thread::yield();
  if (!reached() && !failed_) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached() || failed_; });
  }
  if (failed_) throw Error(ErrorKind::kInternal, "another slot of the replica has failed");
}

void SlotSync::barrier(int slot, backend::Stream& stream) {
  Slot& mine = slots_[at(slot)];
  const std::uint64_t barrier = ++mine.barriers;
  mine.arrived[barrier % 2]->record(stream);
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = ++arrived_ == slots_.size();
    if (last) {
      arrived_ = 0;
      passed_ = barrier;
    }
  }
  if (last) changed_.notify_all();
  wait([&] { return passed_ >= barrier; });
  for (std::size_t other = 0; other < slots_.size(); ++other)
    if (other != at(slot)) slots_[other].arrived[barrier % 2]->hold(stream);
}

void SlotSync::send(Signal& signal, int slot, backend::Stream& stream) {
  signal.event->record(stream);
  {
    const std::lock_guard lock(mutex_);
    signal.barrier = slots_[at(slot)].barriers;
  }
  changed_.notify_all();
}

void SlotSync::receive(Signal& signal, int slot, backend::Stream& stream) {
  const std::uint64_t now = slots_[at(slot)].barriers;
  wait([&] { return signal.barrier >= now; });
  signal.event->hold(stream);
}

void SlotSync::signal(int tensor, backend::Stream& stream) {
  send(tensors_[at(tensor)].written, tensors_[at(tensor)].slot, stream);
}

void SlotSync::wait(int tensor, int slot, backend::Stream& stream) {
  receive(tensors_[at(tensor)].written, slot, stream);
}

void SlotSync::signal_sums(int slot, backend::Stream& stream) { send(slots_[at(slot)].summed, slot, stream); }

void SlotSync::wait_for_sums(int of, int slot, backend::Stream& stream) {
  receive(slots_[at(of)].summed, slot, stream);
}

void SlotSync::abort() noexcept {
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
  }
  changed_.notify_all();
}

}  // namespace dptrain::runtime
