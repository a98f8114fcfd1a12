#pragma once

// NCCL for tests: a table of functions over plain pointers. Ranks with the same id form a communicator. A call is
// accepted when all ranks have made it (and after some more polls); the last rank adds in rank order. Faults are set
// before a communicator is used.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "distributed/nccl_api.h"
#include "distributed/nccl_sums.h"

namespace dptrain::test {

class FakeNccl {
 public:
  struct Trouble {
    int rank = 0;
    std::int64_t call = 0;                 ///< index among the rank's all-reduces and gathers after attaching, from 0
    distributed::nccl::Result result = 0;  ///< returned; kInProgress: forever
    bool later = false;                    ///< the call is accepted, and polling returns `result` afterwards
  };
  struct Call {
    const void* begin;
    std::size_t count;
    int type = distributed::nccl::kFloat32;
    bool operator==(const Call&) const = default;
  };
  /// Communicator and stream of a call.
  struct Place {
    int communicator;  ///< its id, from 1 on
    void* stream;
    auto operator<=>(const Place&) const = default;
  };

  int polls = 0;  ///< number of "in progress" answers before a call is accepted
  std::optional<Trouble> trouble{};
  distributed::nccl::Result init_result = distributed::nccl::kSuccess;  ///< result for rank 1
  bool absent = false;                                                  ///< rank 1 never joins
  std::function<void(int rank)> on_call{};  ///< called for every all-reduce and gather, under a lock

  // Recorded calls; read while no communicator is in use.
  int ids = 0, used_after_end = 0, finalized = 0, destroyed = 0, aborted = 0, wrong_configs = 0;
  std::map<int, std::vector<Call>> sums;               ///< per rank, in order, without those of attaching
  std::map<int, std::set<Place>> sums_at, gathers_at;  ///< per rank, likewise
  int max_blocks = 0;                                  ///< largest limit of a gather's communicator; 0: no limit

  distributed::nccl::Api api() {
    using namespace distributed::nccl;  // NOLINT(google-build-using-namespace)
    return {
        .get_version = [](int* version) { return *version = 22809, kSuccess; },
        .get_unique_id =
            [this](UniqueId* id) {
              return std::memset(id, 42, sizeof *id), id->internal[0] = static_cast<char>(++ids), kSuccess;
            },
        .init_rank = [this](Handle* h, int ranks, UniqueId id, int rank,
                            Config* config) { return init(h, ranks, id, rank, *config); },
        .finalize = [this](Handle h) { return finalize(h); },
        .destroy = [this](Handle h) { return end(h, destroyed); },
        .abort = [this](Handle h) { return end(h, aborted); },
        .get_async_error = [this](Handle h, Result* state) { return poll(h, state); },
        .error_string = [](Result r) { return r == kRemoteError ? "remote process exited" : "unhandled system error"; },
        .last_error = [](Handle) { return "fake words"; },
        .all_reduce = [this](const void* in, void* out, std::size_t n, int type, int operation, Handle h,
                             void* stream) { return all_reduce(in, out, n, type, operation, h, stream); },
        .all_gather = [this](const void* in, void* out, std::size_t n, int type, Handle h,
                             void* stream) { return all_gather(in, out, n, type, h, stream); }};
  }

 private:
  using Result = distributed::nccl::Result;

  /// Collectives that a rank makes when it is attached.
  static constexpr std::int64_t kOpening = 3;

  struct Communicator;
  struct Rank {
    Communicator* communicator = nullptr;
    int rank = 0;
    std::int64_t calls = -1;  ///< accepted calls; the initialization is call -1
    int polls_left = 0;
    bool open = false, lost = false, broken = false;
    Result result = distributed::nccl::kSuccess;
  };
  struct Round {
    int arrived = 0;
    std::vector<const void*> in;
    std::vector<void*> out;
  };
  struct Communicator {
    int id = 0;
    std::deque<Rank> ranks;
    std::map<std::int64_t, Round> rounds;
    int joined = 0, max_blocks = 0;
  };

  Result init(distributed::nccl::Handle* handle, int ranks, const distributed::nccl::UniqueId& id, int rank,
              const distributed::nccl::Config& config) {
    const std::lock_guard lock(mutex_);
    if (config.size != sizeof config || config.magic != 0xcafebeef || config.blocking != 0 || id.internal[127] != 42)
      ++wrong_configs;
    Communicator& all = communicators_[id.internal[0]];
    all.id = id.internal[0];
    all.max_blocks = std::max(0, config.max_ctas);
    all.ranks.resize(static_cast<std::size_t>(ranks));
    Rank& mine = all.ranks[static_cast<std::size_t>(rank)];
    mine = {.communicator = &all, .rank = rank, .polls_left = polls, .open = true};
    *handle = &mine;
    if (rank == 1 && init_result != distributed::nccl::kSuccess) return init_result;
    if (rank == 1 && absent) return mine.lost = true, distributed::nccl::kInProgress;
    ++all.joined;
    return distributed::nccl::kInProgress;
  }

