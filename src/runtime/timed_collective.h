#pragma once

// TimedCollective: a replica's Collective, with the account of what its gathers take of the calling thread. Replica's
// thread.

#include "backend/stream.h"
#include "core/clock.h"

namespace dptrain::runtime {

class TimedCollective final : public backend::Collective {
 public:
  /// `seconds` grows with every gather; both outlive this.
  TimedCollective(backend::Collective& inner, double& seconds) : inner_(inner), seconds_(seconds) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void all_gather(const void* mine, std::int64_t bytes, void* all, backend::Stream& stream) override {
    const Stopwatch watch;
    inner_.all_gather(mine, bytes, all, stream);
    seconds_ += watch.seconds();
  }

 private:
  backend::Collective& inner_;
  double& seconds_;
};

}  // namespace dptrain::runtime
