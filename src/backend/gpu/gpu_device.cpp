#include "backend/gpu/gpu_device.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "backend/gpu/gpu_stream.h"
#include "backend/gpu/make_device.h"
#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/loss.h"
#include "kernels/cuda/loss_scale.h"
#include "kernels/cuda/softmax.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

template <class Reached>
void GpuStream::watch(const Reached& reached) const {
  // A step takes milliseconds. Polls without sleeping first, so that its end is noticed soon.
  constexpr int kEager = 200;
  constexpr std::chrono::microseconds kPause{20};
  for (int spins = 0; !reached(); ++spins) {
    watcher_();
    spins < kEager ? std::this_thread::yield() : std::this_thread::sleep_for(kPause);
  }
}

void GpuStream::synchronize() {
  if (!watcher_) return runtime_->synchronize(handle_);
  watch([&] { return runtime_->idle(handle_); });
}

void GpuStream::wait_for(Event& event) {
  auto& mine = static_cast<GpuEvent&>(event);
  if (!watcher_) return mine.wait();
  watch([&] { return mine.passed(); });
}

namespace {

/// Shared by all devices of the process, to limit the number of threads to that of the CPUs.
std::shared_ptr<TaskPool> shared_pool() {
  static std::mutex mutex;
  static std::weak_ptr<TaskPool> shared;
  const std::lock_guard lock(mutex);
  auto pool = shared.lock();
  if (!pool) shared = pool = std::make_shared<TaskPool>(machine::cpus());
  return pool;
}

}  // namespace

GpuDevice::GpuDevice(std::shared_ptr<gpu::Runtime> runtime, std::unique_ptr<gpu::ConvolutionMaker> convolutions,
                     const RuntimeOptions& options)
    : runtime_(std::move(runtime)),
      convolutions_(std::move(convolutions)),
      options_(options),
      multiprocessors_(runtime_->multiprocessors()),
      pool_(shared_pool()) {}

GpuDevice::~GpuDevice() = default;

bool GpuDevice::enable_peer_access(Device& other) {
  return other.kind() == kind() && runtime_->enable_peer_access(*static_cast<GpuDevice&>(other).runtime_);
}

std::unique_ptr<Stream> GpuDevice::make_stream(bool high_priority) {
  return std::make_unique<GpuStream>(runtime_, high_priority);
}
std::unique_ptr<Event> GpuDevice::make_event() { return std::make_unique<GpuEvent>(runtime_); }

std::unique_ptr<Buffer> GpuDevice::allocate(std::size_t bytes) {
  return std::make_unique<GpuBuffer>(runtime_, bytes, GpuBuffer::Where::kDevice);
}
std::unique_ptr<Buffer> GpuDevice::allocate_host(std::size_t bytes) {
  return std::make_unique<GpuBuffer>(runtime_, bytes, GpuBuffer::Where::kHost);
}
std::function<std::shared_ptr<void>(std::size_t bytes)> GpuDevice::host_allocator() const {
  return [runtime = runtime_](std::size_t bytes) -> std::shared_ptr<void> {
    const auto buffer = std::make_shared<GpuBuffer>(runtime, bytes, GpuBuffer::Where::kHost);
    return {buffer, buffer->data()};
  };
}

void GpuDevice::copy_to_device(void* destination, const void* host, std::size_t bytes, Stream& stream) {
  if (bytes > 0) runtime_->copy_in(destination, host, bytes, stream.native());
}
void GpuDevice::copy_to_host(void* host, const void* source, std::size_t bytes, Stream& stream) {
  queue_to_host(host, source, bytes, stream);
  stream.synchronize();
}
void GpuDevice::copy_between(void* destination, const void* source, std::size_t bytes, Stream& stream) {
  if (bytes > 0) runtime_->copy(destination, source, bytes, stream.native());
}
void GpuDevice::queue_to_host(void* host, const void* source, std::size_t bytes, Stream& stream) {
  if (bytes > 0) runtime_->copy_out(host, source, bytes, stream.native());
}

std::future<std::unique_ptr<gpu::Convolution>> GpuDevice::make_convolution(const gpu::ConvProblem& problem,
                                                                           const gpu::ConvPasses& passes) {
  // The caller may drop the future after an error of another op, and the device may be destroyed first.
  return pool_->send([runtime = runtime_, maker = convolutions_, problem, passes] {
    runtime->enter();
    return maker->make(problem, passes);
  });
}

