#include "backend/cuda/engine_share.h"

#include "core/format.h"

namespace dptrain::backend::cuda {

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

}  // namespace dptrain::backend::cuda
