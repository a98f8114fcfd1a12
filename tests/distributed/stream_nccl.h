#pragma once

// NCCL for tests on emulated GPUs: collectives are kernels on their streams, which wait for those of the other ranks
// and can be recorded. Violations of NCCL's rules by the caller are counted. Faults are set before use, or while
// nothing runs.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "backend/emu/emu_runtime.h"
#include "distributed/nccl_api.h"
#include "distributed/nccl_sums.h"

namespace dptrain::test {

class StreamNccl {
 public:
  using Result = distributed::nccl::Result;
  static constexpr Result kRefused = 5;

  /// A rank whose second call in a recording fails, after those of the others.
  std::optional<int> refuses_recording{};
  /// A rank whose collectives in replays do not join those of the others from its `arrival`-th on, counted from 0.
  struct Loss {
    int rank = 0;
    std::int64_t arrival = 0;
  };
  std::optional<Loss> loss{};
  std::atomic<int> broken = -1;  ///< rank whose communicators report an error when polled

  // Recorded calls.
  std::atomic<int> eager = 0, recorded = 0, replayed = 0;  ///< calls, and collectives of ranks that ran in replays
  std::atomic<int> finalized = 0, destroyed = 0, aborted = 0;
  // Violations of NCCL's rules; all must be 0.
  std::atomic<int> used_after_end = 0;
  std::atomic<int> recorded_during_collective = 0;  ///< while a collective waited on a device
  std::atomic<int> replayed_early = 0;              ///< before all ranks had recorded it
  std::atomic<int> ended_beside_recordings = 0;

  distributed::nccl::Api api() {
    using namespace distributed::nccl;  // NOLINT(google-build-using-namespace)
    return {
        .get_version = [](int* version) { return *version = 22809, kSuccess; },
        .get_unique_id =
            [this](UniqueId* id) {
              return std::memset(id, 42, sizeof *id), id->internal[0] = static_cast<char>(++ids_), kSuccess;
            },
        .init_rank = [this](Handle* h, int ranks, UniqueId id, int rank, Config*) { return init(h, ranks, id, rank); },
        .finalize = [this](Handle h) { return finalize(*static_cast<Rank*>(h)); },
        .destroy = [this](Handle h) { return destroy(*static_cast<Rank*>(h)); },
        .abort = [this](Handle h) { return abort(*static_cast<Rank*>(h)); },
        .get_async_error = [this](Handle h, Result* state) { return poll(*static_cast<Rank*>(h), state); },
        .error_string = [](Result r) { return r == kRefused ? "invalid usage" : "remote process exited"; },
        .last_error = [](Handle) { return "fake words"; },
        .all_reduce =
            [this](const void* in, void* out, std::size_t n, int type, int, Handle h, void* stream) {
              return call(h, {in, out, n, type}, true, stream);
            },
        .all_gather =
            [this](const void* in, void* out, std::size_t n, int type, Handle h, void* stream) {
              return call(h, {in, out, n, type}, false, stream);
            }};
  }

 private:
  struct Communicator;
  struct Rank {
    Communicator* communicator = nullptr;
    int rank = 0;
    std::int64_t eager = 0, recorded = 0;    ///< calls
    std::atomic<std::int64_t> arrivals = 0;  ///< in replays
    bool open = false, finalizing = false;
    std::atomic<bool> stopped = false;
    /// Recordings share ownership.
    std::shared_ptr<int> held = std::make_shared<int>();
    bool in_recordings() const { return held.use_count() > 1; }
  };
  struct Part {
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t n = 0;
    int type = 0;
  };
  /// One call of every rank; a recorded one runs several times.
  struct Collective {
    explicit Collective(std::size_t ranks) : in(ranks), out(ranks), arrived(ranks), lost(ranks) {}
    std::mutex mutex;
    std::vector<const void*> in;
    std::vector<void*> out;
    std::vector<std::int64_t> arrived;  ///< rounds per rank
    std::vector<bool> lost;             ///< per rank: it waits without having joined
    std::int64_t done = 0;
    std::size_t registered = 0;
  };
  struct Communicator {
    std::deque<Rank> ranks;
    std::map<std::int64_t, std::shared_ptr<Collective>> eager, recorded;
    int joined = 0;
  };

  Result init(distributed::nccl::Handle* handle, int ranks, const distributed::nccl::UniqueId& id, int rank) {
    const std::lock_guard lock(mutex_);
    Communicator& all = communicators_[id.internal[0]];
    while (static_cast<int>(all.ranks.size()) < ranks) all.ranks.emplace_back();
    Rank& mine = all.ranks[static_cast<std::size_t>(rank)];
    mine.communicator = &all, mine.rank = rank, mine.open = true;
    ++all.joined;
    *handle = &mine;
    return distributed::nccl::kInProgress;
  }

