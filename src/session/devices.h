#pragma once

// Which devices a session runs on: what was asked for, the devices made from it, and what connects their replicas. Main
// thread.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "experiment/sections.h"
#include "mpi/processes.h"
#include "reduce/bucket_sum.h"
#include "replica/replica_set.h"

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
  std::vector<std::vector<int>> cpus{};  ///< that each CPU replica is held to; empty: wherever the system puts it
  int threads = 0;                  ///< of each CPU replica, all its slots together; 0: cores / replicas, at least 1
  std::vector<GpuId> gpus{};        ///< replica by replica; empty: the CPU
  std::string paper{};              ///< a GPU that is not there ("h100", "h200"), for plans alone
  int slots = 1;                    ///< devices of each replica
  std::vector<int> slot_threads{};  ///< of each slot of a CPU replica; empty: it has one, with all threads
  bool grouped = false;             ///< which GPUs are a replica has been said; else place_slots() says it
  std::vector<std::pair<std::string, int>> places{};  ///< `--slots a=0,b=1`: which device of its replica a slot is
  /// Per device of a replica the config's slots that are there, as plan::PlanOptions::slots; by place_slots().
  std::vector<std::vector<std::string>> placement{};

  bool on_gpus() const { return !gpus.empty() || !paper.empty(); }
  bool on_real_gpus() const { return !gpus.empty() && gpus.front().kind == backend::DeviceKind::kCuda; }
};
DeviceRequest request_of(std::vector<GpuId> gpus);
/// `--cpus auto`: a replica for each group of cores that share the last level of the caches, held to them.
DeviceRequest by_topology();

/// The same with the number of threads worked out, where `sharers` processes share the cores.
DeviceRequest with_threads(DeviceRequest request, int sharers = 1);

/// "2x1", "2x1+1"; "1 gpu", "2 gpu", "2 on 1 gpu", "1x2 gpu" (or emu): what a row of a table is about, whichever the
/// ids.
std::string short_name(const DeviceRequest& request);

/// PlanOptions::compute: CPUs keep activations in float32 whatever the policy, and round what they multiply.
DType compute_type(experiment::DtypePolicy policy, const DeviceRequest& request);
/// PlanOptions::bucket_bytes. On CPUs it follows the network where the config says nothing: over slow links small
/// buckets overlap with backward, and sums have the same bits in all; GPUs' launches are worth more.
std::optional<std::uint64_t> bucket_bytes(const experiment::ParallelSection& parallel, const DeviceRequest& request);

/// Throws Error{kUsage} where gradients are to be exchanged in another type than float32 (parallel.allreduce_dtype) and
/// the replicas, `ranks` of all processes, do not exchange them over NCCL. Of one replica nothing is exchanged.
void check_allreduce_dtype(const DeviceRequest& request, const experiment::ParallelSection& parallel, int ranks);

/// PlanOptions::tables_from in training; none where the optimizer wants whole gradients.
std::optional<std::int64_t> tables_from(const experiment::TrainSection& train, const DeviceRequest& request);
/// `conv_choices`: session/conv_cache.h; null: convolutions by rule. `training`: what `runtime.autotune: auto` is
/// about, for many steps pay for a measurement that a single pass would not.
backend::RuntimeOptions runtime_options(const experiment::ConfigFile& config,
                                        std::shared_ptr<backend::ConvChoices> conv_choices = nullptr,
                                        bool training = false);

/// One per slot of each replica. Throws Error{kUsage} for GPUs beside emulated ones, Error{kDevice} for
/// what is not there or cannot run the config's `dtype_policy`.
std::vector<std::unique_ptr<backend::Device>> make_devices(const DeviceRequest& request,
                                                           const backend::RuntimeOptions& options);
/// The one that a slot of a replica runs on, as make_devices makes it; a GPU on paper too.
std::unique_ptr<backend::Device> make_device(const DeviceRequest& request, int rank,
                                             const backend::RuntimeOptions& options, int slot = 0);

/// In this process for the CPU, for one replica, for the emulator and for replicas on one GPU; NCCL for several GPUs,
/// of which some may have several replicas.
std::unique_ptr<replica::Connector> make_connector(const DeviceRequest& request,
                                                   const experiment::ParallelSection& parallel, bool deterministic);

/// Of several processes. Throws Error{kUsage} for devices that cannot be connected over them.
std::unique_ptr<replica::Connector> make_connector(const DeviceRequest& request,
                                                   const experiment::ParallelSection& parallel, bool deterministic,
                                                   const reduce::Seats& seats, mpi::Processes& processes);

/// The most replicas, or slots of them, that one GPU holds; at least 1.
std::uint64_t sharers_of_a_gpu(const DeviceRequest& request);

/// Bytes that one replica can have: the device's free memory, shared with the replicas that lie in the same memory. 0:
/// unknown.
std::uint64_t memory_share(const DeviceRequest& request, const backend::Device& device);

}  // namespace dptrain::session
