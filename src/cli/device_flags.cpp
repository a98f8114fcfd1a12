#include "cli/device_flags.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "backend/device.h"
#include "backend/gpu_facts.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/quantity.h"
#include "core/text.h"

namespace dptrain::cli {
namespace {

constexpr int kMaxReplicas = 1024, kMaxThreads = 4096;  // larger values are refused as typing errors

std::optional<int> integer(const std::string& text, int least, int most) {
  const auto value = parse_number<int>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

std::optional<int> id_of(const std::string& text) { return integer(text, 0, kMaxReplicas - 1); }

Error unreadable(const std::string& flag, const std::string& text) {
  return {ErrorKind::kUsage, fmt::format("{} must be ids as in 0,1 or 0-3, or all, or none, found '{}'", flag, text)};
}

/// Throws the device's own error for the first GPU that is not present.
void require_present(const std::vector<session::GpuId>& gpus, const std::string& asked) try {
  const std::size_t present = backend::list_cuda().size();
  for (const session::GpuId& gpu : gpus)
    if (gpu.kind == backend::DeviceKind::kCuda && static_cast<std::size_t>(gpu.id) >= present)
      backend::make_cuda_device(gpu.id, {});
} catch (const Error& error) {
  throw error.within(asked);
}

/// "0", "0-3" or "emu:0" as ids.
std::vector<session::GpuId> ids_of(const std::string& part, const std::string& flag, const std::string& text) {
  const bool emulated = part.starts_with("emu:");
  const auto kind = emulated ? backend::DeviceKind::kEmu : backend::DeviceKind::kCuda;
  const std::string numbers = part.starts_with("emu:") || part.starts_with("gpu:") ? part.substr(4) : part;
  const std::size_t dash = numbers.find('-');
  const auto first = id_of(numbers.substr(0, dash));
  const auto last = dash == std::string::npos ? first : id_of(numbers.substr(dash + 1));
  if (!first || !last || *last < *first) throw unreadable(flag, text);
  std::vector<session::GpuId> ids;
  for (int id = *first; id <= *last; ++id) ids.push_back({kind, id});
  return ids;
}

std::vector<session::GpuId> all_gpus() {
  std::vector<session::GpuId> ids;
  const int count = static_cast<int>(backend::list_cuda().size());
  for (int id = 0; id < count; ++id) ids.push_back({backend::DeviceKind::kCuda, id});
  return ids;
}

constexpr std::uint64_t kIdleBytes = 200U << 20;  // even an idle context uses more

/// The first `count` GPUs with less than kIdleBytes of memory in use.
session::DeviceRequest idle_gpus(std::int64_t count) {
  const std::string asked = fmt::format("--num-gpus {}", count);
  std::vector<session::GpuId> idle;
  const std::vector<backend::GpuFacts> all = backend::gpu_facts();
  if (all.empty()) require_present({{backend::DeviceKind::kCuda, 0}}, asked);
  for (const backend::GpuFacts& gpu : all) {
    if (!gpu.has_used_bytes)
      throw Error(
          ErrorKind::kDevice,
          asked + ": the driver does not report which GPUs are idle (libnvidia-ml.so.1); name them with --gpus");
    if (gpu.used_bytes < kIdleBytes && static_cast<std::int64_t>(idle.size()) < count)
      idle.push_back({backend::DeviceKind::kCuda, gpu.id});
  }
  if (static_cast<std::int64_t>(idle.size()) < count)
    throw Error(
        ErrorKind::kDevice,
        fmt::format("{}: {} of {} GPUs are idle (less than {} of memory in use); name GPUs with --gpus to share them",
                    asked, idle.size(), all.size(), human_bytes(kIdleBytes)));
  return session::request_of(std::move(idle));
}

/// Warns if the replicas have more threads than there are cores, which is correct but slow.
void warn_of_too_many(const session::DeviceRequest& request) {
  const session::DeviceRequest all = session::with_threads(request);
  if (request.on_gpus() || all.replicas * all.threads <= machine::cpus()) return;
  log::warn(fmt::format("{} x {} oversubscribe {}", counted(all.replicas, "replica"), counted(all.threads, "thread"),
                        counted(machine::cpus(), "core")));
}

}  // namespace

void DeviceFlags::add(Command& command) {
  command.section("Devices")
      .option("--cpus", "N[xT]", cpus,
              "N CPU replicas of T threads each (T: the cores shared evenly); 1+1 or Nx1+1: the threads of each slot; "
              "auto: a replica for each last-level cache, on its cores")
      .option("--gpus", "IDS", gpus,
              "one replica on each GPU, as in 0,1 or 0-3 or all, or on one for each slot; 0+1,2+3: the GPUs of each "
              "replica; 0,0: two replicas on one GPU; none: the CPU")
      .option("--slots", "a=0,b=1", slots,
              "for each slot of the model (`device:`), the index of its device in the replica, from 0")
      .integer("--num-gpus", "N", num_gpus, "the first N idle GPUs (less than 200 MiB of memory in use)")
      .exclusive({"--cpus", "--gpus", "--num-gpus"});
}

std::string DeviceFlags::text() const {
  std::string text;
  const auto add = [&](const char* flag, const std::optional<std::string>& value) {
    if (value) text += fmt::format(" {} {}", flag, shell_quoted(*value));
  };
  add("--cpus", cpus);
  add("--gpus", gpus);
  add("--num-gpus", num_gpus ? std::optional(std::to_string(*num_gpus)) : std::nullopt);
  add("--slots", slots);
  return text;
}

session::DeviceRequest DeviceFlags::plan_request() const {
  session::DeviceRequest request = devices();
  if (slots) request.places = parse_slots(*slots);
  return request;
}

session::DeviceRequest DeviceFlags::devices() const {
  if (num_gpus) return idle_gpus(*num_gpus);
  if (gpus) return parse_gpus(*gpus);
  if (cpus) return parse_cpus(*cpus);
  return backend::list_cuda().empty() ? session::DeviceRequest{} : session::request_of({session::GpuId{}});
}

session::DeviceRequest DeviceFlags::request() const {
  session::DeviceRequest request = plan_request();
  if (!request.plan_only_gpu.empty())
    throw Error(ErrorKind::kUsage, fmt::format("--gpus {} is only for summary --plan and check; nothing runs on it",
                                               request.plan_only_gpu));
  warn_of_too_many(request);
  return request;
}

session::DeviceRequest DeviceFlags::first_gpus(std::int64_t count) const {
  session::DeviceRequest request = gpus ? parse_gpus(*gpus) : session::DeviceRequest{};
  std::vector<session::GpuId> ids = gpus ? request.gpus : all_gpus();
  if (static_cast<std::int64_t>(ids.size()) < count) {
    if (!gpus)
      require_present({{backend::DeviceKind::kCuda, static_cast<int>(count) - 1}},
                      fmt::format("--sweep gpus={}", count));
    throw Error(ErrorKind::kUsage, fmt::format("--sweep gpus={}: --gpus names {}", count, ids.size()));
  }
  ids.resize(static_cast<std::size_t>(count));
  if (!request.grouped) {
    request = session::request_of(std::move(ids));
  } else {
    if (count % request.slots != 0)
      throw Error(ErrorKind::kUsage,
                  fmt::format("--sweep gpus={}: --gpus makes replicas of {} GPUs each", count, request.slots));
    request.replicas = static_cast<int>(count) / request.slots;
    request.gpus = std::move(ids);
  }
  if (slots) request.places = parse_slots(*slots);
  return request;
}

session::DeviceRequest parse_cpus(const std::string& text) {
  if (text == "auto") return session::by_topology();
  const std::size_t x = text.find('x');
  const bool has_slots = text.find('+') != std::string::npos;
  auto replicas = integer(text.substr(0, x), 1, kMaxReplicas);
  if (has_slots && x == std::string::npos) replicas = 1;
  const std::string rest = x == std::string::npos ? (has_slots ? text : "") : text.substr(x + 1);
  std::vector<int> threads;
  bool good = replicas.has_value();
  for (const std::string& part :
       rest.empty() && x == std::string::npos ? std::vector<std::string>{} : split(rest, '+')) {
    const auto number = integer(part, 1, kMaxThreads);
    good = good && number;
    threads.push_back(number.value_or(0));
  }
  if (!good)
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--cpus must be N replicas, or NxT for T threads each, as in 2 or 4x1, or slots of threads, "
                    "as in 1+1 or 2x1+1, or auto; found '{}'",
                    text));
  session::DeviceRequest request{.replicas = *replicas};
  if (threads.size() == 1) request.threads = threads.front();
  if (threads.size() <= 1) return request;
  request.slots = static_cast<int>(threads.size());
  request.slot_threads = std::move(threads);
  request.grouped = true;
  return request;
}

