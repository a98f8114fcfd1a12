#include "backend/cpu/cpu_device.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>

#include "backend/cpu/dnnl_support.h"
#include "backend/ops/activations.h"
#include "core/error.h"
#include "core/floats.h"
#include "core/format.h"
#include "core/machine.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/reduce.h"

namespace dptrain::backend::cpu {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // finaliser of MurmurHash3
  x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDU;
  x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53U;
  return x ^ x >> 33;
}

/// Four chains, so that multiplications overlap.
std::uint64_t piece_hash(const float* x, std::int64_t begin, std::int64_t end) {
  std::uint64_t chains[4] = {1, 2, 3, 4};
  for (std::int64_t i = begin; i < end; ++i) {
    std::uint64_t& chain = chains[i & 3];
    chain = std::rotl((chain ^ std::bit_cast<std::uint32_t>(x[i])) * 0x9E3779B97F4A7C15U, 29);
  }
  std::uint64_t hash = static_cast<std::uint64_t>(begin);
  for (const std::uint64_t chain : chains) hash = mixed(hash ^ chain);
  return hash;
}

class CpuBuffer final : public Buffer {
 public:
  explicit CpuBuffer(std::size_t bytes) : memory_(bytes) {
    std::memset(data(), 0, bytes);  // the first touch, which is slow, happens here and not in a step
  }

  void* data() const noexcept override { return memory_.data(); }
  std::size_t bytes() const noexcept override { return memory_.bytes(); }

 private:
  const MappedMemory memory_;
};

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

Error out_of_memory(std::size_t bytes, std::uint64_t available, const std::string& device, const std::string& why) {
  return {
      ErrorKind::kMemory,
      fmt::format("{}: {:.2f} GiB of memory requested, {:.2f} GiB free{}; try a smaller batch_size or fewer replicas",
                  device, gib(bytes), gib(available), why)};
}

}  // namespace

std::unique_ptr<Buffer> allocate_memory(std::size_t bytes, const std::string& device) {
  // Linux overcommits, and kills the process on the first touch: check before allocating.
  const std::uint64_t available = machine::memory().available;
  if (available > 0 && bytes > available) throw out_of_memory(bytes, available, device, "");
  try {
    return std::make_unique<CpuBuffer>(bytes);
  } catch (const std::system_error& error) {
    throw out_of_memory(bytes, available, device, fmt::format(" ({})", error.what()));
  }
}

CpuDevice::CpuDevice(int index, int threads, const RuntimeOptions& options, std::vector<int> cpus)
    : index_(index), threads_(threads), options_(options), cpus_(std::move(cpus)), dnnl_(std::make_unique<Dnnl>()) {
  dnnl_->one_thread_sums = options.any_threads;
  dnnl_->bfloat16_products = options.bfloat16_products;
}

CpuDevice::~CpuDevice() = default;

std::string CpuDevice::name() const { return fmt::format("cpu:{}", index_); }

std::string CpuDevice::description() const {
  const std::string where =
      cpus_.empty() ? "" : fmt::format(" on CPU{} {}", cpus_.size() == 1 ? "" : "s", machine::cpu_list(cpus_));
  const std::string products =
      options_.bfloat16_products ? fmt::format(", bfloat16 by {}", name_of(bfloat16_here())) : "";
  return fmt::format("{} {}{}, {}{}", name(), counted(threads_, "thread"), where, kernels::cpu::isa_name(), products);
}

void CpuDevice::enter() {
  if (binds_threads()) machine::bind_thread(cpus_);
  flush_subnormals();
  kernels::cpu::set_thread_count(threads_);
}

std::unique_ptr<Stream> CpuDevice::make_stream(bool) { return std::make_unique<Stream>(); }
std::unique_ptr<Event> CpuDevice::make_event() { return std::make_unique<Event>(); }
std::unique_ptr<Recording> CpuDevice::record(Stream&, const std::function<void()>&) { return nullptr; }

std::unique_ptr<Buffer> CpuDevice::allocate(std::size_t bytes) { return allocate_memory(bytes, name()); }

void CpuDevice::copy_to_device(void* destination, const void* host, std::size_t bytes, Stream&) {
  if (bytes > 0) std::memcpy(destination, host, bytes);
}
void CpuDevice::copy_between(void* destination, const void* source, std::size_t bytes, Stream&) {
  if (bytes > 0) std::memcpy(destination, source, bytes);
}
void CpuDevice::copy_to_host(void* host, const void* source, std::size_t bytes, Stream&) {
  if (bytes > 0) std::memcpy(host, source, bytes);
}

