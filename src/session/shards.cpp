#include "session/shards.h"

#include <bit>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::session {

int virtual_shards(const experiment::ParallelSection& parallel, int ranks) {
  if (!parallel.virtual_shards) return 0;
  const auto shards = static_cast<int>(*parallel.virtual_shards);
  if (std::has_single_bit(static_cast<unsigned>(ranks)) && ranks <= shards) return shards;
  std::vector<std::string> fitting;
  for (int replicas = 1; replicas < shards; replicas *= 2) fitting.push_back(std::to_string(replicas));
  throw Error(ErrorKind::kUsage, fmt::format("parallel.virtual_shards: {} goes with {} or {} replicas, found {}",
                                             shards, join(fitting, ", "), shards, ranks));
}

std::int64_t slices_of_replica(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches) {
  const int shards = virtual_shards(config.parallel, ranks);
  return shards > 0 ? shards / ranks : micro_batches;
}

int gradient_arenas(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches) {
  const std::int64_t slices = slices_of_replica(config, ranks, micro_batches);
  if (!config.parallel.virtual_shards) return slices > 1 ? 2 : 1;
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(slices)));
}

}  // namespace dptrain::session
