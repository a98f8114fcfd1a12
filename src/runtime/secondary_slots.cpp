#include "runtime/secondary_slots.h"

#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "core/trace.h"

namespace dptrain::runtime {
namespace {

/// For each pair of GPUs of a replica. Others get none, because freeing memory then waits for the peers.
void enable_peer_access(backend::Device& primary, const std::vector<backend::Device*>& secondary, int rank) {
  if (primary.reads_host_memory()) return;
  std::vector<backend::Device*> all{&primary};
  all.insert(all.end(), secondary.begin(), secondary.end());
  std::vector<std::string> direct, through_host;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (all[i]->name() == all[j]->name()) continue;
      const bool there = all[i]->enable_peer_access(*all[j]), back = all[j]->enable_peer_access(*all[i]);
      (there && back ? direct : through_host).push_back(fmt::format("{} and {}", all[i]->name(), all[j]->name()));
    }
  if (!direct.empty()) log::debug(fmt::format("replica {}: peer access between {}", rank, join(direct, "; ")));
  if (!through_host.empty())
    log::info(fmt::format("replica {}: no peer access between {}; their copies pass through host memory", rank,
                          join(through_host, "; ")));
}

}  // namespace

SecondarySlots::SecondarySlots(const plan::Plan& plan, backend::Device& primary_device,
                               const std::vector<backend::Device*>& devices, const ParameterArenas& primary,
                               SlotSync& sync, const ReplicaOptions& options)
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
  enable_peer_access(primary_device, devices, options.rank);
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
