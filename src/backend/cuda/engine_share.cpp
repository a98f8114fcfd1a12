#include "backend/cuda/engine_share.h"

#include <optional>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace dptrain::backend::cuda {
namespace {

constexpr auto kText = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;

/// "" if there is no finished plan (DeviceProperties::deviceless), or cuDNN cannot serialize this engine.
std::string text_of(const EnginePlan& plan) {
  if (!plan.plan) return "";
  try {
    const std::vector<char> text = plan.plan.get_all<char>(kText, plan.plan.count(kText, CUDNN_TYPE_CHAR));
    return {text.begin(), text.end()};
  } catch (const Error& error) {
    log::debug(fmt::format("{} is planned on every GPU: {}", plan.name.text(), error.what()));
    return "";
  }
}

std::optional<EnginePlan> read_plan(const SharedEngine& engine, const DeviceProperties& device) {
  if (engine.plan.empty()) return std::nullopt;
  EnginePlan plan;
  try {
    plan.plan = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device.descriptor())
        .set_all(kText, std::span<const char>(engine.plan))
        .finalize();
  } catch (const Error& error) {
    log::debug(fmt::format("{} is planned once more: {}", engine.name.text(), error.what()));
    return std::nullopt;
  }
  plan.taken = engine.plan;
  return plan;
}

}  // namespace

EngineShare::Claim EngineShare::claim(const std::string& key) {
  Claim claim;
  const std::lock_guard lock(mutex_);
  const auto [place, first] = engines_.try_emplace(key);
  if (first) place->second = claim.mine.emplace().get_future().share();
  claim.engine = place->second;
  return claim;
}

std::string kind_of(const cudaDeviceProp& p) {
  return fmt::format("{} {}.{} x{} {} {} {} {}", p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem,
                     p.l2CacheSize, p.sharedMemPerMultiprocessor, p.regsPerMultiprocessor);
}

std::shared_ptr<EngineShare> share_of(const std::string& kind) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<EngineShare>> shares;
  const std::lock_guard lock(mutex);
  std::weak_ptr<EngineShare>& place = shares[kind];
  auto share = place.lock();
  if (!share) place = share = std::make_shared<EngineShare>();
  return share;
}

std::shared_ptr<const SharedEngine> shared_engine(const EnginePlan& plan, bool with_text) {
  return std::make_shared<const SharedEngine>(SharedEngine{.name = plan.name,
                                                           .fused = plan.graph->fused,
                                                           .rank = plan.rank,
                                                           .runtime_compiled = plan.runtime_compiled,
                                                           .workspace = plan.workspace,
                                                           .plan = with_text ? text_of(plan) : ""});
}

EnginePlan recreate_engine(const SharedEngine& engine, std::shared_ptr<const CudnnGraph> graph,
                           const DeviceProperties& device, EngineQuery query) {
  if (auto plan = read_plan(engine, device)) {
    plan->graph = std::move(graph);
    plan->name = engine.name;
    plan->rank = engine.rank;
    plan->runtime_compiled = engine.runtime_compiled;
    plan->workspace = engine.workspace;
    return std::move(*plan);
  }
  query.only = engine.name.text();
  query.wanted = 1;
  Rejections rejections;
  auto plans = find_engines(std::move(graph), device, query, rejections);
  if (plans.empty())
    throw Error(ErrorKind::kDevice,
                fmt::format("cuDNN cannot create {} here, which an equal GPU uses: {}", query.only, rejections.text()));
  return std::move(plans.front());
}

}  // namespace dptrain::backend::cuda
