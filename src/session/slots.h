#pragma once

// Assignment of the slots of a config (`device: a`) to the devices of a replica. Main thread.

#include <string>

#include "graph/graph.h"
#include "session/devices.h"

namespace dptrain::session {

/// Returns the request grouped into replicas, with `placement`; one that has it is unchanged. Ungrouped GPUs
/// ("0,1,2,3") become replicas of one GPU per slot, "cpu" not counted; fewer GPUs than slots become one replica. Slots
/// use the devices in order, round-robin if there are fewer, unless `places` assigns them. Throws Error{kUsage} if
/// they do not match.
DeviceRequest place_slots(DeviceRequest request, const graph::Graph& graph);

/// Replicas on their first devices only, with all threads, for work without slots.
DeviceRequest first_slots(const DeviceRequest& request);

/// "a on cpu:0; b on cpu:1", with a note if slots share a device; "" for a model of one slot.
std::string slots_line(const DeviceRequest& request);

}  // namespace dptrain::session
