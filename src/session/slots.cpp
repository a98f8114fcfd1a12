#include "session/slots.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "graph/slots.h"

namespace dptrain::session {
namespace {

constexpr const char* kHost = "cpu";

/// Number of devices of a replica: as `places` requires, else one per slot without "cpu".
int wanted(const DeviceRequest& request, const std::vector<std::string>& names) {
  int most = 0;
  for (const auto& [name, place] : request.places) most = std::max(most, place + 1);
  if (most > 0) return most;
  return std::max(1, static_cast<int>(names.size() - static_cast<std::size_t>(std::ranges::count(names, kHost))));
}

void check_places(const DeviceRequest& request, const std::vector<std::string>& names) {
  for (const auto& [name, place] : request.places)
    if (std::ranges::find(names, name) == names.end())
      throw Error(ErrorKind::kUsage, fmt::format("--slots: no step has 'device: {}'{}; the model's slots are {}", name,
                                                 did_you_mean(name, names), join(names, ", ")));
}

void group(DeviceRequest& request, int slots) {
  const int gpus = static_cast<int>(request.gpus.size());
  if (gpus > slots && gpus % slots != 0)
    throw Error(ErrorKind::kUsage, fmt::format("{} GPUs cannot be divided into replicas of {} each, one for each slot; "
                                               "give a multiple, or group them, as in 0+1,2+3",
                                               gpus, slots));
  request.slots = std::min(gpus, slots);
  request.replicas = gpus / request.slots;
}

std::string devices_of(const DeviceRequest& request, int slot) {
  std::vector<std::string> names;
  for (int r = 0; r < request.replicas && request.gpus.size() > 0; ++r)
    names.push_back(request.gpus[static_cast<std::size_t>(r * request.slots + slot)].name());
  for (int r = 0; r < request.replicas && request.gpus.empty(); ++r)
    names.push_back(fmt::format("cpu:{}", r * request.slots + slot));
  constexpr std::size_t kMaxNamed = 4;
  const bool many = names.size() > kMaxNamed;
  if (many) names.resize(kMaxNamed);
  return join(names, "/") + (many ? "/..." : "");
}

}  // namespace

DeviceRequest place_slots(DeviceRequest request, const graph::Graph& graph) {
  if (!request.placement.empty()) return request;
  const std::vector<std::string> names = graph::Slots(graph).names();
  check_places(request, names);
  const int slots = wanted(request, names);
  if (!request.gpus.empty() && !request.grouped && slots > 1) group(request, slots);
  if (static_cast<std::size_t>(request.slots) > names.size())
    throw Error(ErrorKind::kUsage,
                fmt::format("{} devices for each replica, but the model has {} ({}); 'device: NAME' on a step sets "
                            "where it runs",
                            request.slots, counted(names.size(), "slot"), join(names, ", ")));
  request.placement.resize(static_cast<std::size_t>(request.slots));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto requested = std::ranges::find(request.places, names[i], &std::pair<std::string, int>::first);
    int place = request.places.empty() ? static_cast<int>(i) % request.slots : 0;
    if (requested != request.places.end()) place = requested->second;
    if (place >= request.slots)
      throw Error(ErrorKind::kUsage, fmt::format("--slots {}={}: each replica has {}, counted from 0", names[i], place,
                                                 counted(request.slots, "device")));
    request.placement[static_cast<std::size_t>(place)].push_back(names[i]);
  }
  for (std::size_t i = 0; i < request.placement.size(); ++i)
    if (request.placement[i].empty())
      throw Error(ErrorKind::kUsage,
                  fmt::format("no slot is on device {} of each replica; leave it out, or name it in --slots", i));
  return request;
}

DeviceRequest first_slots(const DeviceRequest& request) {
  DeviceRequest first = with_threads(request);
  first.slots = 1;
  first.grouped = true;
  first.slot_threads.clear();
  first.placement.clear();
  first.places.clear();
  first.gpus.clear();
  for (std::size_t i = 0; i < request.gpus.size(); i += static_cast<std::size_t>(request.slots))
    first.gpus.push_back(request.gpus[i]);
  return first;
}

std::string slots_line(const DeviceRequest& request) {
  std::vector<std::string> parts;
  bool shared = false;
  std::size_t names = 0;
  for (std::size_t i = 0; i < request.placement.size(); ++i) {
    const std::vector<std::string>& slot = request.placement[i];
    names += slot.size();
    shared = shared || std::ranges::count_if(slot, [](const std::string& name) { return name != kHost; }) > 1;
    parts.push_back(fmt::format("{} on {}", join(slot, ", "), devices_of(request, static_cast<int>(i))));
  }
  if (names < 2) return "";
  return join(parts, "; ") + (shared ? " (fewer devices than slots)" : "");
}

}  // namespace dptrain::session
