#include "experiment/virtual_shards.h"

#include <algorithm>
#include <bit>

#include "core/format.h"
#include "nn/layer.h"
#include "nn/normalization.h"

namespace dptrain::experiment {

void check_virtual_shards(config::Reader& reader, const config::Mark& place, const ConfigFile& file,
                          const graph::Graph* graph) {
  if (!file.parallel.virtual_shards) return;
  const std::int64_t shards = *file.parallel.virtual_shards;
  const auto refuse = [&](const std::string& why) { reader.error(place, "parallel: virtual_shards " + why); };
  if (!std::has_single_bit(static_cast<std::uint64_t>(shards)))
    refuse(fmt::format("must be a power of two such as {}, found {}", std::bit_ceil(static_cast<std::uint64_t>(shards)),
                       shards));
  if (file.train.accumulate_steps.value_or(1) > 1)
    refuse(
        "are a replica's micro-batches already: leave accumulate_steps out, and take more shards where memory is "
        "short");
  const std::vector<double>& weights = file.parallel.split.weights;
  if (file.parallel.split.automatic ||
      std::ranges::any_of(weights, [&](double weight) { return weight != weights.front(); }))
    refuse("go in equal parts to the replicas: leave split out");
  if (file.parallel.sync_batchnorm)
    refuse("are normalised one by one: leave sync_batchnorm out, which wants all of a batch at once");
  if (file.parallel.allreduce_dtype != AllreduceDtype::kFloat32)
    refuse("are summed in one order, in float32: leave allreduce_dtype out");
  if (graph == nullptr) return;
  for (const graph::Layer& layer : graph->layers) {
    const config::Typed spec = nn::applied(layer.spec).first;
    const auto* norm = spec.get_if<nn::BatchNormalizationSpec>();
    if (norm != nullptr && norm->synchronized)
      refuse(
          fmt::format("are normalised one by one: layer {} must not be `synchronized`, which wants all of a batch "
                      "at once",
                      layer.name));
  }
}

}  // namespace dptrain::experiment