std::shared_future<gpu::PlannedAttention> GpuDevice::make_attention(const gpu::AttentionProblem& problem) {
  return pool_
      ->send([runtime = runtime_, maker = convolutions_, problem] {
        runtime->enter();
        return maker->make_attention(problem);
      })
      .share();
}

std::unique_ptr<Update> GpuDevice::make_update(const UpdateContext& context) { return make_gpu_update(context, *this); }

void GpuDevice::fill(float* x, std::int64_t n, float value, Stream& stream) {
  kernel::fill(launch(stream), value, x, n);
}
void GpuDevice::accumulate(void* y, const void* x, DType type, std::int64_t n, Stream& stream) {
  kernel::accumulate(launch(stream), type, x, y, n);
}
void GpuDevice::apply_fused(plan::LossStep::Fusion fusion, const void* logits, DType type, std::int64_t rows,
                            std::int64_t classes, float* values, Stream& stream) {
  if (fusion == plan::LossStep::Fusion::kSoftmax)
    kernel::softmax_probabilities(launch(stream), type, logits, rows, classes, values);
  else
    kernel::sigmoid_probabilities(launch(stream), type, logits, rows * classes, values);
}

void GpuDevice::mark_not_finite(const double* value, float* gradient, Stream& stream) {
  kernel::mark_not_finite(launch(stream), value, gradient);
}
void GpuDevice::mask_labels(const std::int32_t* labels, std::int64_t n, std::int32_t ignored, std::uint8_t* mask,
                            Stream& stream) {
  kernel::mask_labels(launch(stream), labels, n, ignored, mask);
}
void GpuDevice::mask_labels(const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask,
                            Stream& stream) {
  kernel::mask_labels(launch(stream), labels, n, width, mask);
}
void GpuDevice::count_valid(const std::uint8_t* mask, std::int64_t n, double* valid, Stream& stream) {
  kernel::count_valid(launch(stream), mask, n, valid);
}
void GpuDevice::mask_scale(const double* valid, int ranks, std::int64_t stride, double positions, float* scale,
                           Stream& stream) {
  kernel::mask_scale(launch(stream), valid, ranks, stride, positions, plan::kMaskEpsilon, scale);
}
void GpuDevice::from_float(const float* x, void* y, DType type, std::int64_t n, Stream& stream) {
  kernel::cast_from_float(launch(stream), x, type, y, n);
}
void GpuDevice::to_float(const void* x, DType type, float* y, std::int64_t n, Stream& stream) {
  kernel::cast_to_float(launch(stream), type, x, y, n);
}

void GpuDevice::sum_ranks(const std::vector<float*>& arenas, std::int64_t begin, std::int64_t end, Stream& stream) {
  if (arenas.size() > kernel::kMaxRanks)
    throw Error(ErrorKind::kDevice, fmt::format("{}: at most {} replicas can share one device's memory, found {}",
                                                name(), kernel::kMaxRanks, arenas.size()));
  kernel::RankArrays ranks;
  ranks.ranks = static_cast<int>(arenas.size());
  std::ranges::copy(arenas, ranks.array);
  kernel::sum_ranks(launch(stream), ranks, begin, end);
}

std::unique_ptr<Recording> GpuDevice::record(Stream& stream, const std::function<void()>& work) {
  runtime_->begin_recording(stream.native());
  try {
    work();
  } catch (...) {
    try {
      runtime_->destroy_graph(runtime_->end_recording(stream.native()));
    } catch (const Error&) {  // keep the first error
    }
    throw;
  }
  return std::make_unique<GpuRecording>(runtime_, runtime_->end_recording(stream.native()));
}

std::uint64_t GpuDevice::hash(const float* x, std::int64_t n, Stream& stream) {
  if (hash_workspace_ == nullptr) hash_workspace_ = allocate((kernel::kHashPartials + 1) * sizeof(std::uint64_t));
  auto* const result = hash_workspace_->as<std::uint64_t>();
  kernel::hash(launch(stream), x, n, result + 1, result);
  std::uint64_t value = 0;
  copy_to_host(&value, result, sizeof(value), stream);
  return value;
}

std::unique_ptr<Device> make_gpu_device(std::shared_ptr<gpu::Runtime> runtime,
                                        std::unique_ptr<gpu::ConvolutionMaker> convolutions,
                                        const RuntimeOptions& options) {
  return std::make_unique<GpuDevice>(std::move(runtime), std::move(convolutions), options);
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
