#pragma once

// LayerProfiler: times the passes of a slot's steps for `bench --layers`, while it is on. Each timed pass waits for the
// device. Owned by a StepRunner, used on its thread.

#include <memory>
#include <vector>

#include "backend/device.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "plan/traffic.h"
#include "runtime/replica.h"

namespace dptrain::runtime {

class LayerProfiler {
 public:
  /// `ops` and `needs`: per step of the plan; they may be filled later. `rows`: largest number of rows of a slice.
  LayerProfiler(const plan::Plan& plan, backend::Device& device, backend::Stream& stream,
                const std::vector<std::unique_ptr<backend::Op>>& ops, const std::vector<plan::Need>& needs,
                std::int64_t rows);

  bool is_on() const { return on_; }
  /// Turning it on clears the profile.
  void set_on(bool on);
  const Replica::Profile& profile() const { return profile_; }
  /// For one sample in training, in this slot.
  double operations_per_sample() const;

  /// The functions below run `call`, and add its time to the profile if the profiler is on.
  template <class Call>
  void time_step(std::size_t step, std::int64_t rows, bool backward, const Call& call) {
    time(call, [&](double seconds) { add_step(step, rows, backward, seconds); });
  }
  template <class Call>
  void time_packing(std::size_t step, const Call& call) {
    time(call, [&](double seconds) { profile_.steps[step].forward.seconds += seconds; });
  }
  template <class Call>
  void time_loss(const plan::LossStep& loss, std::int64_t rows, const Call& call) {
    time(call, [&](double seconds) { add(profile_.losses, plan::loss_traffic(plan_, loss, rows), seconds); });
  }
  /// A sum of two gradients of n elements.
  template <class Call>
  void time_sum(std::int64_t n, std::size_t element_bytes, const Call& call) {
    time(call, [&](double seconds) { add(profile_.sums, plan::sum_traffic(n, element_bytes), seconds); });
  }

 private:
  template <class Call, class Add>
  void time(const Call& call, const Add& add) {
    if (!on_) return call();
    const Stopwatch watch;
    call();
    stream_.synchronize();
    add(watch.seconds());
  }
  void add_step(std::size_t step, std::int64_t rows, bool backward, double seconds);
  static void add(Replica::PassProfile& profile, const plan::Traffic& traffic, double seconds) {
    profile.add({.seconds = seconds, .bytes = traffic.bytes, .set = traffic.set});
  }

  const plan::Plan& plan_;
  backend::Device& device_;
  backend::Stream& stream_;
  const std::vector<std::unique_ptr<backend::Op>>& ops_;
  const std::vector<plan::Need>& needs_;
  const std::int64_t rows_;
  bool on_ = false;
  Replica::Profile profile_;
};

}  // namespace dptrain::runtime
