#pragma once

// `bench --sweep processes=1,2,4`: mpirun starts the bench for each number; also measures their link. Main thread.

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/prediction.h"

namespace dptrain::bench {

/// Runs `dptrain bench` in several processes and returns its rows. `words`: the arguments without the sweep over
/// processes and --output. The launcher is `mpirun` or DPTRAIN_MPIRUN with its flags. Throws Error if the launcher is
/// missing or the bench fails; the message has the last lines of its output.
std::vector<BenchRow> bench_in_processes(std::int64_t processes, const std::vector<std::string>& words,
                                         const session::DeviceRequest& devices);

/// Measures the link between processes on this machine with `dptrain devices --p2p`, started in the same way.
MessageLink measure_link_in_processes(int processes);

}  // namespace dptrain::bench
