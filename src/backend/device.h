#pragma once

// Device: memory, copies and ops of one device. One object per device slot of a replica ("cpu:0 with 2 threads",
// "gpu:1"), used from the slot's thread after construction:
//
//   const auto device = make_cpu_device(0, 2, options);
//   device->enter();
//   const auto stream = device->make_stream();
//   const auto memory = device->allocate(bytes);
//   device->copy_to_device(memory->data(), host, bytes, *stream);
//
// Backends are in backend/cpu, backend/cuda and backend/emu. CMake selects those of a build, without an #ifdef; a stub
// file reports that a backend is not built in.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "backend/op.h"
#include "backend/row_table.h"
#include "backend/runtime_options.h"
#include "backend/stream.h"
#include "backend/update.h"
#include "config/registry.h"
#include "core/dtype.h"
#include "core/poisoning.h"
#include "plan/capabilities.h"

namespace dptrain::backend {

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

  /// Makes the calling thread the device's thread (its helpers; current CUDA device). Call it first on that thread.
  virtual void enter() = 0;
  /// Lets this device access the memory of `other` directly, so that copies between them need no host memory. Returns
  /// whether it can. Any thread.
  virtual bool enable_peer_access(Device& other) { return reads_host_memory() && other.reads_host_memory(); }

  /// high_priority: for collectives; the device runs its work before that of other streams, if supported.
  virtual std::unique_ptr<Stream> make_stream(bool high_priority = false) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Throws Error{kMemory} with the requested and the free memory.
  virtual std::unique_ptr<Buffer> allocate(std::size_t bytes) = 0;
  /// GPUs: free bytes, shared by all processes on the device. 0: unknown. Any thread.
  virtual std::uint64_t memory_available() const { return 0; }
  /// Page-locked host memory, for asynchronous copies to and from the device; zero-filled.
  virtual std::unique_ptr<Buffer> allocate_host(std::size_t bytes) = 0;
  /// An allocator of such memory for other threads; may outlive the device. Empty where ordinary memory suffices.
  virtual std::function<std::shared_ptr<void>(std::size_t bytes)> host_allocator() const { return {}; }
  /// Queued. Memory of allocate_host may change when the stream has passed the copy, other memory when the call
  /// returns.
  virtual void copy_to_device(void* destination, const void* host, std::size_t bytes, Stream& stream) = 0;
  virtual void copy_to_host(void* host, const void* source, std::size_t bytes,
                            Stream& stream) = 0;  ///< complete when it returns
  /// Queued; memory of allocate_host holds the bytes when the stream has passed the copy.
  virtual void queue_to_host(void* host, const void* source, std::size_t bytes, Stream& stream) {
    copy_to_host(host, source, bytes, stream);
  }
  /// Queued; both on this device. A whole number of floats.
  virtual void copy(void* destination, const void* source, std::size_t bytes, Stream& stream);
  /// Queued on a stream of this device. The source may be of another device of the same kind; the stream must wait for
  /// the work that writes it.
  virtual void copy_between(void* destination, const void* source, std::size_t bytes, Stream& stream) = 0;
  /// Queued. In builds with AddressSanitizer, forbids or permits accesses to bytes of a buffer (core/poisoning.h). GPUs
  /// ignore it. The default is for devices that run calls at once.
  virtual void set_poisoned(void* memory, std::size_t bytes, bool poisoned, Stream& stream) {
    static_cast<void>(stream);
    dptrain::set_poisoned(memory, bytes, poisoned);
  }
  virtual const RuntimeOptions& options() const noexcept = 0;
  /// Whether device memory is host memory (CPU). If so, ops may read host batches in place, and the host may write to
  /// buffers while nothing is queued. Else the replica copies batches to the device.
  virtual bool reads_host_memory() const noexcept = 0;
  /// Whether enter() binds the thread, and the threads it starts, to the device's CPUs. Such a thread should have no
  /// other work.
  virtual bool binds_threads() const noexcept { return false; }

  /// From the op table; throws Error{kInternal} naming layer and device where a layer has no op.
  std::unique_ptr<Op> make_op(const OpContext& context);
  /// Without metrics, which measured_loss() adds. Throws Error{kInternal} where the device has no such loss.
  virtual std::unique_ptr<LossOp> make_loss(const LossContext& context);
  virtual std::unique_ptr<Update> make_update(const UpdateContext& context) = 0;
  /// For a parameter of kind kTable. Throws Error{kInternal} on devices whose ops read no rows.
  virtual std::unique_ptr<RowTable> make_row_table(const RowTableContext& context);