session::DeviceRequest parse_gpus(const std::string& text, const std::string& flag) {
  if (text == "none") return {};
  if (text == "h100" || text == "h200") return {.plan_only_gpu = text};
  std::vector<session::GpuId> ids;
  if (text == "all") {
    ids = all_gpus();
    if (ids.empty()) require_present({session::GpuId{}}, flag + " all");
    return session::request_of(std::move(ids));
  }
  std::set<std::size_t> sizes;
  for (const std::string& group : split(text, ',')) {
    const std::vector<std::string> parts = split(group, '+');
    for (const std::string& part : parts)
      for (const session::GpuId& id : ids_of(part, flag, text)) {
        ids.push_back(id);
        if (parts.size() > 1 && part.find('-') != std::string::npos) throw unreadable(flag, text);
      }
    sizes.insert(parts.size());
  }
  if (ids.empty() || ids.size() > static_cast<std::size_t>(kMaxReplicas)) throw unreadable(flag, text);
  if (sizes.size() > 1)
    throw Error(ErrorKind::kUsage,
                fmt::format("{} {}: every replica has the same number of devices, as in 0+1,2+3", flag, text));
  require_present(ids, fmt::format("{} {}", flag, text));
  session::DeviceRequest request = session::request_of(std::move(ids));
  request.slots = static_cast<int>(*sizes.begin());
  request.grouped = request.slots > 1;
  request.replicas /= request.slots;
  return request;
}

