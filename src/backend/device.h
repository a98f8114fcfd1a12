#pragma once

// A device: memory, copies, ops. One object per replica slot ("cpu:0 with 2 threads", "gpu:1"); used from the replica's
// thread after construction. Backends live in backend/cpu and backend/cuda; which of them are built in is CMake's
// choice (a stub file answers "not built in"), never an #ifdef.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "backend/event.h"
#include "backend/op.h"
#include "backend/row_table.h"
#include "backend/update.h"
#include "config/registry.h"
#include "core/dtype.h"
#include "plan/capabilities.h"

namespace dptrain::backend {

enum class DeviceKind { kCpu, kCuda, kEmu };

/// Device memory, zero-filled, page-aligned, touched. Freed with the object.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* data() const noexcept = 0;
  virtual std::size_t bytes() const noexcept = 0;
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data());
  }
};

struct RuntimeOptions;

class Device : public plan::Capabilities {
 public:
  virtual DeviceKind kind() const noexcept = 0;
  virtual std::string name() const = 0;         ///< "cpu:0"
  virtual std::string description() const = 0;  ///< "cpu:0 2 threads, AVX-512"

  /// Makes the calling thread the device's thread (its helpers; current CUDA device). Before anything else on it.
  virtual void enter() = 0;

  /// A stream for collectives is served before others where the device can.
  virtual std::unique_ptr<Stream> make_stream(bool high_priority = false) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Throws Error{kMemory} saying what was asked and what is free.
  virtual std::unique_ptr<Buffer> allocate(std::size_t bytes) = 0;
  /// GPUs: bytes that can still be had, by everybody on the device together. 0: not said. Any thread.
  virtual std::uint64_t memory_available() const { return 0; }
  /// Host memory that copies to and from the device need not wait for (page-locked); zero-filled.
  virtual std::unique_ptr<Buffer> allocate_host(std::size_t bytes) = 0;
  /// The same for other threads; may outlive the device. Empty where ordinary memory does as well.
  virtual std::function<std::shared_ptr<void>(std::size_t bytes)> host_allocator() const { return {}; }
  /// Queued. Memory of allocate_host may change when the stream has passed the copy, other memory when the call
  /// returns.
  virtual void copy_to_device(void* destination, const void* host, std::size_t bytes, Stream& stream) = 0;
  virtual void copy_to_host(void* host, const void* source, std::size_t bytes,
                            Stream& stream) = 0;  ///< complete on return
  /// Queued; memory of allocate_host holds the bytes when the stream has passed the copy.
  virtual void queue_to_host(void* host, const void* source, std::size_t bytes, Stream& stream) {
    copy_to_host(host, source, bytes, stream);
  }
  /// Queued; both on this device. A whole number of floats.
  virtual void copy(void* destination, const void* source, std::size_t bytes, Stream& stream);
  /// Queued on a stream of this device; any number of bytes, and the source may be another device's of the same kind,
  /// whose work on it the stream waits for already.
  virtual void copy_between(void* destination, const void* source, std::size_t bytes, Stream& stream) = 0;
  virtual const RuntimeOptions& options() const noexcept = 0;
  /// Its memory is the host's (CPU): ops may read host batches in place, else the replica stages them; and the host may
  /// write to buffers in place while nothing is queued.
  virtual bool reads_host_memory() const noexcept = 0;
  /// enter() holds the thread, and those that it starts, to CPUs of the device's: not for a thread that has other work.
  virtual bool binds_threads() const noexcept { return false; }

  /// From the op table; throws Error{kInternal} naming layer and device where a layer has no op.
  std::unique_ptr<Op> make_op(const OpContext& context);
  /// From the table of losses (loss_table.h), without its metrics, which measured_loss() puts beside it. Throws
  /// Error{kInternal} where the device has no such loss.
  virtual std::unique_ptr<LossOp> make_loss(const LossContext& context);
  virtual std::unique_ptr<Update> make_update(const UpdateContext& context) = 0;
  /// Of a parameter of kind kTable. Throws Error{kInternal} on devices whose ops read no rows.
  virtual std::unique_ptr<RowTable> make_row_table(const RowTableContext& context);

