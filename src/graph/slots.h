#pragma once

// Slots: the devices of one replica as a config names them with `device:` ("a", "gpu:0", "cpu"). Which device a slot
// is, if it gets one of its own, is the command line's affair (session/slots.h). Pure functions, any thread.

#include <string>
#include <vector>

#include "graph/graph.h"

namespace dptrain::graph {

class Slots {
 public:
  /// Inputs have no slot: they are brought to where they are read.
  explicit Slots(const Graph& graph);

  /// The first one, where steps without `device:` live, then the others in the order of their first use, "cpu" last.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& of(const Node& node) const { return node.device.empty() ? first_ : node.device; }

 private:
  std::string first_;  ///< the first that is named, but "cpu"; "gpu:0" where there is none
  std::vector<std::string> names_;
};

/// What is wrong with a slot's name, as what was expected; "" for nothing.
std::string slot_complaint(const std::string& name);

}  // namespace dptrain::graph