  Result call(distributed::nccl::Handle handle, const Part& part, bool sums, void* stream) {
    Rank& rank = *static_cast<Rank*>(handle);
    const bool recorded_call = backend::emu::is_recorded(stream);
    std::shared_ptr<Collective> all;
    if (recorded_call && refuses_recording == rank.rank) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    {
      const std::lock_guard lock(mutex_);
      if (!rank.open) return ++used_after_end, 3;
      Communicator& communicator = *rank.communicator;
      if (recorded_call && refuses_recording == rank.rank && rank.recorded > 0) return kRefused;
      if (recorded_call && waiting_ > 0) ++recorded_during_collective;
      auto& calls = recorded_call ? communicator.recorded : communicator.eager;
      std::shared_ptr<Collective>& found = calls[recorded_call ? rank.recorded++ : rank.eager++];
      if (!found) found = std::make_shared<Collective>(communicator.ranks.size());
      all = found;
    }
    ++(recorded_call ? recorded : eager);
    const auto me = static_cast<std::size_t>(rank.rank);
    {
      const std::lock_guard lock(all->mutex);
      all->in[me] = part.in, all->out[me] = part.out;
      ++all->registered;
    }
    const auto held = recorded_call ? rank.held : nullptr;
    backend::emu::push_and_wait(
        stream, sums ? "all-reduce" : "all-gather",
        [this, all, me, part, sums, &rank, held] { arrive(*all, me, part, sums, rank, held != nullptr); },
        [all, me, &rank, held] {
          const std::lock_guard lock(all->mutex);
          return rank.stopped.load() || (!all->lost[me] && all->done >= all->arrived[me]);
        });
    return distributed::nccl::kInProgress;
  }

  /// Runs on the device.
  void arrive(Collective& all, std::size_t me, const Part& part, bool sums, Rank& rank, bool in_replay) {
    const std::int64_t arrival = in_replay ? rank.arrivals++ : -1;
    if (in_replay) ++replayed;
    const std::lock_guard lock(all.mutex);
    if (loss && loss->rank == rank.rank && arrival >= loss->arrival) {
      all.lost[me] = true;
      return;
    }
    // No rank waits for an aborted one, which uses its own memory again.
    for (const Rank& each : rank.communicator->ranks)
      if (each.stopped) return;
    if (in_replay && all.registered < all.in.size()) ++replayed_early;
    const std::int64_t round = all.done + 1;
    bool first = true, complete = true;
    all.arrived[me] = round;
    for (std::size_t r = 0; r < all.in.size(); ++r) {
      first = first && (r == me || all.arrived[r] < round);
      complete = complete && all.arrived[r] == round;
    }
    if (first) ++waiting_;
    if (!complete) return;
    sums ? all_reduce_of(all.in, all.out, part.n, part.type) : all_gather_of(all.in, all.out, part.n);
    all.done = round;
    --waiting_;
  }

  Result poll(Rank& rank, Result* state) {
    const std::lock_guard lock(mutex_);
    if (!rank.open) return ++used_after_end, 3;
    const Communicator& all = *rank.communicator;
    const bool busy =
        all.joined < static_cast<int>(all.ranks.size()) || (rank.finalizing && rank.in_recordings()) || ++polls_ % 2;
    *state = broken == rank.rank ? distributed::nccl::kRemoteError
             : busy              ? distributed::nccl::kInProgress
                                 : distributed::nccl::kSuccess;
    return distributed::nccl::kSuccess;
  }

  Result finalize(Rank& rank) {
    const std::lock_guard lock(mutex_);
    if (!rank.open) return ++used_after_end, 3;
    ++finalized;
    rank.finalizing = true;
    if (rank.in_recordings()) ++ended_beside_recordings;
    return distributed::nccl::kInProgress;
  }
  Result destroy(Rank& rank) {
    const std::lock_guard lock(mutex_);
    if (!rank.open) return ++used_after_end, 3;
    rank.open = false;
    ++destroyed;
    return distributed::nccl::kSuccess;
  }
  /// Ends waiting collectives at once. Returns when the recordings are gone, as NCCL does.
  Result abort(Rank& rank) {
    {
      const std::lock_guard lock(mutex_);
      if (!rank.open) return ++used_after_end, 3;
      rank.open = false;
    }
    rank.stopped = true;
    while (rank.in_recordings()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++aborted;
    return distributed::nccl::kSuccess;
  }

  std::mutex mutex_;
  std::map<char, Communicator> communicators_;  ///< by id
  std::atomic<int> waiting_ = 0;                ///< collectives at which some but not all ranks have arrived
  int ids_ = 0, polls_ = 0;
};

}  // namespace dptrain::test
