#pragma once

// Which of a replica's devices are the slots that a config names (`device: a`). Main thread.

#include <string>

#include "graph/graph.h"
#include "session/devices.h"

namespace dptrain::session {

/// The request with replicas of as many devices as it gives them, and with `placement`. GPUs that were not grouped
/// ("0,1,2,3") become replicas of one GPU per slot, "cpu" not counted; fewer GPUs than slots are one replica. Slots
/// take devices in their order, and in turns where there are fewer devices; `places` says otherwise. Of a request that
/// has been here already: the same again. Throws Error{kUsage} where devices and slots do not fit.
DeviceRequest place_slots(DeviceRequest request, const graph::Graph& graph);

/// The same replicas on their first devices alone, with all their threads: for what knows no slots.
DeviceRequest first_slots(const DeviceRequest& request);

/// "a on cpu:0, b on cpu:1", or, of fewer devices than slots, who shares one; "" for a model of one slot.
std::string slots_line(const DeviceRequest& request);

}  // namespace dptrain::session