  // Flat passes over floats.
  virtual void fill(float* x, std::int64_t n, float value, Stream& stream) = 0;
  virtual void accumulate(void* y, const void* x, DType type, std::int64_t n, Stream& stream) = 0;  ///< y += x
  /// *gradient becomes NaN where *value is infinite or NaN. Queued.
  virtual void taint(const double* value, float* gradient, Stream& stream) = 0;
  /// *valid += the ones among n bytes that are 1 or 0. Queued.
  virtual void count_valid(const std::uint8_t* mask, std::int64_t n, double* valid, Stream& stream) = 0;
  /// *scale = positions / (the sum of ranks counts, `stride` doubles apart, + plan::kMaskEpsilon). Queued.
  virtual void mask_scale(const double* valid, int ranks, std::int64_t stride, double positions, float* scale,
                          Stream& stream) = 0;
  /// Values = the activation that a loss has taken over, applied to logits [rows, classes] of the type. Queued.
  virtual void apply_fused(plan::LossStep::Fusion fusion, const void* logits, DType type, std::int64_t rows,
                           std::int64_t classes, float* values, Stream& stream) = 0;
  /// Between float and another number type.
  virtual void from_float(const float* x, void* y, DType type, std::int64_t n, Stream& stream) = 0;
  virtual void to_float(const void* x, DType type, float* y, std::int64_t n, Stream& stream) = 0;
  /// Floats [begin, end) of every arena become their sum over all arenas, in the order of kernels/sum_tree.h. For
  /// arenas in one memory.
  virtual void sum_ranks(const std::vector<float*>& arenas, std::int64_t begin, std::int64_t end, Stream& stream) = 0;
  /// What `work` queues on the stream, recorded to be replayed as one launch; null where the device has no such thing,
  /// and then nothing was run.
  virtual std::unique_ptr<Recording> record(Stream& stream, const std::function<void()>& work) = 0;
  /// 64-bit hash of the bits; equal bits, equal hash, on devices of one kind.
  virtual std::uint64_t hash(const float* x, std::int64_t n, Stream& stream) = 0;

  // What the plan asks: answered by the op table (OpTraits).
  std::optional<plan::TailFusion> fuses(const plan::Follower& follower) const override;
  bool undoes(const plan::Step& reader, const plan::TailEntry& last) const override;
  std::vector<int> weight_order(const config::Typed& layer, std::size_t weight) const override;
  bool reads_rows(const config::Typed& layer, std::size_t weight) const override;
};

using OpFactory = std::function<std::unique_ptr<Op>(const OpContext&, Device&)>;

/// A kind of layer that an op computes behind its own where `answer` says so (plan::Capabilities::fuses).
struct FusionClaim {
  std::type_index layer;
  std::function<std::optional<plan::TailFusion>(const plan::Follower&, const Device&)> answer;
};
/// `answer` takes (const Spec& of the layer behind, const plan::Follower&, const Device&).
template <class Spec, class F>
FusionClaim fuses(F answer) {
  return {typeid(Spec), [answer](const plan::Follower& follower, const Device& device) {
            return std::optional<plan::TailFusion>(answer(follower.layer.as<Spec>(), follower, device));
          }};
}

/// A kind of layer, last in the tail of what an op reads, that the op's backward goes back through where `answer` says
/// so (plan::Capabilities::undoes).
struct UndoClaim {
  std::type_index layer;
  std::function<bool(const plan::Step& reader, const plan::TailEntry& last)> answer;
};

/// What an op says to the plan.
struct OpTraits {
  std::vector<FusionClaim> fuses{};
  std::vector<UndoClaim> undoes{};
  /// Parameter::order of each weight, in Keras's order of the weights; empty or left out: as Keras has it.
  std::vector<std::vector<int>> weight_orders{};
  /// The first weight is read by row, through OpArgs::tables where it is a table.
  bool reads_rows = false;
  /// Instead, of a layer that wraps another, whose op says it.
  std::function<std::vector<int>(const Device&, const config::Typed& layer, std::size_t weight)> weight_order_of{};
};

/// What the devices of a kind have for members of a family, by the type of the member's spec.
template <class Entry>
using DeviceRegistry = config::Registry<std::pair<DeviceKind, std::type_index>, Entry>;

/// A static object of this type adds an entry before main.
template <auto registry>
struct DeviceRegistration {
  template <class Entry>
  DeviceRegistration(DeviceKind kind, std::type_index spec, Entry entry) {
    registry().add({kind, spec}, std::move(entry));
  }
};

