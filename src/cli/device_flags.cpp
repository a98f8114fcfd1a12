#include "cli/device_flags.h"

#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/text.h"
#include "device/device.h"
#include "device/gpu_facts.h"

namespace dptrain::cli {
namespace {

constexpr int kMostReplicas = 1024, kMostThreads = 4096;  // beyond these it is a slip of the finger

std::optional<int> positive(const std::string& text, int most) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() && value >= 1 && value <= most ? std::optional(value)
                                                                                                  : std::nullopt;
}

/// A whole number from 0 on.
std::optional<int> id_of(const std::string& text) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && rest == text.data() + text.size();
  return whole && value >= 0 && value < kMostReplicas ? std::optional(value) : std::nullopt;
}

Error unreadable(const std::string& flag, const std::string& text) {
  return {ErrorKind::kUsage, fmt::format("{} must be ids as in 0,1 or 0-3, or all, or none, found '{}'", flag, text)};
}

/// Says which GPU of a list is not there; the device's own words.
void require_present(const std::vector<session::GpuId>& gpus, const std::string& asked) try {
  const std::size_t present = device::list_cuda().size();
  for (const session::GpuId& gpu : gpus)
    if (gpu.kind == device::DeviceKind::kCuda && static_cast<std::size_t>(gpu.id) >= present)
      device::make_cuda_device(gpu.id, {});
} catch (const Error& error) {
  throw error.within(asked);
}

/// "0", "0-3" or "emu:0" as ids.
std::vector<session::GpuId> ids_of(const std::string& part, const std::string& flag, const std::string& text) {
  const bool emulated = part.starts_with("emu:");
  const auto kind = emulated ? device::DeviceKind::kEmu : device::DeviceKind::kCuda;
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
  const int count = static_cast<int>(device::list_cuda().size());
  for (int id = 0; id < count; ++id) ids.push_back({device::DeviceKind::kCuda, id});
  return ids;
}

constexpr std::uint64_t kIdleBytes = 200U << 20;  // a context without work takes more than a GPU that nobody uses

/// The first so many GPUs whose memory nobody uses.
session::DeviceRequest idle_gpus(std::int64_t count) {
  const std::string asked = fmt::format("--num-gpus {}", count);
  std::vector<session::GpuId> idle;
  const std::vector<device::GpuFacts> all = device::gpu_facts();
  if (all.empty()) require_present({{device::DeviceKind::kCuda, 0}}, asked);
  for (const device::GpuFacts& gpu : all) {
    if (!gpu.knows_used)
      throw Error(ErrorKind::kDevice,
                  asked + ": the driver does not say which GPUs are idle (libnvidia-ml.so.1); name them with --gpus");
    if (gpu.used_bytes < kIdleBytes && static_cast<std::int64_t>(idle.size()) < count)
      idle.push_back({device::DeviceKind::kCuda, gpu.id});
  }
  if (static_cast<std::int64_t>(idle.size()) < count)
    throw Error(
        ErrorKind::kDevice,
        fmt::format("{}: {} of {} GPUs are idle (less than {} of memory in use); name GPUs with --gpus to share them",
                    asked, idle.size(), all.size(), human_bytes(kIdleBytes)));
  return session::request_of(std::move(idle));
}

/// Right, but slow, and seldom meant.
void warn_of_too_many(const session::DeviceRequest& request) {
  const session::DeviceRequest all = session::with_threads(request);
  if (request.on_gpus() || all.replicas * all.threads <= machine::cpus()) return;
  log::warn(fmt::format("{} replica{} of {} thread{} on {} core{}: they take turns", all.replicas,
                        all.replicas == 1 ? "" : "s", all.threads, all.threads == 1 ? "" : "s", machine::cpus(),
                        machine::cpus() == 1 ? "" : "s"));
}

}  // namespace

