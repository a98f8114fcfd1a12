// dptrain devices: lists, checks and measures the processors and GPUs that can train.

#include <memory>

#include <nlohmann/json.hpp>

#include "backend/cpu_limits.h"
#include "backend/device.h"
#include "backend/gpu_facts.h"
#include "bench/device_check.h"
#include "bench/link_speed.h"
#include "cli/commands.h"
#include "cli/device_flags.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "session/environment.h"

namespace dptrain::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DevicesFlags {
  bool json = false, p2p = false, check = false;
  std::optional<std::string> gpus;
};

/// All-reduce speed between GPUs.
struct Link {
  session::DeviceRequest devices;
  bench::LinkSpeed speed;
};

constexpr std::uint64_t kSummedBytes = 64U << 20;
constexpr std::uint64_t kEmulatedBytes = 64U << 10;  // small, since the emulator is slow
constexpr int kRepeats = 20;
constexpr std::uint64_t kFewBytes = 4U << 10, kManyBytes = 4U << 20;  // between processes
constexpr int kMessageRepeats = 100;

/// The GPUs of --gpus, or all.
session::DeviceRequest wanted(const DevicesFlags& flags) {
  if (flags.gpus) return parse_gpus(*flags.gpus);
  std::vector<session::GpuId> all;
  for (const backend::GpuFacts& gpu : backend::gpu_facts()) all.push_back({backend::DeviceKind::kCuda, gpu.id});
  return session::request_of(std::move(all));
}

/// Nothing without --p2p or with fewer than two GPUs.
std::optional<Link> measure(const DevicesFlags& flags) {
  if (!flags.p2p) return std::nullopt;
  const session::DeviceRequest devices = session::request_of(wanted(flags).gpus);
  if (devices.gpus.size() < 2) return std::nullopt;
  return Link{devices,
              bench::measure_all_reduce(devices, devices.on_real_gpus() ? kSummedBytes : kEmulatedBytes, kRepeats)};
}

std::vector<int> peers_of(const backend::GpuFacts& gpu, const std::vector<backend::GpuFacts>& all) {
  std::vector<int> peers;
  for (const backend::GpuFacts& other : all)
    if (other.id != gpu.id && backend::gpus_are_peers(gpu.id, other.id)) peers.push_back(other.id);
  return peers;
}

Json json_of(const backend::DeviceInfo& cpu) {
  const backend::CpuLimits& limits = backend::cpu_limits(cpu.cores);
  Json levels = Json::array();
  for (const backend::MemoryLevel& level : limits.levels)
    levels.push_back({{"name", level.name},
                      {"bytes", level.bytes ? Json(*level.bytes) : Json()},
                      {"read_gbps", level.read_gbps},
                      {"update_gbps", level.update_gbps}});
  return {{"id", cpu.id},
          {"name", cpu.name},
          {"details", cpu.details},
          {"cores", cpu.cores},
          {"memory_bytes", cpu.memory_bytes},
          {"peak_gflops_per_core", cpu.peak_gflops},
          {"peak_gflops", limits.peak_gflops},
          {"bfloat16_products", cpu.bfloat16.empty() ? Json() : Json(cpu.bfloat16)},
          {"levels", levels}};
}

/// "2 threads at once: 236 GFLOP/s; GB/s read, updated: L1 96 KiB 800, 700; memory 40.1, 36.2".
std::string limits_line(const backend::CpuLimits& limits) {
  std::vector<std::string> levels;
  for (const backend::MemoryLevel& level : limits.levels)
    levels.push_back(fmt::format("{}{} {}, {}", level.name, level.bytes ? " " + human_bytes(*level.bytes) : "",
                                 rate_text(level.read_gbps), rate_text(level.update_gbps)));
  return fmt::format("{} at once: {:.0f} GFLOP/s; {}", counted(limits.threads, "thread"), limits.peak_gflops,
                     levels.empty() ? "the system reports no sizes of caches, so their rates are not measured"
                                    : "GB/s read, updated: " + join(levels, "; "));
}

Json json_of(const backend::GpuFacts& gpu, const std::vector<backend::GpuFacts>& all) {
  Json out{{"id", fmt::format("gpu:{}", gpu.id)},
           {"name", gpu.name},
           {"bus_id", gpu.bus_id},
           {"compute_capability", gpu.compute_capability},
           {"memory_bytes", gpu.memory_bytes},
           {"peers", peers_of(gpu, all)}};
  if (gpu.has_used_bytes) out["used_bytes"] = gpu.used_bytes;
  return out;
}

