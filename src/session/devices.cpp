#include "session/devices.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"
#include "core/text.h"
#include "distributed/connector.h"
#include "distributed/nccl_connector.h"
#include "nn/optimizer.h"

namespace dptrain::session {
namespace {

using backend::DeviceKind;

bool all_the_same(const std::vector<GpuId>& gpus) {
  return std::all_of(gpus.begin(), gpus.end(), [&](const GpuId& gpu) { return gpu == gpus.front(); });
}

bool emulated(const GpuId& gpu) { return gpu.kind == DeviceKind::kEmu; }

std::string names(const std::vector<GpuId>& gpus) {
  std::vector<std::string> all;
  for (const GpuId& gpu : gpus) all.push_back(gpu.name());
  return join(all, ", ");
}

/// First GPU of each replica, which communicates with the other replicas.
std::vector<GpuId> primary_gpus(const DeviceRequest& request) {
  std::vector<GpuId> all;
  for (std::size_t i = 0; i < request.gpus.size(); i += static_cast<std::size_t>(request.slots))
    all.push_back(request.gpus[i]);
  return all;
}

/// Number of different GPUs.
std::size_t distinct(const std::vector<GpuId>& gpus) {
  std::set<int> ids;
  for (const GpuId& gpu : gpus) ids.insert(gpu.id);
  return ids.size();
}

/// Throws if real and emulated GPUs are mixed.
void check_connectable(const DeviceRequest& request) {
  const bool emulator = std::any_of(request.gpus.begin(), request.gpus.end(), emulated);
  if (emulator && !std::all_of(request.gpus.begin(), request.gpus.end(), emulated))
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: replicas run on GPUs or on the emulator, not on both", names(request.gpus)));
}

}  // namespace

std::string GpuId::name() const { return fmt::format("{}:{}", kind == DeviceKind::kEmu ? "emu" : "gpu", id); }

DeviceRequest request_of(std::vector<GpuId> gpus) {
  DeviceRequest request{.replicas = static_cast<int>(gpus.size()), .threads = 1};
  request.gpus = std::move(gpus);
  return request;
}

DeviceRequest by_topology() {
  machine::Layout layout = machine::layout_of(machine::core_groups(), machine::cpus());
  if (layout.cpus.empty()) return {};  // the system does not report its CPUs
  DeviceRequest request{.replicas = static_cast<int>(layout.cpus.size()), .threads = layout.threads};
  request.cpus = std::move(layout.cpus);
  return request;
}

DeviceRequest with_threads(DeviceRequest request, int sharers) {
  const int cores = machine::cpus();
  if (request.on_gpus()) request.threads = 1;  // the replica's host thread
  if (!request.slot_threads.empty())
    request.threads = std::accumulate(request.slot_threads.begin(), request.slot_threads.end(), 0);
  if (request.threads == 0) request.threads = std::max(1, cores / (request.replicas * sharers));
  return request;
}

std::string short_name(const DeviceRequest& request) {
  if (!request.plan_only_gpu.empty()) return request.plan_only_gpu;
  if (!request.on_gpus() && request.slots > 1) {
    std::vector<std::string> threads;
    for (const int one : request.slot_threads) threads.push_back(std::to_string(one));
    return fmt::format("{}x{}", request.replicas, join(threads, "+"));
  }
  if (!request.on_gpus()) return fmt::format("{}x{}", request.replicas, request.threads);
  const char* what = emulated(request.gpus.front()) ? "emu" : "gpu";
  if (request.slots > 1) return fmt::format("{}x{} {}", request.replicas, request.slots, what);
  const std::size_t gpus = distinct(request.gpus);
  return gpus < request.gpus.size() ? fmt::format("{} on {} {}", request.replicas, gpus, what)
                                    : fmt::format("{} {}", request.replicas, what);
}

namespace {

DType type_of(experiment::DtypePolicy policy) {
  switch (policy) {
    case experiment::DtypePolicy::kFloat32: return DType::kF32;
    case experiment::DtypePolicy::kMixedBfloat16: return DType::kBf16;
    case experiment::DtypePolicy::kMixedFloat16: return DType::kF16;
  }
  return DType::kF32;
}

}  // namespace

DType compute_type(experiment::DtypePolicy policy, const DeviceRequest& request) {
  return request.on_gpus() ? type_of(policy) : DType::kF32;
}

std::optional<std::int64_t> tables_from(const experiment::TrainSection& train, const DeviceRequest& request) {
  // Updating a smaller table as a whole is faster than finding the rows that were read.
  constexpr std::int64_t kFloats = std::int64_t{1} << 16;
  if (compute_type(train.dtype_policy, request) != DType::kF32 || !nn::is_elementwise(train.optimizer))
    return std::nullopt;
  return kFloats;
}

std::optional<std::uint64_t> bucket_bytes(const experiment::ParallelSection& parallel, const DeviceRequest& request) {
  constexpr std::uint64_t kOnGpus = 25U << 20;
  if (parallel.bucket_size) return parallel.bucket_size->bytes;
  return request.on_gpus() || !request.plan_only_gpu.empty() ? std::optional(kOnGpus) : std::nullopt;
}

void check_allreduce_dtype(const DeviceRequest& request, const experiment::ParallelSection& parallel, int ranks) {
  if (parallel.allreduce_dtype == experiment::AllreduceDtype::kFloat32 || ranks == 1) return;
  const auto refuse = [&](const std::string& where) {
    throw Error(ErrorKind::kUsage, fmt::format("parallel.allreduce_dtype: bfloat16 is for GPUs that exchange gradients "
                                               "over NCCL, but {} replicas {} add float32 in place; remove the key",
                                               ranks, where));
  };
  if (!request.on_gpus()) refuse("on CPUs");
  const std::vector<GpuId> gpus = primary_gpus(request);
  if (emulated(gpus.front())) refuse("on the emulator");
  if (ranks == request.replicas && all_the_same(gpus)) refuse("on one GPU");
}

backend::RuntimeOptions runtime_options(const experiment::ConfigFile& config,
                                        std::shared_ptr<backend::ConvChoices> conv_choices, bool training) {
  const experiment::Autotune autotune = config.runtime.autotune;
  return {.conv = config.runtime.conv,
          .compute = type_of(config.train.dtype_policy),
          .deterministic = config.runtime.deterministic,
          .tf32 = config.runtime.tf32,
          .workspace_limit = config.runtime.workspace_limit.bytes,
          .autotune = autotune == experiment::Autotune::kTime || (autotune == experiment::Autotune::kAuto && training),
          .bn_unbiased_running_var = config.runtime.bn_unbiased_running_var,
          .cudnn_attention = config.runtime.cudnn_attention,
          .conv_choices = std::move(conv_choices),
          .any_threads = config.parallel.virtual_shards.has_value()};
}

std::unique_ptr<backend::Device> make_device(const DeviceRequest& request, int rank,
                                             const backend::RuntimeOptions& options, int slot) {
  const int index = rank * request.slots + slot;
  if (!request.plan_only_gpu.empty()) return backend::make_plan_only_gpu(request.plan_only_gpu, options);
  if (!request.on_gpus()) {
    const bool whole = request.slot_threads.empty();
    return backend::make_cpu_device(
        index, whole ? request.threads : request.slot_threads[static_cast<std::size_t>(slot)], options,
        request.cpus.empty() ? std::vector<int>{} : request.cpus[static_cast<std::size_t>(rank)]);
  }
  const GpuId& gpu = request.gpus[static_cast<std::size_t>(index)];
  return emulated(gpu) ? backend::make_emu_device(gpu.id, options) : backend::make_cuda_device(gpu.id, options);
}

std::vector<std::unique_ptr<backend::Device>> make_devices(const DeviceRequest& request,
                                                           const backend::RuntimeOptions& options) {
  check_connectable(request);
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int rank = 0; rank < request.replicas; ++rank)
    for (int slot = 0; slot < request.slots; ++slot) devices.push_back(make_device(request, rank, options, slot));
  return devices;
}

