#include "replica/check_graphs.h"

#include "core/error.h"
#include "core/format.h"

namespace dptrain::replica {

void check_graphs(const Options& options, int slots) {
  if (options.graphs != Graphs::kOn) return;
  if (slots > 1)
    throw Error(ErrorKind::kUsage,
                fmt::format("runtime.cuda_graphs: on wants replicas of one slot, found {}; use auto", slots));
  if (options.replicas > 1 || options.accumulate)
    throw Error(
        ErrorKind::kUsage,
        fmt::format("runtime.cuda_graphs: on wants one replica and accumulate_steps 1, found {} replica{}{}; "
                    "use auto",
                    options.replicas, options.replicas == 1 ? "" : "s", options.accumulate ? " and accumulation" : ""));
}

}  // namespace dptrain::replica