  // Flat passes over floats.
  virtual void fill(float* x, std::int64_t n, float value, Stream& stream) = 0;
  virtual void accumulate(void* y, const void* x, DType type, std::int64_t n, Stream& stream) = 0;  ///< y += x
  /// Sets *gradient to NaN if *value is infinite or NaN. Queued.
  virtual void mark_not_finite(const double* value, float* gradient, Stream& stream) = 0;
  /// mask[i] = 1 if labels[i] differs from `ignored`, else 0. Queued.
  virtual void mask_labels(const std::int32_t* labels, std::int64_t n, std::int32_t ignored, std::uint8_t* mask,
                           Stream& stream) = 0;
  /// mask[i] = 0 if the first value of row i of labels [n, width] is negative, else 1. Queued.
  virtual void mask_labels(const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask,
                           Stream& stream) = 0;
  /// *valid += the number of ones in the mask of n bytes, each 0 or 1. Queued.
  virtual void count_valid(const std::uint8_t* mask, std::int64_t n, double* valid, Stream& stream) = 0;
  /// *scale = positions / (the sum of `ranks` counts, `stride` doubles apart, + plan::kMaskEpsilon). Queued.
  virtual void mask_scale(const double* valid, int ranks, std::int64_t stride, double positions, float* scale,
                          Stream& stream) = 0;
  /// values = the activation fused into a loss, applied to logits [rows, classes] of the type. Queued.
  virtual void apply_fused(plan::LossStep::Fusion fusion, const void* logits, DType type, std::int64_t rows,
                           std::int64_t classes, float* values, Stream& stream) = 0;
  /// Between float and another number type.
  virtual void from_float(const float* x, void* y, DType type, std::int64_t n, Stream& stream) = 0;
  virtual void to_float(const void* x, DType type, float* y, std::int64_t n, Stream& stream) = 0;
  /// Floats [begin, end) of every arena become their sum over all arenas, in the order of kernels/sum_tree.h. For
  /// arenas in one memory.
  virtual void sum_ranks(const std::vector<float*>& arenas, std::int64_t begin, std::int64_t end, Stream& stream) = 0;
  /// Records the work that `work` queues on the stream, to be replayed as one launch. Returns null, without running
  /// anything, if the device does not support recording.
  virtual std::unique_ptr<Recording> record(Stream& stream, const std::function<void()>& work) = 0;
  /// 64-bit hash of the bits; equal bits, equal hash, on devices of one kind.
  virtual std::uint64_t hash(const float* x, std::int64_t n, Stream& stream) = 0;

  // plan::Capabilities, from the op table (OpTraits).
  std::optional<plan::TailFusion> fuses(const plan::Follower& follower) const override;
  bool undoes(const plan::Step& reader, const plan::TailEntry& last) const override;
  std::vector<int> weight_order(const config::Typed& layer, std::size_t weight) const override;
  bool reads_rows(const config::Typed& layer, std::size_t weight) const override;
};

using OpFactory = std::function<std::unique_ptr<Op>(const OpContext&, Device&)>;

/// A kind of layer that an op computes after its own where `answer` returns a fusion (plan::Capabilities::fuses).
struct FusionClaim {
  std::type_index layer;
  std::function<std::optional<plan::TailFusion>(const plan::Follower&, const Device&)> answer;
};
/// `answer` takes (const Spec& of the next layer, const plan::Follower&, const Device&).
template <class Spec, class F>
FusionClaim fuses(F answer) {
  return {typeid(Spec), [answer](const plan::Follower& follower, const Device& device) {
            return std::optional<plan::TailFusion>(answer(follower.layer.as<Spec>(), follower, device));
          }};
}

/// A kind of layer, last in the tail of an op's input, whose gradient the op's backward also computes where `answer` is
/// true (plan::Capabilities::undoes).
struct UndoClaim {
  std::type_index layer;
  std::function<bool(const plan::Step& reader, const plan::TailEntry& last)> answer;
};

/// An activation directly after the op's own layer, which backward undoes from the output (Epilogue in
/// ops/activations.h).
FusionClaim fuses_activation();

/// An Add of two equal shapes directly after the op's own layer; the op reads only the other summand. Backward leaves
/// dy as the sum's gradient.
FusionClaim fuses_add();

/// A ReLU directly after the op's own layer or that sum. also_relu6: or a relu6.
FusionClaim fuses_relu_after_add(bool also_relu6 = false);

/// A ReLU before an op whose output is positive exactly where the op passes a gradient through that ReLU.
UndoClaim undoes_relu();

