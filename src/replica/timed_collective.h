#pragma once

// TimedCollective: a replica's Collective, with the account of what its gathers take of the calling thread. Replica's
// thread.

#include "core/clock.h"
#include "device/collective.h"

namespace dptrain::replica {

class TimedCollective final : public device::Collective {
 public:
  /// `seconds` grows with every gather; both outlive this.
  TimedCollective(device::Collective& inner, double& seconds) : inner_(inner), seconds_(seconds) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void all_gather(const void* mine, std::int64_t bytes, void* all, device::Stream& stream) override {
    const Stopwatch watch;
    inner_.all_gather(mine, bytes, all, stream);
    seconds_ += watch.seconds();
  }

 private:
  device::Collective& inner_;
  double& seconds_;
};

}  // namespace dptrain::replica