struct OpEntry {
  OpFactory factory;
  OpTraits traits;
};
DeviceRegistry<OpEntry>& op_registry();
bool has_op(DeviceKind kind, std::type_index spec);
/// Null where there is no such op.
const OpTraits* op_traits(DeviceKind kind, std::type_index spec);

/// `const RegisteredOp kCpuMaxPooling2D = op<MaxPooling2DSpec, MaxPooling2DOp>(DeviceKind::kCpu, {.undoes = {relu}});`
/// The op's constructor takes (const Spec&, const OpContext&, Device&).
using RegisteredOp = DeviceRegistration<op_registry>;
template <class Spec, class OpType>
RegisteredOp op(DeviceKind kind, OpTraits traits = {}) {
  const auto make = [](const OpContext& context, Device& device) -> std::unique_ptr<Op> {
    return std::make_unique<OpType>(context.step.spec.as<Spec>(), context, device);
  };
  return {kind, typeid(Spec), OpEntry{make, std::move(traits)}};
}

/// How convolutions are chosen (`runtime.conv`, --conv): by rule and by what was timed, or the same without Winograd.
enum class ConvChoice { kAuto, kDirect };
class ConvChoices;
/// What ops ask of the config's `runtime` section.
struct RuntimeOptions {
  ConvChoice conv = ConvChoice::kAuto;
  DType compute = DType::kF32;     ///< of activations (train.dtype_policy); a CpuDevice's own options say kF32
  bool bfloat16_products = false;  ///< CPUs, from `compute`: factors rounded to bfloat16, all else float32
  bool deterministic = true;
  bool tf32 = true;                                        ///< GPUs: float32 products may be rounded to TF32
  std::uint64_t workspace_limit = std::uint64_t{1} << 30;  ///< GPUs: bytes of one convolution's workspace
  bool autotune = false;                 ///< GPUs: time convolution engines instead of believing the heuristics
  bool bn_unbiased_running_var = false;  ///< moving variance from N / (N - 1), as tf-keras and cuDNN have it
  /// CPUs: what was timed, and the account of what is taken (backend/conv_choices.h). Null: by rule, without account.
  std::shared_ptr<ConvChoices> conv_choices{};
  bool any_threads = false;  ///< CPUs: the same bits with any number of threads; some gradients then have only one
};

/// One CPU replica slot: `index` is its rank among the CPU replicas, `threads` its threads, `cpus` those that they are
/// held to; empty: wherever the system puts them. Throws Error{kDevice} for what a CPU cannot run.
std::unique_ptr<Device> make_cpu_device(int index, int threads, const RuntimeOptions& options,
                                        std::vector<int> cpus = {});

/// A machine's devices for `dptrain devices`: one line of facts each (cores, ISA in use, memory; GPUs when built in).
struct DeviceInfo {
  std::string id, name, details;
  std::uint64_t memory_bytes = 0;
  int cores = 0;           ///< CPU: that this process may use
  double peak_gflops = 0;  ///< CPU: fp32 multiply-adds times two of one core, measured (takes 20 ms)
  std::string bfloat16{};  ///< CPU: what multiplies bfloat16, "AMX" or "AVX-512 BF16"; "": nothing does
};
std::vector<DeviceInfo> list_cpu();
/// Where the environment keeps oneDNN to an instruction set (ONEDNN_MAX_CPU_ISA), our own kernels stay within it, too.
/// Once, before other threads run.
void limit_cpu_isa();
/// Bytes that can still be had without swapping.
std::uint64_t cpu_memory_available();

/// GPUs in PCI order; none where no backend is built in (cuda_stub.cpp stands for backend/cuda/ then) or no driver
/// answers.
std::vector<DeviceInfo> list_cuda();
/// Throws Error{kDevice} in one sentence: no backend, no driver, no such id.
std::unique_ptr<Device> make_cuda_device(int id, const RuntimeOptions& options);
/// A GPU that is not there, for plans and memory tables on any machine: makes ops, says what they need, runs nothing.
/// `model`: "h100", "h200". Throws Error{kDevice} without a backend or cuDNN.
std::unique_ptr<Device> make_paper_gpu(const std::string& model, const RuntimeOptions& options);
/// The GPU code on the CPU, for tests: kernels in the emulator, streams in seeded random order.
std::unique_ptr<Device> make_emu_device(int id, const RuntimeOptions& options);

}  // namespace dptrain::backend
