#include "session/pass_times.h"

#include <numeric>

#include "core/index.h"
#include "plan/traffic.h"

namespace dptrain::session {
namespace {

int threads_of_slot(const DeviceRequest& devices, int slot) {
  return devices.slot_threads.empty() ? devices.threads : devices.slot_threads[at(slot)];
}

}  // namespace

int threads_in_use(const DeviceRequest& devices) {
  const int of_replica = devices.slot_threads.empty()
                             ? devices.threads
                             : std::accumulate(devices.slot_threads.begin(), devices.slot_threads.end(), 0);
  return devices.replicas * of_replica;
}

std::vector<PassTime> pass_times(const replica::Replica::Profile& profile, const StepFacts& facts,
                                 const backend::CpuLimits& limits) {
  std::vector<PassTime> all;
  const auto add = [&](std::string name, double ms, const PassWork& work, int slot) {
    if (ms <= 0 && work.operations <= 0 && work.bytes <= 0) return;
    const backend::CpuLimits share = limits.share(threads_of_slot(facts.devices, slot));
    all.push_back({.name = std::move(name), .ms = ms, .work = work, .bound = bound_of(work, share)});
  };
  const auto add_pass = [&](std::string name, const replica::Replica::PassProfile& pass, int slot) {
    add(std::move(name), pass.seconds / facts.steps * 1e3,
        {.operations = pass.operations / facts.steps, .bytes = pass.bytes / facts.steps, .set = pass.set}, slot);
  };
  const auto add_flat = [&](std::string name, double ms, const plan::Traffic& traffic) {
    add(std::move(name), ms, {.bytes = traffic.bytes, .set = traffic.set}, 0);
  };
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    const plan::Step& step = facts.plan.steps[s];
    add_pass(step.name + " forward", profile.steps[s].forward, step.slot);
    add_pass(step.name + " backward", profile.steps[s].backward, step.slot);
  }
  add_pass("losses and metrics", profile.losses, 0);
  add_pass("sums of gradients", profile.sums, 0);
  if (facts.processes == 1 && facts.devices.replicas > 1)
    add_flat("all-reduce", facts.waiting_ms, plan::all_reduce_traffic(facts.plan, facts.devices.replicas));
  add_flat("update", facts.update_ms, plan::update_traffic(facts.plan, facts.states));
  return all;
}

}  // namespace dptrain::session