void print_json(const std::vector<backend::GpuFacts>& gpus, const std::optional<Link>& link) {
  Json list = Json::array();
  for (const backend::DeviceInfo& info : backend::list_cpu()) list.push_back(json_of(info));
  for (const backend::GpuFacts& gpu : gpus) list.push_back(json_of(gpu, gpus));
  const backend::GpuLibraries libraries = backend::gpu_libraries();
  Json out{{"devices", list},
           {"cuda", session::build_info().library("cuda")},
           {"driver", libraries.driver},
           {"cudnn", libraries.cudnn},
           {"nccl", libraries.nccl},
           {"no_gpu", backend::why_no_gpu()}};
  if (link)
    out["all_reduce"] = {{"replicas", link->devices.replicas},
                         {"bytes", link->speed.bytes},
                         {"seconds", link->speed.seconds},
                         {"algorithm_gbps", link->speed.algorithm_gbps()},
                         {"bus_gbps", link->speed.bus_gbps(link->devices.replicas)}};
  log::print(out.dump(2));
}

std::string gpu_line(const backend::GpuFacts& gpu, const std::vector<backend::GpuFacts>& all) {
  std::vector<std::string> peers;
  for (const int id : peers_of(gpu, all)) peers.push_back(std::to_string(id));
  return fmt::format(
      "gpu:{:<2}{}; {}, {}{}, compute capability {}{}", gpu.id, gpu.name, gpu.bus_id, human_bytes(gpu.memory_bytes),
      gpu.has_used_bytes ? fmt::format(" ({} in use)", human_bytes(gpu.used_bytes)) : "", gpu.compute_capability,
      all.size() < 2  ? ""
      : peers.empty() ? ", no peer access"
                      : ", peer access to " + join(peers, ", "));
}

void print_devices(const std::vector<backend::GpuFacts>& gpus, const std::optional<Link>& link) {
  for (const backend::DeviceInfo& info : backend::list_cpu()) {
    print_fitted(fmt::format("{:<6}{}; {}", info.id, info.name, info.details));
    print_fitted(fmt::format("{:<6}{}", "", limits_line(backend::cpu_limits(info.cores))));
  }
  for (const backend::GpuFacts& gpu : gpus) print_fitted(gpu_line(gpu, gpus));
  if (gpus.empty()) print_fitted(fmt::format("{:<6}none: {}", "gpu", backend::why_no_gpu()));
  const backend::GpuLibraries libraries = backend::gpu_libraries();
  std::vector<std::string> versions;
  for (const auto& [name, version] :
       {std::pair{"driver for CUDA", libraries.driver}, std::pair{"built with CUDA", libraries.cuda},
        std::pair{"cuDNN", libraries.cudnn}, std::pair{"NCCL", libraries.nccl}})
    if (!version.empty()) versions.push_back(fmt::format("{} {}", name, version));
  if (!versions.empty()) print_fitted(fmt::format("{:<6}{}", "", join(versions, ", ")));
  for (const std::string& sentence : libraries.missing) print_fitted(fmt::format("{:<6}{}", "", sentence));
  if (link)
    print_fitted(fmt::format(
        "{:<6}all-reduce of {} over {} replicas ({}): {:.3f} ms, {:.1f} GB/s, {:.1f} GB/s on the bus", "",
        human_bytes(link->speed.bytes), link->devices.replicas, session::short_name(link->devices),
        link->speed.seconds * 1e3, link->speed.algorithm_gbps(), link->speed.bus_gbps(link->devices.replicas)));
}

