#pragma once

// Engines that equal GPUs plan once: the first replica that needs one plans it (and compiles and measures it). Others
// wait for that engine only, so all replicas run the same engines and give the same bits. Any thread.

#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <cuda_runtime_api.h>

#include "backend/cuda/cudnn_engines.h"

namespace dptrain::backend::cuda {

/// A description from which an equal GPU can recreate the engine.
struct SharedEngine {
  EngineName name;
  FusedOps fused;
  std::string rank;
  bool runtime_compiled = false;
  std::uint64_t workspace = 0;  ///< in bytes
  std::string plan;             ///< cuDNN's text of the finished plan; may be empty
};

class EngineShare {
 public:
  using Engine = std::shared_ptr<const SharedEngine>;

  struct Claim {
    std::shared_future<Engine> engine;         ///< holds an error if it could not be planned
    std::optional<std::promise<Engine>> mine;  ///< only for the first caller, which must plan the engine and fulfil it
  };

  /// Does not wait. `key` must contain everything that the choice depends on.
  Claim claim(const std::string& key);

  void join() noexcept { ++members_; }
  void leave() noexcept { --members_; }
  /// Number of GPUs that take part. Replicas join before any of them plans.
  int members() const noexcept { return members_; }

 private:
  std::atomic<int> members_ = 0;
  std::mutex mutex_;  // guards engines_
  std::map<std::string, std::shared_future<Engine>> engines_;
};

/// Properties of equal GPUs: model, compute capability, multiprocessors, memories. A process has one driver and cuDNN.
std::string kind_of(const cudaDeviceProp& properties);

/// The share of all GPUs of this kind in the process. It exists as long as a GPU holds it.
std::shared_ptr<EngineShare> share_of(const std::string& kind);

/// The plans of one GPU, each made once or recreated once from an equal GPU's.
template <class Key, class Plan>
class PlanTable {
 public:
  /// `share`: null if no other GPU takes part.
  explicit PlanTable(std::shared_ptr<EngineShare> share) : share_(std::move(share)) {
    if (share_) share_->join();
  }
  ~PlanTable() {
    if (share_) share_->leave();
  }
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  /// The plan of the key. The first caller on all GPUs runs `make()`, and for other GPUs describe(plan, with_text),
  /// which returns the engine; cuDNN's text takes time and is needed only if there is another GPU. For other GPUs it
  /// returns at once; take(engine) runs when the plan is first waited for, so it does not block the planning of others.
  /// `take` may outlive the table.
  template <class Make, class Describe, class Take>
  std::shared_future<Plan> begin(const Key& key, const std::string& shared_key, const Make& make,
                                 const Describe& describe, Take take) {
    std::promise<Plan> made;
    EngineShare::Claim claim;
    std::shared_future<Plan> plan;
    {
      const std::lock_guard lock(mutex_);
      const auto [place, first] = plans_.try_emplace(key);
      if (!first) return place->second;
      if (share_) claim = share_->claim(shared_key);
      if (share_ && !claim.mine)
        place->second = std::async(std::launch::deferred, [take = std::move(take), engine = claim.engine] {
                          return take(*engine.get());
                        }).share();
      else
        place->second = made.get_future().share();
      plan = place->second;
    }
    if (share_ && !claim.mine) return plan;
    try {
      Plan mine = make();
      if (claim.mine) claim.mine->set_value(describe(mine, share_->members() > 1));
      made.set_value(std::move(mine));
    } catch (...) {
      if (claim.mine) claim.mine->set_exception(std::current_exception());
      made.set_exception(std::current_exception());
    }
    return plan;
  }

 private:
  std::shared_ptr<EngineShare> share_;
  std::mutex mutex_;  // guards plans_
  std::map<Key, std::shared_future<Plan>> plans_;
};

/// The description from which other GPUs recreate the plan; without cuDNN's text they plan the engine by name.
std::shared_ptr<const SharedEngine> shared_engine(const EnginePlan& plan, bool with_text);

/// The plan of `graph`, which must be that of the engine's problem with engine.fused. It is read from cuDNN's text,
/// which needs no compilation. If there is none, or cuDNN rejects it here, the engine is planned by name. `query`: that
/// of the GPU that planned it. Throws Error{kDevice} if this GPU does not have the engine.
EnginePlan recreate_engine(const SharedEngine& engine, std::shared_ptr<const CudnnGraph> graph,
                           const DeviceProperties& device, EngineQuery query);

}  // namespace dptrain::backend::cuda