namespace {

std::vector<int> ids_of(const std::vector<GpuId>& gpus) {
  std::vector<int> ids;
  for (const GpuId& gpu : gpus) ids.push_back(gpu.id);
  return ids;
}

distributed::NcclOptions nccl_options(const experiment::ParallelSection& parallel, bool deterministic) {
  return {.deterministic = deterministic,
          .tree_order = parallel.virtual_shards.has_value(),
          .sums_in_bfloat16 = parallel.allreduce_dtype == experiment::AllreduceDtype::kBfloat16,
          .watchdog_seconds = parallel.watchdog.value};
}

}  // namespace

std::unique_ptr<runtime::Connector> make_connector(const DeviceRequest& request,
                                                   const experiment::ParallelSection& parallel, bool deterministic) {
  check_connectable(request);
  if (request.replicas == 1 || !request.on_gpus()) return distributed::make_local(request.replicas);
  const std::vector<GpuId> gpus = primary_gpus(request);
  if (emulated(gpus.front()) || all_the_same(gpus)) return distributed::make_local_streams(request.replicas);
  const distributed::NcclOptions options = nccl_options(parallel, deterministic);
  if (distinct(gpus) == gpus.size()) return distributed::make_nccl(ids_of(gpus), options);
  if (options.tree_order)
    throw Error(ErrorKind::kUsage,
                fmt::format("parallel.virtual_shards: {}: use a GPU for each replica, as in 0,1, or one for "
                            "all, as in 0,0",
                            names(gpus)));
  return distributed::make_shared_gpus(ids_of(gpus), options);
}

std::unique_ptr<runtime::Connector> make_connector(const DeviceRequest& request,
                                                   const experiment::ParallelSection& parallel, bool deterministic,
                                                   const distributed::RankLayout& rank_layout,
                                                   distributed::Processes& processes) {
  check_connectable(request);
  if (!request.on_gpus()) return distributed::make_processes(rank_layout, processes);
  if (emulated(request.gpus.front()))
    throw Error(
        ErrorKind::kUsage,
        fmt::format("{}: the emulator's devices are in one process; start it without a launcher", names(request.gpus)));
  return distributed::make_nccl(ids_of(primary_gpus(request)), nccl_options(parallel, deterministic),
                                {rank_layout, processes});
}

std::uint64_t max_slots_per_gpu(const DeviceRequest& request) {
  std::ptrdiff_t most = 1;
  for (const GpuId& gpu : request.gpus) most = std::max(most, std::ranges::count(request.gpus, gpu));
  return static_cast<std::uint64_t>(most);
}

std::uint64_t memory_share(const DeviceRequest& request, const backend::Device& device) {
  if (!request.on_gpus()) return backend::cpu_memory_available() / static_cast<std::uint64_t>(request.replicas);
  if (request.gpus.empty()) return 0;
  return device.memory_available() / max_slots_per_gpu(request);
}

}  // namespace dptrain::session