int check(const DevicesFlags& flags) {
  const session::DeviceRequest devices = wanted(flags);
  if (devices.gpus.empty()) throw Error(ErrorKind::kDevice, fmt::format("nothing to check: {}", backend::why_no_gpu()));
  const Stopwatch watch;
  Json lines = Json::array();
  int failed = 0, count = 0;
  bench::check_devices(devices, bench::device_checks(), [&](const bench::DeviceCheckLine& line) {
    ++count;
    failed += line.passed ? 0 : 1;
    if (flags.json)
      lines.push_back({{"device", line.device},
                       {"name", line.name},
                       {"passed", line.passed},
                       {"found", line.found},
                       {"seconds", line.seconds}});
    else
      print_fitted(
          fmt::format("{}  {:<44} {}  {}", line.device, line.name, line.passed ? "ok    " : "FAILED", line.found));
  });
  if (flags.json)
    log::print(Json{{"checks", lines}, {"failed", failed}, {"seconds", watch.seconds()}}.dump(2));
  else
    print_fitted(
        failed == 0
            ? fmt::format("{} passed in {}", counted(count, "check"), duration_text(watch.seconds()))
            : fmt::format("{} of {} checks FAILED, in {}; please report these lines with those of dptrain devices "
                          "and dptrain --version",
                          failed, count, duration_text(watch.seconds())));
  return failed == 0 ? 0 : static_cast<int>(ErrorKind::kCheck);
}

/// Measures messages between processes with the sums that CPU replicas use for gradients.
int measure_messages(const DevicesFlags& flags, distributed::Processes& processes) {
  const bench::LinkSpeed few = bench::measure_all_reduce(processes, kFewBytes, kMessageRepeats);
  const bench::LinkSpeed many = bench::measure_all_reduce(processes, kManyBytes, kMessageRepeats);
  const bench::MessageLink link = bench::message_link(few, many, processes.count());
  const auto sum = [](const bench::LinkSpeed& speed) {
    return Json{{"bytes", speed.bytes}, {"seconds", speed.seconds}};
  };
  if (!processes.is_first()) return 0;
  if (flags.json)
    log::print(Json{{"messages",
                     {{"processes", processes.count()},
                      {"machines", processes.hosts()},
                      {"bytes_per_second", link.bytes_per_second},
                      {"latency_seconds", link.latency},
                      {"sums", {sum(few), sum(many)}}}}}
                   .dump(2));
  else
    print_fitted(fmt::format(
        "messages between {} processes on {}: {:.2f} GB/s, latency {:.1f} us; a sum of {} "
        "takes {:.3f} ms, of {} {:.3f} ms",
        processes.count(), counted(processes.hosts(), "machine"), link.bytes_per_second * 1e-9, link.latency * 1e6,
        human_bytes(few.bytes), few.seconds * 1e3, human_bytes(many.bytes), many.seconds * 1e3));
  return 0;
}

int run(const DevicesFlags& flags, distributed::Processes* processes) {
  if (processes != nullptr && processes->count() > 1 && flags.p2p && !flags.check && !flags.gpus)
    return measure_messages(flags, *processes);
  if (processes != nullptr && !processes->is_first()) return 0;  // only the first process prints
  if (flags.check && flags.p2p)
    throw Error(ErrorKind::kUsage, "devices: --check measures the sums over GPUs, too; remove --p2p");
  if (flags.check) return check(flags);
  if (flags.gpus && !flags.p2p)
    throw Error(ErrorKind::kUsage, "devices: --gpus needs --check or --p2p; add one of them");
  const std::vector<backend::GpuFacts> gpus = backend::gpu_facts();
  const std::optional<Link> link = measure(flags);
  flags.json ? print_json(gpus, link) : print_devices(gpus, link);
  if (flags.p2p && !link) log::info("--p2p needs two GPUs or more");
  return 0;
}

}  // namespace

void add_devices(App& app) {
  const auto flags = std::make_shared<DevicesFlags>();
  Command& command = app.command("devices", "processors and GPUs that can train");
  command.describe(
      "Lists processors and GPUs, the versions of the driver, cuDNN and NCCL, and which GPUs reach each other's "
      "memory. Nothing is allocated on a GPU without --check or --p2p.");
  command.section("Check").flag(
      "--check", flags->check,
      "compare everything that the GPUs compute with the CPU, a line each (exit 7 when something differs)");
  command.section("Measurement")
      .flag("--p2p", flags->p2p,
            "measure the sum of gradients over the GPUs (needs two or more); in several processes that of CPU replicas "
            "over them")
      .option("--gpus", "IDS", flags->gpus, "the GPUs to check or to measure (all)");
  command.section("Output").flag("--json", flags->json, "as JSON");
  command.run([flags](const Context&) {
    return run_processes([&](distributed::Processes* processes) { return run(*flags, processes); });
  });
}

}  // namespace dptrain::cli
