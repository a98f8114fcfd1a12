#include "runtime/secondary_slots.h"

#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/trace.h"

namespace dptrain::runtime {

SecondarySlots::SecondarySlots(const plan::Plan& plan, const std::vector<backend::Device*>& devices,
                               const ParameterArenas& primary, SlotSync& sync, const ReplicaOptions& options)
    : plan_(plan),
      sync_(sync),
      slots_(devices.size()),
      workers_(static_cast<int>(devices.size()), WorkerGroup::First::kOwnThread,
               [this](int worker, const std::exception_ptr& failure) {
                 const std::string slot = fmt::format("slot {} ({})", plan_.slots[at(worker + 1)].front(),
                                                      slots_[at(worker)].device->name());
                 fail(std::make_exception_ptr(as_error(failure).within(slot)));
               }) {
  if (at(plan.slot_count()) != devices.size() + 1)
    throw Error(ErrorKind::kInternal,
                fmt::format("{} devices for a plan of {} slots", devices.size() + 1, plan.slot_count()));
  for (std::size_t i = 0; i < devices.size(); ++i) slots_[i].device = devices[i];
  try {
    workers_.run([&](int worker) {
      Slot& slot = slots_[at(worker)];
      slot.device->enter();
      trace::name_thread(fmt::format("replica {}, slot {} ({})", options.rank, plan.slots[at(worker + 1)].front(),
                                     slot.device->name()));
      slot.stream = slot.device->make_stream();
      slot.runner = std::make_unique<StepRunner>(plan, *slot.device, *slot.stream, nullptr, primary, options,
                                                 SlotContext{.slot = worker + 1, .sync = &sync});
    });
  } catch (...) {
    const std::exception_ptr why = std::exchange(failure_, nullptr);
    drain();
    workers_.run([this](int worker) { slots_[at(worker)].runner.reset(), slots_[at(worker)].stream.reset(); });
    std::rethrow_exception(why);
  }
}

SecondarySlots::~SecondarySlots() {
  drain();
  workers_.run([this](int worker) { slots_[at(worker)].runner.reset(), slots_[at(worker)].stream.reset(); });
}

std::size_t SecondarySlots::bytes() const {
  std::size_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.runner->bytes();
  return sum;
}

void SecondarySlots::fail(const std::exception_ptr& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = why;
  }
  sync_.abort();
}

void SecondarySlots::run(const Work& on_secondary, const std::function<void()>& on_primary) {
  sync_.reset();
  const WorkerGroup::Command command = [&](int worker) { on_secondary(*slots_[at(worker)].runner); };
  workers_.begin(command);
  try {
    on_primary();
  } catch (...) {
    fail(std::current_exception());
  }
  try {
    workers_.end();
  } catch (...) {  // stored by fail()
  }
  if (const std::exception_ptr why = std::exchange(failure_, nullptr)) std::rethrow_exception(why);
}

void SecondarySlots::drain() noexcept {
  try {
    workers_.run([this](int worker) {
      if (slots_[at(worker)].stream) slots_[at(worker)].stream->synchronize();
    });
  } catch (...) {  // the failure has already been thrown
  }
  failure_ = nullptr;
}

}  // namespace dptrain::runtime