void DeviceFlags::add(Command& command) {
  command.section("Devices")
      .option("--cpus", "N[xT]", cpus,
              "N CPU replicas of T threads each (T: the cores shared evenly); no GPU is touched")
      .option("--gpus", "IDS", gpus,
              "one replica on each GPU, as in 0,1 or 0-3 or all; 0,0: two on one GPU; none: the CPU")
      .whole("--num-gpus", "N", num_gpus, "the first N idle GPUs (less than 200 MiB of memory in use)")
      .exclusive({"--cpus", "--gpus", "--num-gpus"});
}

session::DeviceRequest DeviceFlags::plan_request() const {
  if (num_gpus) return idle_gpus(*num_gpus);
  if (gpus) return parse_gpus(*gpus);
  if (cpus) return parse_cpus(*cpus);
  return device::list_cuda().empty() ? session::DeviceRequest{} : session::request_of({session::GpuId{}});
}

session::DeviceRequest DeviceFlags::request() const {
  session::DeviceRequest request = plan_request();
  if (!request.paper.empty())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--gpus {}: a GPU on paper, for summary --plan and check; nothing runs on it", request.paper));
  warn_of_too_many(request);
  return request;
}

session::DeviceRequest DeviceFlags::first_gpus(std::int64_t count) const {
  std::vector<session::GpuId> ids = gpus ? parse_gpus(*gpus).gpus : all_gpus();
  if (static_cast<std::int64_t>(ids.size()) < count) {
    if (!gpus)
      require_present({{device::DeviceKind::kCuda, static_cast<int>(count) - 1}},
                      fmt::format("--sweep gpus={}", count));
    throw Error(ErrorKind::kUsage, fmt::format("--sweep gpus={}: --gpus names {}", count, ids.size()));
  }
  ids.resize(static_cast<std::size_t>(count));
  return session::request_of(std::move(ids));
}

session::DeviceRequest parse_cpus(const std::string& text) {
  const std::size_t x = text.find('x');
  const auto replicas = positive(text.substr(0, x), kMostReplicas);
  const auto threads = x == std::string::npos ? std::optional(0) : positive(text.substr(x + 1), kMostThreads);
  if (!replicas || !threads)
    throw Error(ErrorKind::kUsage,
                fmt::format("--cpus must be N replicas, or NxT for T threads each, as in 2 or 4x1; found '{}'", text));
  return {.replicas = *replicas, .threads = *threads};
}

session::DeviceRequest parse_gpus(const std::string& text, const std::string& flag) {
  if (text == "none") return {};
  if (text == "h200") return {.paper = text};
  std::vector<session::GpuId> ids;
  if (text == "all") {
    ids = all_gpus();
    if (ids.empty()) require_present({session::GpuId{}}, flag + " all");
    return session::request_of(std::move(ids));
  }
  for (const std::string& part : split(text, ','))
    for (const session::GpuId& id : ids_of(part, flag, text)) ids.push_back(id);
  if (ids.empty() || ids.size() > static_cast<std::size_t>(kMostReplicas)) throw unreadable(flag, text);
  require_present(ids, fmt::format("{} {}", flag, text));
  return session::request_of(std::move(ids));
}

session::DeviceRequest parse_device(const std::string& text, const std::string& flag) {
  if (text == "cpu") return {};
  if (!text.starts_with("gpu:") && !text.starts_with("emu:"))
    throw Error(ErrorKind::kUsage, fmt::format("{} must be cpu, or one GPU as in gpu:0, found '{}'", flag, text));
  session::DeviceRequest request = parse_gpus(text, flag);
  if (request.replicas != 1) throw Error(ErrorKind::kUsage, fmt::format("{} takes one device, found '{}'", flag, text));
  return request;
}

std::string parse_split(const std::string& text) {
  if (text == "even") return text;
  std::vector<std::string> weights;
  bool good = true;
  for (const std::string& part : split(text, ':')) {
    double weight = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), weight);
    good = good && error == std::errc() && rest == part.data() + part.size() && std::isfinite(weight) && weight >= 0;
    weights.push_back(part);
  }
  if (!good || weights.size() < 2)
    throw Error(ErrorKind::kUsage,
                fmt::format("--split must be even, or one weight per replica as in 2:1; found '{}'", text));
  return "[" + join(weights, ", ") + "]";
}

}  // namespace dptrain::cli
