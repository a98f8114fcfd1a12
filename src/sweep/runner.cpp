#include "sweep/runner.h"

#include <algorithm>

#include "core/index.h"
#include "sweep/schedule.h"

namespace dptrain::sweep {
namespace {

class Loop {
 public:
  Loop(Sweep& sweep, Runner& runner, Watcher& watcher)
      : sweep_(sweep), runner_(runner), watcher_(watcher), schedule_(sweep), busy_(at(runner.slots())) {}

  void run() {
    watcher_.keep(sweep_);
    for (;;) {
      if (!stopping_ && watcher_.wants_stop()) {
        stopping_ = true;
        runner_.stop();
      }
      if (!stopping_) fill();
      if (std::ranges::none_of(busy_, [](const auto& trial) { return trial.has_value(); })) return;
      for (const Ended& ended : runner_.poll()) take(ended);
      watcher_.tick(sweep_);
    }
  }

 private:
  void fill() {
    for (std::size_t slot = 0; slot < busy_.size(); ++slot) {
      if (busy_[slot]) continue;
      busy_[slot] = schedule_.next();
      if (!busy_[slot]) return;
      const Trial& trial = sweep_.trials[*busy_[slot]];
      watcher_.keep(sweep_);
      runner_.start(static_cast<int>(slot), trial, schedule_.epochs_of(trial));
    }
  }

  void take(const Ended& ended) {
    const std::size_t trial = *busy_[at(ended.slot)];
    busy_[at(ended.slot)].reset();
    if (ended.how == Ended::How::kDone)
      schedule_.done(trial, ended.outcome);
    else if (ended.how == Ended::How::kFailed)
      schedule_.failed(trial, ended.outcome);
    else
      schedule_.stopped(trial);
    watcher_.keep(sweep_);
    if (ended.how != Ended::How::kStopped) watcher_.ended(sweep_, sweep_.trials[trial]);
  }

  Sweep& sweep_;
  Runner& runner_;
  Watcher& watcher_;
  Schedule schedule_;
  std::vector<std::optional<std::size_t>> busy_;  ///< by slot
  bool stopping_ = false;
};

}  // namespace

void run(Sweep& sweep, Runner& runner, Watcher& watcher) { Loop(sweep, runner, watcher).run(); }

}  // namespace dptrain::sweep
