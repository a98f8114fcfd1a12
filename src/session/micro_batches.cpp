#include "session/micro_batches.h"

#include <algorithm>

#include "plan/micro_batches.h"

namespace dptrain::session {

std::uint64_t cache_of_replica(const std::vector<machine::Cache>& caches, int replicas, int threads) {
  constexpr std::uint64_t kPartOfLast = 8;
  if (caches.size() < 2) return 0;
  const auto of_one = [&](const machine::Cache& cache) {
    return cache.reached_by(replicas * threads) / static_cast<std::uint64_t>(replicas);
  };
  return std::max(of_one(caches[1]), of_one(caches.back()) / kPartOfLast);
}

std::int64_t micro_batches(const experiment::ConfigFile& config, const plan::Plan& plan, const DeviceRequest& devices,
                           int sharers, std::int64_t rows) {
  if (config.train.accumulate_steps) return *config.train.accumulate_steps;
  if (config.parallel.virtual_shards || devices.on_gpus() || !devices.paper.empty()) return 1;
  return plan::micro_batches_in_cache(plan, rows,
                                      cache_of_replica(machine::caches(), devices.replicas * sharers, devices.threads));
}

}  // namespace dptrain::session
