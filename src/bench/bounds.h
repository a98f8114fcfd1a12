#pragma once

// Distance of a network from the machine's limit. The bound of a pass is the larger of two times: its operations at the
// measured peak, and its bytes at the measured rate of the nearest cache that fits its working set. Each byte is moved
// once. The network's bound is the sum over all passes. Pure functions; any thread.

#include <string>
#include <vector>

#include "backend/cpu_limits.h"

namespace dptrain::bench {

/// The minimum work of a pass in a step.
struct PassWork {
  double operations = 0;  ///< multiply-adds times two, by direct computation
  double bytes = 0;       ///< read and written once
  double set = 0;         ///< working set of one call in bytes
};

struct Bound {
  double ms = 0;
  std::string by;     ///< "fma", or the memory level whose rate limits it; "": no limit
  std::string level;  ///< memory level that fits its working set; "": unknown
};

/// `limits`: of the threads that run the pass.
Bound bound_of(const PassWork& work, const backend::CpuLimits& limits);

/// A pass of a step of the network on one replica.
struct PassTime {
  std::string name;  ///< "conv1 forward", "update"
  double ms = 0;     ///< in one step
  PassWork work{};
  Bound bound{};

  double lost_ms() const { return ms - bound.ms; }
};

/// Milliseconds of a step if every pass takes as long as its bound.
double bound_ms(const std::vector<PassTime>& passes);

/// "farthest from their bounds: conv2 backward 3.21 ms (bound 1.20), ...", up to three passes; "" if there are none.
std::string passes_far_from_bounds(const std::vector<PassTime>& passes);

}  // namespace dptrain::bench