/// Properties of an op that the plan reads.
struct OpTraits {
  std::vector<FusionClaim> fuses{};
  std::vector<UndoClaim> undoes{};
  /// Parameter::order of each weight, in Keras's order of the weights; empty or missing: Keras's order.
  std::vector<std::vector<int>> weight_orders{};
  /// Whether the first weight is read by row, through OpArgs::tables where it is a table.
  bool reads_rows = false;
  /// If set, replaces weight_orders: for layers whose order depends on an inner layer.
  std::function<std::vector<int>(const Device&, const config::Typed& layer, std::size_t weight)> weight_order_of{};
};

/// Registry by kind of device and type of a spec, such as the ops of layers. DeviceRegistration fills it before main.
template <class Entry>
config::Registry<std::pair<DeviceKind, std::type_index>, Entry>& device_registry() {
  static config::Registry<std::pair<DeviceKind, std::type_index>, Entry> registry;
  return registry;
}

template <class Entry>
struct DeviceRegistration {
  DeviceRegistration(DeviceKind kind, std::type_index spec, Entry entry) {
    device_registry<Entry>().add({kind, spec}, std::move(entry));
  }
};

struct OpEntry {
  OpFactory factory;
  OpTraits traits;
};
inline bool has_op(DeviceKind kind, std::type_index spec) { return device_registry<OpEntry>().has({kind, spec}); }
/// Null where there is no such op.
const OpTraits* op_traits(DeviceKind kind, std::type_index spec);

/// `const RegisteredOp kDense = op<nn::DenseSpec, DenseOp>(DeviceKind::kCpu, {.fuses = {fuses_activation()}});`
/// The op's constructor takes (const Spec&, const OpContext&, Device&).
using RegisteredOp = DeviceRegistration<OpEntry>;
template <class Spec, class OpType>
RegisteredOp op(DeviceKind kind, OpTraits traits = {}) {
  const auto make = [](const OpContext& context, Device& device) -> std::unique_ptr<Op> {
    return std::make_unique<OpType>(context.step.spec.as<Spec>(), context, device);
  };
  return {kind, typeid(Spec), OpEntry{make, std::move(traits)}};
}

using LossFactory = std::function<std::unique_ptr<LossOp>(const LossContext&, Device&)>;
inline bool has_loss(DeviceKind kind, std::type_index spec) { return device_registry<LossFactory>().has({kind, spec}); }
using RegisteredLossOp = DeviceRegistration<LossFactory>;

/// The device of a slot of a CPU replica. `index`: number of the slot over all replicas; `cpus`: the CPUs that its
/// threads are bound to (empty: not bound). Throws Error{kDevice} for options that a CPU cannot run.
std::unique_ptr<Device> make_cpu_device(int index, int threads, const RuntimeOptions& options,
                                        std::vector<int> cpus = {});

/// A device of this machine for `dptrain devices`. `details`: one line with cores, instruction set, memory.
struct DeviceInfo {
  std::string id, name, details;
  std::uint64_t memory_bytes = 0;
  int cores = 0;           ///< CPU: available to this process
  double peak_gflops = 0;  ///< CPU: fp32 multiply-adds times two of one core, measured (takes 20 ms)
  std::string bfloat16{};  ///< CPU: instructions for bfloat16 products, "AMX" or "AVX-512 BF16"; "": none
};
std::vector<DeviceInfo> list_cpu();
/// Limits our own kernels to the instruction set of ONEDNN_MAX_CPU_ISA, which limits oneDNN, if it is set. Call it
/// once, before other threads run.
void limit_cpu_isa();
/// Bytes that can be allocated without swapping.
std::uint64_t cpu_memory_available();

/// GPUs in PCI order. Empty if no backend is built in (cuda_stub.cpp) or there is no working driver.
std::vector<DeviceInfo> list_cuda();
/// Throws Error{kDevice} if there is no backend, no driver or no such id.
std::unique_ptr<Device> make_cuda_device(int id, const RuntimeOptions& options);
/// A GPU that is not present, for plans and memory tables on any machine. It makes ops and reports their needs, but
/// runs nothing. `model`: "h100", "h200". Throws Error{kDevice} without a backend or cuDNN.
std::unique_ptr<Device> make_plan_only_gpu(const std::string& model, const RuntimeOptions& options);
/// The GPU code on the CPU, for tests: kernels in the emulator, streams in seeded random order.
std::unique_ptr<Device> make_emu_device(int id, const RuntimeOptions& options);

}  // namespace dptrain::backend
