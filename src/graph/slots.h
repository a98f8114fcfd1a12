#pragma once

// Slots: the devices of one replica, as a config names them with `device:` ("a", "gpu:0", "cpu"). The command line maps
// them to devices (session/slots.h). Pure functions; any thread.

#include <string>
#include <vector>

#include "graph/graph.h"

namespace dptrain::graph {

class Slots {
 public:
  /// Ignores Inputs: they have no slot and are copied to the slots that read them.
  explicit Slots(const Graph& graph);

  /// The first slot, which has the steps without `device:`, then the others in the order of first use, "cpu" last.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& of(const Node& node) const { return node.device.empty() ? first_ : node.device; }

 private:
  std::string first_;  ///< the first named slot except "cpu"; "gpu:0" if there is none
  std::vector<std::string> names_;
};

/// Describes the expected form of a slot's name; "" if the name is valid.
std::string slot_name_error(const std::string& name);

}  // namespace dptrain::graph
