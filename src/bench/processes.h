#pragma once

// `bench --sweep processes=1,2,4`: the same bench, started anew by mpirun for each number of processes; and the link
// between them, for `bench --predict`. Main thread.

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/prediction.h"

namespace dptrain::bench {

/// The rows that `dptrain bench` of so many processes has measured. `words`: its command line behind the executable,
/// without what is swept by processes and without --output. The launcher is `mpirun`, or what DPTRAIN_MPIRUN names with
/// its flags. Throws Error: the launcher is not there, or the bench has failed, with its last words.
std::vector<BenchRow> bench_in_processes(std::int64_t processes, const std::vector<std::string>& words,
                                         const session::DeviceRequest& devices);

/// What messages between so many processes of this machine reach, by `dptrain devices --p2p` in them, started like
/// those above.
MessageLink measure_link_in_processes(int processes);

}  // namespace dptrain::bench
