#pragma once

// Engines that GPUs of one kind plan once between them. The first replica that wants one plans it (and compiles and
// measures it, where that is asked for); the others wait for that one alone and take it, so that all run the same
// engines and have the same bits. Nothing here calls cuDNN. Any thread.

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

/// An engine in words that make it again on an equal GPU.
struct SharedEngine {
  EngineName name;
  FusedOps fused;
  std::string rank;
  bool runtime_compiled = false;
  std::uint64_t workspace = 0;  ///< bytes
  std::string plan;             ///< cuDNN's text of the finished plan; empty where it writes none
};

class EngineShare {
 public:
  using Engine = std::shared_ptr<const SharedEngine>;

  struct Claim {
    std::shared_future<Engine> engine;         ///< an error where it could not be planned
    std::optional<std::promise<Engine>> mine;  ///< the first one's, who plans the engine and keeps the promise
  };

  /// Does not wait. `key` says everything that the choice depends on.
  Claim claim(const std::string& key);

 private:
  std::mutex mutex_;  // guards engines_
  std::map<std::string, std::shared_future<Engine>> engines_;
};

/// What two GPUs have in common that are equal to cuDNN: model, compute capability, multiprocessors and memories. Of
/// one process driver and cuDNN are the same.
std::string kind_of(const cudaDeviceProp& properties);

/// The share of all GPUs of this kind in the process, as long as one of them holds it.
std::shared_ptr<EngineShare> share_of(const std::string& kind);

/// The plans of one GPU, each made or taken once.
template <class Key, class Plan>
class PlanTable {
 public:
  /// `share` null: no other GPU takes part.
  explicit PlanTable(std::shared_ptr<EngineShare> share) : share_(std::move(share)) {}

  /// The key's plan. Who asks first of all GPUs runs `make()`, which returns a plan and the engine for the others, here
  /// and now; all others go on at once, and take(engine) runs where the plan is first waited for, which therefore holds
  /// up nobody who could make another one. `take` may outlive the table.
  template <class Make, class Take>
  std::shared_future<Plan> begin(const Key& key, const std::string& shared_key, const Make& make, Take take) {
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
      auto [mine, engine] = make();
      if (claim.mine) claim.mine->set_value(std::move(engine));
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

/// What other GPUs make the plan of.
std::shared_ptr<const SharedEngine> shared_engine(const EnginePlan& plan);

/// The plan of `graph`, which is that of the engine's problem with engine.fused: read from cuDNN's text, which compiles
/// nothing; where there is none, or cuDNN does not take it here, the same engine planned by its name. `query` as of the
/// GPU that planned it. Throws Error{kDevice} where this GPU does not have the engine.
EnginePlan take_engine(const SharedEngine& engine, std::shared_ptr<const ConvGraph> graph,
                       const DeviceProperties& device, EngineQuery query);

}  // namespace dptrain::backend::cuda
