#include "reduce/process_connector.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "mpi/gather.h"
#include "reduce/meeting.h"
#include "reduce/process_sums.h"

namespace dptrain::reduce {
namespace {

/// What the lanes of this process have in common. Exchanges hold it, too: the communication thread may still be about
/// to say that one is done when who waited for that has gone on and ended.
struct Lanes {
  Lanes(const Seats& seats_, mpi::Processes& processes_)
      : seats(seats_),
        processes(processes_),
        first_rank(seats.first_ranks[at(seats.process)]),
        count(seats.first_ranks[at(seats.process + 1)] - first_rank),
        arenas(at(count)) {}

  /// On the communication thread: something is done, or will never be.
  void count_done(Meeting::Counter& counter, const Error* failed) {
    if (failed != nullptr)
      meeting.abort(failed->what());
    else
      meeting.advance(counter);
  }

  const Seats seats;
  mpi::Processes& processes;
  const int first_rank, count;
  Meeting meeting;
  std::mutex attaching;        // guards `arenas` and `sums`
  std::vector<float*> arenas;  ///< by lane
  int attached = 0;
  std::vector<std::shared_ptr<BucketSum>> sums;  ///< by bucket, when all lanes are attached
  std::vector<Meeting::Counter> arrived;         ///< per bucket: lanes that had it ready, over all steps
  Meeting::Counter summed = 0;                   ///< buckets, over all steps

  // all_gather: the lanes write what they give one behind the other; whoever comes last posts it. Two sets that take
  // turns, as in local.cpp.
  struct Round {
    std::string given;
    mpi::Gather::Result all;
  };
  Round rounds[2];
  Meeting::Counter gave = 0, gathered = 0;
};

class ProcessSink final : public replica::GradientSink {
 public:
  explicit ProcessSink(Lanes& lanes) : lanes_(lanes) {}

  void begin(std::int64_t, bool) override {
    lanes_.meeting.throw_if_aborted();
    ++steps_;
    ready_ = 0;
  }

  void bucket_ready(int bucket, device::Stream&) override {
    if (bucket != ready_ || bucket >= static_cast<int>(lanes_.sums.size()))
      throw Error(ErrorKind::kInternal,
                  fmt::format("bucket {} is ready, expected {} of {}", bucket, ready_, lanes_.sums.size()));
    ++ready_;
    lanes_.meeting.throw_if_aborted();
    Meeting::Counter& arrived = lanes_.arrived[at(bucket)];
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == steps_ * at(lanes_.count))
      lanes_.processes.post(lanes_.sums[at(bucket)]);
  }

  void finish(device::Stream&) override {
    if (ready_ != static_cast<int>(lanes_.sums.size()))
      throw Error(ErrorKind::kInternal, fmt::format("{} buckets were ready, expected {}", ready_, lanes_.sums.size()));
    const mpi::Processes::Hurry hurry(lanes_.processes);
    lanes_.meeting.wait(lanes_.summed, steps_ * lanes_.sums.size());
  }

 private:
  Lanes& lanes_;
  std::uint64_t steps_ = 0;  ///< begun
  int ready_ = 0;            ///< buckets of this step handed over
};

class ProcessCollective final : public device::Collective {
 public:
  ProcessCollective(std::shared_ptr<Lanes> lanes, int lane) : lanes_(std::move(lanes)), lane_(lane) {}

  int rank() const override { return lanes_->first_rank + lane_; }
  int size() const override { return lanes_->seats.ranks(); }

