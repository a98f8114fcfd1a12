#pragma once

// Where in a step the first value stands that is not finite. A value.

#include <cstdint>
#include <string>

namespace dptrain::runtime {

struct NotFinite {
  std::string layer{};                 ///< Step::name, or a graph input's; "" for the loss
  int node = -1;                       ///< in Graph::nodes; -1 for the loss
  std::string what{};                  ///< "input", "output", "loss", "gradient of its input", "gradient of kernel"
  std::int64_t count = 0, values = 0;  ///< so many of so many are not finite
  int moment = 0;                      ///< in the plan's order; what several slots have found is told by it
  std::int64_t row = -1;               ///< the first such row of the global batch; -1: the values are of no row
};

}  // namespace dptrain::runtime
