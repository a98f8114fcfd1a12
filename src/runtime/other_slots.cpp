#include "runtime/other_slots.h"

#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/trace.h"

namespace dptrain::runtime {

OtherSlots::OtherSlots(const plan::Plan& plan, const std::vector<backend::Device*>& devices,
                       const ParameterArenas& home, SlotSync& sync, const ReplicaOptions& options)
    : plan_(plan),
      sync_(sync),
      slots_(devices.size()),
      workers_(static_cast<int>(devices.size()), WorkerGroup::First::kOwnThread,
               [this](int lane, const std::exception_ptr& failure) {
                 const std::string slot =
                     fmt::format("slot {} ({})", plan_.slots[at(lane + 1)].front(), slots_[at(lane)].device->name());
                 fail(std::make_exception_ptr(as_error(failure).within(slot)));
               }) {
  if (at(plan.slot_count()) != devices.size() + 1)
    throw Error(ErrorKind::kInternal,
                fmt::format("{} devices for a plan of {} slots", devices.size() + 1, plan.slot_count()));
  for (std::size_t i = 0; i < devices.size(); ++i) slots_[i].device = devices[i];
  try {
    workers_.run([&](int lane) {
      Slot& slot = slots_[at(lane)];
      slot.device->enter();
      trace::name_thread(
          fmt::format("replica {}, slot {} ({})", options.rank, plan.slots[at(lane + 1)].front(), slot.device->name()));
      slot.stream = slot.device->make_stream();
      slot.runner = std::make_unique<StepRunner>(plan, *slot.device, *slot.stream, nullptr, home, options,
                                                 SlotContext{.slot = lane + 1, .sync = &sync});
    });
  } catch (...) {
    const std::exception_ptr why = std::exchange(failure_, nullptr);
    drain();
    workers_.run([this](int lane) { slots_[at(lane)].runner.reset(), slots_[at(lane)].stream.reset(); });
    std::rethrow_exception(why);
  }
}

OtherSlots::~OtherSlots() {
  drain();
  workers_.run([this](int lane) { slots_[at(lane)].runner.reset(), slots_[at(lane)].stream.reset(); });
}

std::size_t OtherSlots::bytes() const {
  std::size_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.runner->bytes();
  return sum;
}

void OtherSlots::fail(const std::exception_ptr& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = why;
  }
  sync_.abort();
}

void OtherSlots::run(const Work& other, const std::function<void()>& home) {
  sync_.reset();
  const WorkerGroup::Command command = [&](int lane) { other(*slots_[at(lane)].runner); };
  workers_.begin(command);
  try {
    home();
  } catch (...) {
    fail(std::current_exception());
  }
  try {
    workers_.end();
  } catch (...) {  // stored by fail()
  }
  if (const std::exception_ptr why = std::exchange(failure_, nullptr)) std::rethrow_exception(why);
}

void OtherSlots::drain() noexcept {
  try {
    workers_.run([this](int lane) {
      if (slots_[at(lane)].stream) slots_[at(lane)].stream->synchronize();
    });
  } catch (...) {  // the failure has already been thrown
  }
  failure_ = nullptr;
}

}  // namespace dptrain::runtime