  void all_gather(const void* mine, std::int64_t bytes, void* all, device::Stream&) override {
    const auto size = static_cast<std::size_t>(bytes);
    Lanes::Round& round = lanes_->rounds[rounds_ % 2];
    ++rounds_;
    lanes_->meeting.throw_if_aborted();
    {
      const std::lock_guard lock(lanes_->attaching);
      round.given.resize(size * at(lanes_->count));
      std::memcpy(round.given.data() + size * at(lane_), mine, size);
    }
    if (lanes_->gave.fetch_add(1, std::memory_order_acq_rel) + 1 == rounds_ * at(lanes_->count)) post(round);
    const mpi::Processes::Hurry hurry(lanes_->processes);
    lanes_->meeting.wait(lanes_->gathered, rounds_);
    auto* to = static_cast<std::byte*>(all);
    for (int p = 0; p < lanes_->seats.processes(); ++p) {
      const std::size_t expected = size * at(lanes_->seats.first_ranks[at(p + 1)] - lanes_->seats.first_ranks[at(p)]);
      const std::string& from = round.all[at(p)];
      if (from.size() != expected)
        throw Error(ErrorKind::kInternal, fmt::format("{} gave {} bytes to a gather, expected {}",
                                                      lanes_->processes.name(p), from.size(), expected));
      std::memcpy(to, from.data(), from.size());
      to += from.size();
    }
  }

 private:
  void post(Lanes::Round& round) {
    lanes_->processes.post(
        std::make_shared<mpi::Gather>(std::move(round.given), mpi::kLanesHead, mpi::kLanesRest,
                                      [lanes = lanes_, &round](mpi::Gather::Result all, const Error* failed) {
                                        round.all = std::move(all);
                                        lanes->count_done(lanes->gathered, failed);
                                      }));
  }

  const std::shared_ptr<Lanes> lanes_;
  const int lane_;
  std::uint64_t rounds_ = 0;
};

class ProcessConnector final : public replica::Connector {
 public:
  ProcessConnector(const Seats& seats, mpi::Processes& processes) : lanes_(std::make_shared<Lanes>(seats, processes)) {
    for (int lane = 0; lane < lanes_->count; ++lane) {
      sinks_.emplace_back(*lanes_);
      collectives_.emplace_back(lanes_, lane);
    }
  }
  ~ProcessConnector() override { lanes_->sums.clear(); }  // they hold the lanes
  ProcessConnector(const ProcessConnector&) = delete;
  ProcessConnector& operator=(const ProcessConnector&) = delete;

  replica::GradientSink& sink(int lane) override { return sinks_[at(lane)]; }
  device::Collective* collective(int lane) override { return &collectives_[at(lane)]; }

  void attach(int lane, device::Device&, device::Stream&, float* gradients, const plan::Plan& plan) override {
    const std::lock_guard lock(lanes_->attaching);
    lanes_->arenas[at(lane)] = gradients;
    if (++lanes_->attached < lanes_->count) return;
    lanes_->arrived = std::vector<Meeting::Counter>(plan.buckets.size());
    for (std::size_t b = 0; b < plan.buckets.size(); ++b)
      lanes_->sums.push_back(std::make_shared<BucketSum>(
          lanes_->seats, plan.buckets[b], static_cast<int>(b), lanes_->arenas,
          [lanes = lanes_](const Error* failed) { lanes->count_done(lanes->summed, failed); }));
  }

  /// After a failure messages may be under way to the arenas that are about to go.
  void drain(int) noexcept override {
    if (aborted_) lanes_->processes.wait_for_quiet();
  }

  std::vector<replica::StepSums> all_sums(std::vector<replica::StepSums> of_lanes) override {
    return sums_of_all(lanes_->processes, of_lanes);
  }

  std::vector<std::uint64_t> all_numbers(std::vector<std::uint64_t> of_lanes) override {
    return numbers_of_all(lanes_->processes, of_lanes);
  }

  void abort(const Error& why) noexcept override {
    aborted_ = true;
    lanes_->meeting.abort(why.what());
    lanes_->processes.fail(why);
  }

 private:
  const std::shared_ptr<Lanes> lanes_;
  std::deque<ProcessSink> sinks_;
  std::deque<ProcessCollective> collectives_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace

std::unique_ptr<replica::Connector> make_processes(const Seats& seats, mpi::Processes& processes) {
  return std::make_unique<ProcessConnector>(seats, processes);
}

}  // namespace dptrain::reduce
