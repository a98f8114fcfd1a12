#include "runtime/checks.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/quantity.h"

namespace dptrain::runtime {

backend::Graphs graphs_for(backend::Graphs wish, int replicas) {
  return wish == backend::Graphs::kAuto && replicas > 1 ? backend::Graphs::kOff : wish;
}

void check_graphs(const Options& options, int slots, bool sums_too) {
  if (options.graphs != backend::Graphs::kOn) return;
  if (slots > 1)
    throw Error(ErrorKind::kUsage,
                fmt::format("runtime.cuda_graphs: on needs replicas of one slot, found {}; use auto", slots));
  if ((options.replicas > 1 && !sums_too) || options.accumulate)
    throw Error(ErrorKind::kUsage,
                fmt::format("runtime.cuda_graphs: on needs one replica, or one process whose replicas have a GPU each, "
                            "and accumulate_steps 1, found {}{}{}; use auto",
                            counted(options.replicas, "replica"),
                            options.replicas > 1 && !sums_too ? " that sum otherwise" : "",
                            options.accumulate ? " and accumulation" : ""));
}

void check_micro_batches(const Options& options, std::size_t micro_batches, bool accumulates) {
  if (micro_batches == 0 || (micro_batches > 1 && !accumulates))
    throw Error(ErrorKind::kInternal, fmt::format("{} micro-batches for a replica made for {}", micro_batches,
                                                  accumulates ? "at least one" : "one"));
  check_shards(options, micro_batches);
}

void check_shards(const Options& options, std::size_t slices) {
  if (slices == 0 || slices % at(options.shards) != 0)
    throw Error(ErrorKind::kInternal, fmt::format("{} slices for {} shards", slices, options.shards));
}

bool regularized(const plan::Plan& plan) {
  return std::ranges::any_of(plan.parameters,
                             [](const plan::Parameter& p) { return p.penalty.l1 != 0 || p.penalty.l2 != 0; });
}

}  // namespace dptrain::runtime
