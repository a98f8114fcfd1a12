#include "runtime/crossings.h"

#include <algorithm>
#include <thread>

#include "core/error.h"

namespace dptrain::runtime {

Crossings::Crossings(const plan::Plan& plan) : tensors_(plan.tensors.size()), slots_(at(plan.slot_count())) {
  const auto leave = [&](int tensor) {
    tensors_[at(tensor)].leaves = true;
    tensors_[at(tensor)].slot = plan.tensors[at(tensor)].slot;
  };
  for (const plan::Step& step : plan.steps)
    if (step.copies) leave(step.inputs.front());
  using Kind = plan::BackwardItem::Kind;
  for (const plan::BackwardItem& item : plan.backward)
    if (item.kind == Kind::kFetchTensor || item.kind == Kind::kFetchParameter) leave(item.source);
}

void Crossings::attach(int slot, backend::Device& device) {
  for (auto& event : slots_[at(slot)].came) event = device.make_event();
  slots_[at(slot)].summed.event = device.make_event();
  for (Traveller& tensor : tensors_)
    if (tensor.leaves && tensor.slot == slot) tensor.written.event = device.make_event();
}

void Crossings::publish(int tensor, bool training, const void* address) {
  tensors_[at(tensor)].address[training ? 1 : 0] = address;
}

void Crossings::reset() {
  const std::lock_guard lock(mutex_);
  failed_ = false;
  present_ = 0;
  for (Slot& slot : slots_) slot.meetings = met_;
}

/// Looks for a moment before it sleeps: slots that are worth having wait little.
template <class Reached>
void Crossings::wait(const Reached& reached) {
  constexpr int kLooks = 64;
  for (int look = 0; look < kLooks && !reached() && !failed_; ++look) std::this_thread::yield();
  if (!reached() && !failed_) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached() || failed_; });
  }
  if (failed_) throw Error(ErrorKind::kInternal, "another slot of the replica has failed");
}

void Crossings::meet(int slot, backend::Stream& stream) {
  Slot& mine = slots_[at(slot)];
  const std::uint64_t meeting = ++mine.meetings;
  mine.came[meeting % 2]->record(stream);
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = ++present_ == slots_.size();
    if (last) {
      present_ = 0;
      met_ = meeting;
    }
  }
  if (last) changed_.notify_all();
  wait([&] { return met_ >= meeting; });
  for (std::size_t other = 0; other < slots_.size(); ++other)
    if (other != at(slot)) slots_[other].came[meeting % 2]->hold(stream);
}

void Crossings::say(Word& word, int slot, backend::Stream& stream) {
  word.event->record(stream);
  {
    const std::lock_guard lock(mutex_);
    word.meeting = slots_[at(slot)].meetings;
  }
  changed_.notify_all();
}

void Crossings::hear(Word& word, int slot, backend::Stream& stream) {
  const std::uint64_t now = slots_[at(slot)].meetings;
  wait([&] { return word.meeting >= now; });
  word.event->hold(stream);
}

void Crossings::post(int tensor, backend::Stream& stream) {
  say(tensors_[at(tensor)].written, tensors_[at(tensor)].slot, stream);
}

void Crossings::await(int tensor, int slot, backend::Stream& stream) {
  hear(tensors_[at(tensor)].written, slot, stream);
}

void Crossings::post_sums(int slot, backend::Stream& stream) { say(slots_[at(slot)].summed, slot, stream); }

void Crossings::await_sums(int of, int slot, backend::Stream& stream) { hear(slots_[at(of)].summed, slot, stream); }

void Crossings::abort() noexcept {
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
  }
  changed_.notify_all();
}

}  // namespace dptrain::runtime