std::unique_ptr<Update> CpuDevice::make_update(const UpdateContext& context) { return make_cpu_update(context, *this); }
std::unique_ptr<RowTable> CpuDevice::make_row_table(const RowTableContext& context) {
  return make_cpu_row_table(context, *this);
}

void CpuDevice::fill(float* x, std::int64_t n, float value, Stream&) { kernels::cpu::fill(value, x, n); }

void CpuDevice::accumulate(void* y, const void* x, DType, std::int64_t n, Stream&) {
  kernels::cpu::accumulate(static_cast<const float*>(x), static_cast<float*>(y), n);
}
void CpuDevice::apply_fused(plan::LossStep::Fusion fusion, const void* logits, DType, std::int64_t rows,
                            std::int64_t classes, float* values, Stream&) {
  const bool softmax = fusion == plan::LossStep::Fusion::kSoftmax;
  activate({}, DType::kF32, softmax ? nn::Activation::kSoftmax : nn::Activation::kSigmoid,
           static_cast<const float*>(logits), values, rows, classes);
}

void CpuDevice::mark_not_finite(const double* value, float* gradient, Stream&) {
  if (!std::isfinite(*value)) *gradient = std::numeric_limits<float>::quiet_NaN();
}
void CpuDevice::mask_labels(const std::int32_t* labels, std::int64_t n, std::int32_t ignored, std::uint8_t* mask,
                            Stream&) {
  for (std::int64_t i = 0; i < n; ++i) mask[i] = labels[i] != ignored ? 1 : 0;
}
void CpuDevice::mask_labels(const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask, Stream&) {
  for (std::int64_t i = 0; i < n; ++i) mask[i] = labels[i * width] < 0 ? 0 : 1;
}
void CpuDevice::count_valid(const std::uint8_t* mask, std::int64_t n, double* valid, Stream&) {
  *valid += static_cast<double>(std::count(mask, mask + n, std::uint8_t{1}));
}
void CpuDevice::mask_scale(const double* valid, int ranks, std::int64_t stride, double positions, float* scale,
                           Stream&) {
  double sum = plan::kMaskEpsilon;
  for (int rank = 0; rank < ranks; ++rank) sum += valid[rank * stride];
  *scale = static_cast<float>(positions / sum);
}
void CpuDevice::from_float(const float* x, void* y, DType, std::int64_t n, Stream&) {
  kernels::cpu::copy({}, DType::kF32, x, static_cast<float*>(y), n);
}
void CpuDevice::to_float(const void* x, DType, float* y, std::int64_t n, Stream&) {
  kernels::cpu::copy({}, DType::kF32, static_cast<const float*>(x), y, n);
}
void CpuDevice::sum_ranks(const std::vector<float*>& arenas, std::int64_t begin, std::int64_t end, Stream&) {
  kernels::cpu::sum_ranks(arenas.data(), static_cast<int>(arenas.size()), begin, end);
}

std::uint64_t CpuDevice::hash(const float* x, std::int64_t n, Stream&) {
  std::atomic<std::uint64_t> sum = mixed(static_cast<std::uint64_t>(n));
  // The hash of a piece includes its position, so that hashes may be added in any order.
  kernels::cpu::parallel_ranges(n, kernels::cpu::kPieceElements,
                                [&](std::int64_t begin, std::int64_t end) { sum += piece_hash(x, begin, end); });
  return mixed(sum);
}

}  // namespace dptrain::backend::cpu

namespace dptrain::backend {

std::unique_ptr<Device> make_cpu_device(int index, int threads, const RuntimeOptions& options, std::vector<int> cpus) {
  if (options.compute == DType::kF16)
    throw Error(ErrorKind::kDevice,
                "cpu cannot run train.dtype_policy mixed_float16; use float32 or mixed_bfloat16, or a GPU");
  RuntimeOptions own = options;
  if (options.compute == DType::kBf16) {
    cpu::require_bfloat16(cpu::bfloat16_here());
    own.compute = DType::kF32;
    own.bfloat16_products = true;
  }
  return std::make_unique<cpu::CpuDevice>(index, threads, own, std::move(cpus));
}

}  // namespace dptrain::backend
