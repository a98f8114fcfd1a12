#pragma once

// A device that forwards to another, except that its events can be made ineffective, as if a wait had been forgotten.
// For the connectors, which need no ops.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "core/error.h"

namespace dptrain::test {

/// Streams on which events have no effect.
enum class Forget { kNothing, kOnCommunicationStreams, kOnComputeStreams };

class ForgetfulDevice final : public backend::Device {
 public:
  ForgetfulDevice(std::unique_ptr<backend::Device> device, Forget forget)
      : device_(std::move(device)), forget_(forget) {}

  backend::DeviceKind kind() const noexcept override { return device_->kind(); }
  std::string name() const override { return device_->name(); }
  std::string description() const override { return device_->description(); }
  void enter() override { device_->enter(); }
  std::unique_ptr<backend::Stream> make_stream(bool high_priority) override {
    auto stream = device_->make_stream(high_priority);
    if (high_priority) communication_.push_back(stream.get());
    return stream;
  }
  std::unique_ptr<backend::Event> make_event() override {
    return std::make_unique<ForgetfulEvent>(device_->make_event(), forget_);
  }
  std::unique_ptr<backend::Buffer> allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  std::unique_ptr<backend::Buffer> allocate_host(std::size_t bytes) override { return device_->allocate_host(bytes); }
  void copy_to_device(void* to, const void* host, std::size_t bytes, backend::Stream& stream) override {
    device_->copy_to_device(to, host, bytes, stream);
  }
  void copy_to_host(void* host, const void* from, std::size_t bytes, backend::Stream& stream) override {
    device_->copy_to_host(host, from, bytes, stream);
  }
  void copy_between(void* to, const void* from, std::size_t bytes, backend::Stream& stream) override {
    device_->copy_between(to, from, bytes, stream);
  }
  void copy(void* to, const void* from, std::size_t bytes, backend::Stream& stream) override {
    device_->copy(to, from, bytes, stream);
  }
  const backend::RuntimeOptions& options() const noexcept override { return device_->options(); }
  bool reads_host_memory() const noexcept override { return device_->reads_host_memory(); }
  std::unique_ptr<backend::LossOp> make_loss(const backend::LossContext& c) override { return device_->make_loss(c); }
  std::unique_ptr<backend::Update> make_update(const backend::UpdateContext& c) override {
    return device_->make_update(c);
  }
  void fill(float* x, std::int64_t n, float value, backend::Stream& stream) override {
    device_->fill(x, n, value, stream);
  }
  void mask_labels(const std::int32_t* labels, std::int64_t n, std::int32_t ignored, std::uint8_t* mask,
                   backend::Stream& stream) override {
    device_->mask_labels(labels, n, ignored, mask, stream);
  }
  void mask_labels(const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask,
                   backend::Stream& stream) override {
    device_->mask_labels(labels, n, width, mask, stream);
  }
  void count_valid(const std::uint8_t* mask, std::int64_t n, double* valid, backend::Stream& stream) override {
    device_->count_valid(mask, n, valid, stream);
  }
  void mask_scale(const double* valid, int ranks, std::int64_t stride, double positions, float* scale,
                  backend::Stream& stream) override {
    device_->mask_scale(valid, ranks, stride, positions, scale, stream);
  }
  void mark_not_finite(const double* value, float* gradient, backend::Stream& stream) override {
    device_->mark_not_finite(value, gradient, stream);
  }
  void apply_fused(plan::LossStep::Fusion fusion, const void* logits, DType type, std::int64_t rows,
                   std::int64_t classes, float* values, backend::Stream& stream) override {
    device_->apply_fused(fusion, logits, type, rows, classes, values, stream);
  }
  void accumulate(void* y, const void* x, DType type, std::int64_t n, backend::Stream& stream) override {
    device_->accumulate(y, x, type, n, stream);
  }
  void from_float(const float* x, void* y, DType type, std::int64_t n, backend::Stream& stream) override {
    device_->from_float(x, y, type, n, stream);
  }
  void to_float(const void* x, DType type, float* y, std::int64_t n, backend::Stream& stream) override {
    device_->to_float(x, type, y, n, stream);
  }
  void sum_ranks(const std::vector<float*>& arenas, std::int64_t begin, std::int64_t end,
                 backend::Stream& stream) override {
    device_->sum_ranks(arenas, begin, end, stream);
  }
  std::unique_ptr<backend::Recording> record(backend::Stream& stream, const std::function<void()>& work) override {
    return device_->record(stream, work);
  }
  std::uint64_t hash(const float* x, std::int64_t n, backend::Stream& stream) override {
    return device_->hash(x, n, stream);
  }

 private:
  /// Only a device's own thread makes and tests its communication streams (those of high priority).
  class ForgetfulEvent final : public backend::Event {
   public:
    ForgetfulEvent(std::unique_ptr<backend::Event> event, Forget forget) : event_(std::move(event)), forget_(forget) {}
    void record(backend::Stream& stream) override { event_->record(stream); }
    void hold(backend::Stream& stream) override {
      if (forget_ == Forget::kNothing) event_->hold(stream);
      if (forget_ == (is_communication(stream) ? Forget::kOnComputeStreams : Forget::kOnCommunicationStreams))
        event_->hold(stream);
    }

   private:
    std::unique_ptr<backend::Event> event_;
    const Forget forget_;
  };

  static bool is_communication(const backend::Stream& stream) {
    return std::find(communication_.begin(), communication_.end(), &stream) != communication_.end();
  }

  const std::unique_ptr<backend::Device> device_;
  const Forget forget_;
  static inline thread_local std::vector<const backend::Stream*> communication_;
};

}  // namespace dptrain::test
