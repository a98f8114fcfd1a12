#pragma once

// The devices of a session: the request, the devices made from it, and the connection between their replicas. Main
// thread.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/runtime_options.h"
#include "experiment/sections.h"

namespace dptrain::backend {
class Device;
}
namespace dptrain::distributed {
class Processes;
struct RankLayout;
}  // namespace dptrain::distributed
namespace dptrain::runtime {
class Connector;
}

namespace dptrain::session {

/// A real GPU (kCuda), or one of the emulator (kEmu).
struct GpuId {
  backend::DeviceKind kind = backend::DeviceKind::kCuda;
  int id = 0;
  bool operator==(const GpuId&) const = default;

  std::string name() const;  ///< "gpu:0", "emu:1"
};

/// `--cpus N[xT]`, or GPUs: one for each slot of each replica.
struct DeviceRequest {
  int replicas = 1;
  std::vector<std::vector<int>> cpus{};  ///< cores to which each CPU replica is bound; empty: not bound
  int threads = 0;                  ///< threads of each CPU replica in all its slots; 0: cores / replicas, at least 1
  std::vector<GpuId> gpus{};        ///< replica by replica; empty: the CPU
  std::string plan_only_gpu{};      ///< a GPU model to plan for without the device ("h100", "h200")
  int slots = 1;                    ///< devices of each replica
  std::vector<int> slot_threads{};  ///< threads of each slot of a CPU replica; empty: one slot with all threads
  bool grouped = false;             ///< the user has grouped the GPUs into replicas; otherwise place_slots() does
  std::vector<std::pair<std::string, int>> places{};  ///< `--slots a=0,b=1`: device index of each slot in its replica
  /// Per device of a replica: its slots from the config, as in plan::PlanOptions::slots. Set by place_slots().
  std::vector<std::vector<std::string>> placement{};

  bool on_gpus() const { return !gpus.empty() || !plan_only_gpu.empty(); }
  bool on_real_gpus() const { return !gpus.empty() && gpus.front().kind == backend::DeviceKind::kCuda; }
};
DeviceRequest request_of(std::vector<GpuId> gpus);
/// `--cpus auto`: one replica per group of cores that share the last-level cache, bound to these cores.
DeviceRequest by_topology();

/// Returns the request with the number of threads resolved, if `sharers` processes share the cores.
DeviceRequest with_threads(DeviceRequest request, int sharers = 1);

/// Names a row of a table, without ids: "2x1", "2x1+1"; "1 gpu", "2 gpu", "2 on 1 gpu", "1x2 gpu" (or emu).
std::string short_name(const DeviceRequest& request);

/// PlanOptions::compute. CPUs keep activations in float32 with every policy and round the factors of products.
DType compute_type(experiment::DtypePolicy policy, const DeviceRequest& request);
/// PlanOptions::bucket_bytes. On CPUs the default depends on the network, because small buckets overlap with backward
/// on slow links. On GPUs the cost of launches favours larger buckets. Every size gives the same bits on CPUs.
std::optional<std::uint64_t> bucket_bytes(const experiment::ParallelSection& parallel, const DeviceRequest& request);

/// Throws Error{kUsage} if parallel.allreduce_dtype is not float32 and the replicas do not use NCCL. `ranks`: replicas
/// of all processes. A single replica exchanges nothing.
void check_allreduce_dtype(const DeviceRequest& request, const experiment::ParallelSection& parallel, int ranks);

/// PlanOptions::tables_from in training; empty if the optimizer needs whole gradients.
std::optional<std::int64_t> tables_from(const experiment::TrainSection& train, const DeviceRequest& request);
/// `conv_choices`: session/conv_cache.h; null: convolutions by rule. `training`: decides `runtime.autotune: auto`,
/// because many steps repay a measurement and a single pass does not.
backend::RuntimeOptions runtime_options(const experiment::ConfigFile& config,
                                        std::shared_ptr<backend::ConvChoices> conv_choices = nullptr,
                                        bool training = false);

/// One per slot of each replica. Throws Error{kUsage} if real and emulated GPUs are mixed. Throws Error{kDevice} if a
/// device is missing or does not support the config's `dtype_policy`.
std::vector<std::unique_ptr<backend::Device>> make_devices(const DeviceRequest& request,
                                                           const backend::RuntimeOptions& options);
/// The device of one slot of a replica, as made by make_devices; also for a plan-only GPU.
std::unique_ptr<backend::Device> make_device(const DeviceRequest& request, int rank,
                                             const backend::RuntimeOptions& options, int slot = 0);

/// Connects replicas in this process for the CPU, one replica, the emulator, and replicas on one GPU. Uses NCCL for
/// several GPUs, each with one or more replicas.
std::unique_ptr<runtime::Connector> make_connector(const DeviceRequest& request,
                                                   const experiment::ParallelSection& parallel, bool deterministic);

/// For several processes. Throws Error{kUsage} for devices that cannot be connected between processes.
std::unique_ptr<runtime::Connector> make_connector(const DeviceRequest& request,
                                                   const experiment::ParallelSection& parallel, bool deterministic,
                                                   const distributed::RankLayout& rank_layout,
                                                   distributed::Processes& processes);

/// Largest number of replicas or slots on one GPU; at least 1.
std::uint64_t max_slots_per_gpu(const DeviceRequest& request);

/// Bytes available to one replica: free memory of the device, divided among the replicas that share it. 0: unknown.
std::uint64_t memory_share(const DeviceRequest& request, const backend::Device& device);

}  // namespace dptrain::session
