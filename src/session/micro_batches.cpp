#include "session/micro_batches.h"

#include <algorithm>

namespace dptrain::session {

plan::CacheShare cache_of_replica(const std::vector<machine::Cache>& caches, int replicas, int threads) {
  constexpr std::uint64_t kPartOfLast = 8;
  if (caches.size() < 2) return {};
  const auto of_one = [&](const machine::Cache& cache) {
    return cache.reached_by(replicas * threads) / static_cast<std::uint64_t>(replicas);
  };
  const std::uint64_t last = of_one(caches.back());
  return {.wanted = std::max(of_one(caches[1]), last / kPartOfLast), .last = last};
}

std::int64_t micro_batches(const experiment::ConfigFile& config, const plan::Plan& plan, const DeviceRequest& devices,
                           int sharers, std::int64_t rows) {
  if (config.train.accumulate_steps) return *config.train.accumulate_steps;
  if (config.parallel.virtual_shards || devices.on_gpus() || !devices.paper.empty()) return 1;
  return plan::micro_batches_in_cache(plan, rows,
                                      cache_of_replica(machine::caches(), devices.replicas * sharers, devices.threads));
}

}  // namespace dptrain::session
