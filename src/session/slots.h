#pragma once

// Assignment of the slots of a config (`device: a`) to the devices of a replica. Main thread.

#include <string>

#include "graph/graph.h"
#include "session/devices.h"

namespace dptrain::session {

/// Returns the request grouped into replicas, with `placement`. GPUs that the user has not grouped ("0,1,2,3") become
/// replicas of one GPU per slot, "cpu" not counted; fewer GPUs than slots become one replica. Slots are assigned to
/// devices in order, round-robin if there are fewer devices; `places` overrides that. A request with `placement` is
/// returned unchanged. Throws Error{kUsage} if devices and slots do not match.
DeviceRequest place_slots(DeviceRequest request, const graph::Graph& graph);

/// Replicas on their first devices only, with all threads, for work without slots.
DeviceRequest first_slots(const DeviceRequest& request);

/// "a on cpu:0; b on cpu:1", with a note if slots share a device; "" for a model of one slot.
std::string slots_line(const DeviceRequest& request);

}  // namespace dptrain::session