  /// Starts the rank's next call; null if it fails at once.
  Rank* next(distributed::nccl::Handle handle, Result& result) {
    Rank& rank = *static_cast<Rank*>(handle);
    if (!rank.open) return ++used_after_end, result = 3, nullptr;
    ++rank.calls;
    const std::int64_t call = made_[rank.rank]++ - kOpening;
    rank.polls_left = polls;
    result = distributed::nccl::kInProgress;
    if (on_call) on_call(rank.rank);
    if (!trouble || trouble->rank != rank.rank || trouble->call != call) return &rank;
    if (trouble->result == distributed::nccl::kInProgress) return rank.lost = true, nullptr;
    if (trouble->later) return rank.broken = true, &rank;
    result = trouble->result;
    return nullptr;
  }

  Round& arrive(const Rank& rank, const void* in, void* out) {
    Round& round = rank.communicator->rounds[rank.calls];
    round.in.resize(rank.communicator->ranks.size());
    round.out.resize(rank.communicator->ranks.size());
    round.in[static_cast<std::size_t>(rank.rank)] = in;
    round.out[static_cast<std::size_t>(rank.rank)] = out;
    ++round.arrived;
    return round;
  }
  static bool complete(const Round& round) { return round.arrived == static_cast<int>(round.in.size()); }
  /// Whether the call that the rank has just made belongs to a step.
  bool is_open(const Rank& rank) const { return made_.at(rank.rank) > kOpening; }

  Result all_reduce(const void* in, void* out, std::size_t n, int type, int operation, distributed::nccl::Handle handle,
                    void* stream) {
    const std::lock_guard lock(mutex_);
    Result result = 0;
    Rank* rank = next(handle, result);
    if (rank == nullptr) return result;
    const bool rounded = type == distributed::nccl::kBfloat16;
    if (in != out || (type != distributed::nccl::kFloat32 && !rounded) || operation != distributed::nccl::kSum)
      return 4;
    if (is_open(*rank)) {
      sums[rank->rank].push_back({in, n, type});
      sums_at[rank->rank].insert({rank->communicator->id, stream});
    }
    Round& round = arrive(*rank, in, out);
    if (complete(round)) all_reduce_of(round.in, round.out, n, type);
    return result;
  }

  Result all_gather(const void* in, void* out, std::size_t n, int type, distributed::nccl::Handle handle,
                    void* stream) {
    const std::lock_guard lock(mutex_);
    Result result = 0;
    Rank* rank = next(handle, result);
    if (rank == nullptr) return result;
    if (type != distributed::nccl::kInt8) return 4;
    if (is_open(*rank)) {
      gathers_at[rank->rank].insert({rank->communicator->id, stream});
      max_blocks = rank->communicator->max_blocks;
    }
    Round& round = arrive(*rank, in, out);
    if (complete(round)) all_gather_of(round.in, round.out, n);
    return result;
  }

  Result poll(distributed::nccl::Handle handle, Result* state) {
    const std::lock_guard lock(mutex_);
    Rank& rank = *static_cast<Rank*>(handle);
    if (!rank.open) return ++used_after_end, 3;
    Communicator& all = *rank.communicator;
    const bool taken_in = !rank.lost && (rank.calls < 0 ? all.joined == static_cast<int>(all.ranks.size())
                                                        : complete(all.rounds[rank.calls]));
    *state = taken_in && rank.polls_left-- <= 0 ? (rank.broken ? trouble->result : distributed::nccl::kSuccess)
                                                : distributed::nccl::kInProgress;
    return distributed::nccl::kSuccess;
  }

  Result finalize(distributed::nccl::Handle handle) {
    const std::lock_guard lock(mutex_);
    Rank& rank = *static_cast<Rank*>(handle);
    if (!rank.open) return ++used_after_end, 3;
    ++finalized;
    rank.polls_left = polls;
    return polls > 0 ? distributed::nccl::kInProgress : distributed::nccl::kSuccess;
  }
  Result end(distributed::nccl::Handle handle, int& counter) {
    const std::lock_guard lock(mutex_);
    Rank& rank = *static_cast<Rank*>(handle);
    if (!rank.open) return ++used_after_end, 3;
    rank.open = false;
    ++counter;
    return distributed::nccl::kSuccess;
  }

  std::mutex mutex_;
  std::map<char, Communicator> communicators_;  ///< by id
  std::map<int, std::int64_t> made_;            ///< per rank, collectives of all its communicators
};

}  // namespace dptrain::test
