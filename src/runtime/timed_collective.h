#pragma once

// TimedCollective: a replica's Collective that adds up the time of its gathers on the calling thread. Used on the
// replica's thread.

#include "backend/stream.h"
#include "core/clock.h"

namespace dptrain::runtime {

class TimedCollective final : public backend::Collective {
 public:
  /// Adds the time of every gather to `seconds`. Both outlive this object.
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
