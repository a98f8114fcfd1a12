#pragma once

// A GPU, or the emulator: implements device.h with gpu::Runtime, the kernels and a maker of convolutions. One object
// per replica; created on any thread, used from the replica's thread after enter(). The replicas of one device share
// the Runtime. Every object created here keeps it alive.

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/convolution.h"
#include "backend/gpu/runtime.h"
#include "backend/ops/backend.h"
#include "core/threads.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class GpuDevice final : public Device {
 public:
  GpuDevice(std::shared_ptr<gpu::Runtime> runtime, std::unique_ptr<gpu::ConvolutionMaker> convolutions,
            const RuntimeOptions& options);
  ~GpuDevice() override;

  DeviceKind kind() const noexcept override { return kKind; }
  std::string name() const override { return runtime_->name(); }
  std::string description() const override { return runtime_->description(); }
  void enter() override { runtime_->enter(); }
  bool enable_peer_access(Device& other) override;

  std::unique_ptr<Stream> make_stream(bool high_priority) override;
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;
  std::uint64_t memory_available() const override { return runtime_->memory().free; }
  std::unique_ptr<Buffer> allocate_host(std::size_t bytes) override;
  std::function<std::shared_ptr<void>(std::size_t bytes)> host_allocator() const override;
  void copy_to_device(void* destination, const void* host, std::size_t bytes, Stream& stream) override;
  void copy_to_host(void* host, const void* source, std::size_t bytes, Stream& stream) override;
  void copy_between(void* destination, const void* source, std::size_t bytes, Stream& stream) override;
  void set_poisoned(void* memory, std::size_t bytes, bool poisoned, Stream& stream) override {
    runtime_->set_poisoned(memory, bytes, poisoned, stream.native());
  }
  void queue_to_host(void* host, const void* source, std::size_t bytes, Stream& stream) override;
  const RuntimeOptions& options() const noexcept override { return options_; }
  bool reads_host_memory() const noexcept override { return false; }

  std::unique_ptr<Update> make_update(const UpdateContext& context) override;

  void fill(float* x, std::int64_t n, float value, Stream& stream) override;
  void accumulate(void* y, const void* x, DType type, std::int64_t n, Stream& stream) override;
  void mark_not_finite(const double* value, float* gradient, Stream& stream) override;
  void mask_labels(const std::int32_t* labels, std::int64_t n, std::int32_t ignored, std::uint8_t* mask,
                   Stream& stream) override;
  void mask_labels(const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask,
                   Stream& stream) override;
  void count_valid(const std::uint8_t* mask, std::int64_t n, double* valid, Stream& stream) override;
  void mask_scale(const double* valid, int ranks, std::int64_t stride, double positions, float* scale,
                  Stream& stream) override;
  void apply_fused(plan::LossStep::Fusion fusion, const void* logits, DType type, std::int64_t rows,
                   std::int64_t classes, float* values, Stream& stream) override;
  void from_float(const float* x, void* y, DType type, std::int64_t n, Stream& stream) override;
  void to_float(const void* x, DType type, float* y, std::int64_t n, Stream& stream) override;
  void sum_ranks(const std::vector<float*>& arenas, std::int64_t begin, std::int64_t end, Stream& stream) override;
  std::unique_ptr<Recording> record(Stream& stream, const std::function<void()>& work) override;
  std::uint64_t hash(const float* x, std::int64_t n, Stream& stream) override;

  kernel::Launch launch(const Stream& stream) const {
    return {.stream = stream.native(), .multiprocessors = multiprocessors_};
  }
  /// For ops: creates a convolution on another thread, since compiling an engine takes a second or more.
  std::future<std::unique_ptr<gpu::Convolution>> make_convolution(const gpu::ConvProblem& problem,
                                                                  const gpu::ConvPasses& passes);
  std::shared_future<gpu::PlannedAttention> make_attention(const gpu::AttentionProblem& problem);

 private:
  std::shared_ptr<gpu::Runtime> runtime_;
  std::shared_ptr<gpu::ConvolutionMaker> convolutions_;
  RuntimeOptions options_;
  int multiprocessors_;
  std::shared_ptr<TaskPool> pool_;
  std::unique_ptr<Buffer> hash_workspace_;  // allocated by the first hash()
};

std::unique_ptr<Update> make_gpu_update(const UpdateContext& context, GpuDevice& device);

}  // namespace dptrain::backend::DPTRAIN_BACKEND