std::vector<std::pair<std::string, int>> parse_slots(const std::string& text) {
  std::vector<std::pair<std::string, int>> places;
  std::set<std::string> names;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto place = equals == std::string::npos ? std::nullopt : id_of(part.substr(equals + 1));
    if (!place || equals == 0)
      throw Error(
          ErrorKind::kUsage,
          fmt::format("--slots must be slots and devices of a replica, from 0, as in a=0,b=1; found '{}'", text));
    places.emplace_back(part.substr(0, equals), *place);
    if (!names.insert(places.back().first).second)
      throw Error(ErrorKind::kUsage, fmt::format("--slots names {} twice", places.back().first));
  }
  return places;
}

session::DeviceRequest parse_device(const std::string& text, const std::string& flag) {
  if (text == "cpu") return {};
  if (!text.starts_with("gpu:") && !text.starts_with("emu:"))
    throw Error(ErrorKind::kUsage, fmt::format("{} must be cpu, or one GPU as in gpu:0, found '{}'", flag, text));
  session::DeviceRequest request = parse_gpus(text, flag);
  if (request.replicas != 1)
    throw Error(ErrorKind::kUsage, fmt::format("{} must be one device, found '{}'", flag, text));
  return request;
}

std::string parse_split(const std::string& text) {
  if (text == "even" || text == "auto") return text;
  const std::vector<std::string> weights = split(text, ':');
  const auto is_weight = [](const std::string& part) {
    const auto weight = parse_number<double>(part);
    return weight && std::isfinite(*weight) && *weight >= 0;
  };
  if (weights.size() < 2 || !std::ranges::all_of(weights, is_weight))
    throw Error(ErrorKind::kUsage,
                fmt::format("--split must be even, auto, or one weight per replica as in 2:1; found '{}'", text));
  return "[" + join(weights, ", ") + "]";
}

}  // namespace dptrain::cli
