#pragma once

// How near a network is to the machine's limit. A pass of a layer cannot be faster than its operations at the measured
// peak of multiply-adds, nor than its bytes, each moved once, at the measured rate of the nearest cache that holds what
// it works on. The sum over all passes is the network's own limit. Pure functions; any thread.

#include <string>
#include <vector>

#include "backend/cpu_limits.h"

namespace dptrain::session {

/// What a pass does in a step at least.
struct PassWork {
  double operations = 0;  ///< multiply-adds times two, computed directly
  double bytes = 0;       ///< read and written once
  double set = 0;         ///< bytes that one call works on
};

struct Bound {
  double ms = 0;
  std::string by;     ///< "fma", or the level whose rate holds it; "": nothing holds it
  std::string level;  ///< that its working set fits; "": none is known to
};

/// `limits` of the threads that the pass has.
Bound bound_of(const PassWork& work, const backend::CpuLimits& limits);

/// A pass of a step of the network, as one replica takes it.
struct PassTime {
  std::string name;  ///< "conv1 forward", "update"
  double ms = 0;     ///< in one step
  PassWork work{};
  Bound bound{};

  double lost_ms() const { return ms - bound.ms; }
};

/// Milliseconds of a step in which all passes are at their bounds.
double bound_ms(const std::vector<PassTime>& passes);

/// Those that lose most, at most three: "farthest from their bounds: conv2 backward 3.21 ms (bound 1.20), ...". "":
/// none is slower than its bound.
std::string farthest(const std::vector<PassTime>& passes);

}  // namespace dptrain::session
