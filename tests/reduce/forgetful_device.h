#pragma once

// A device that forwards to another, but whose events can be made to hold nothing up: what a forgotten wait would be.
// For the connectors, which need no ops.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.h"
#include "device/device.h"

namespace dptrain::test {

/// Which streams run ahead of the events that should hold them.
enum class Forget { kNothing, kOnCommunicationStreams, kOnComputeStreams };

class ForgetfulDevice final : public device::Device {
 public:
  ForgetfulDevice(std::unique_ptr<device::Device> device, Forget forget)
      : device_(std::move(device)), forget_(forget) {}

  device::DeviceKind kind() const noexcept override { return device_->kind(); }
  std::string name() const override { return device_->name(); }
  std::string description() const override { return device_->description(); }
  void enter() override { device_->enter(); }
  std::unique_ptr<device::Stream> make_stream(bool high_priority) override {
    auto stream = device_->make_stream(high_priority);
    if (high_priority) communication_.push_back(stream.get());
    return stream;
  }
  std::unique_ptr<device::Event> make_event() override {
    return std::make_unique<ForgetfulEvent>(device_->make_event(), forget_);
  }
  std::unique_ptr<device::Buffer> allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  std::unique_ptr<device::Buffer> allocate_host(std::size_t bytes) override { return device_->allocate_host(bytes); }
  void copy_to_device(void* to, const void* host, std::size_t bytes, device::Stream& stream) override {
    device_->copy_to_device(to, host, bytes, stream);
  }
  void copy_to_host(void* host, const void* from, std::size_t bytes, device::Stream& stream) override {
    device_->copy_to_host(host, from, bytes, stream);
  }
  void copy_between(void* to, const void* from, std::size_t bytes, device::Stream& stream) override {
    device_->copy_between(to, from, bytes, stream);
  }
  void copy(void* to, const void* from, std::size_t bytes, device::Stream& stream) override {
    device_->copy(to, from, bytes, stream);
  }
  const device::RuntimeOptions& options() const noexcept override { return device_->options(); }
  bool reads_host_memory() const noexcept override { return device_->reads_host_memory(); }
  std::unique_ptr<device::LossOp> make_loss(const device::LossContext& c) override { return device_->make_loss(c); }
  std::unique_ptr<device::Update> make_update(const device::UpdateContext& c) override {
    return device_->make_update(c);
  }
  void fill(float* x, std::int64_t n, float value, device::Stream& stream) override {
    device_->fill(x, n, value, stream);
  }
  void count_valid(const std::uint8_t* mask, std::int64_t n, double* valid, device::Stream& stream) override {
    device_->count_valid(mask, n, valid, stream);
  }
  void mask_scale(const double* valid, int ranks, std::int64_t stride, double positions, float* scale,
                  device::Stream& stream) override {
    device_->mask_scale(valid, ranks, stride, positions, scale, stream);
  }
  void taint(const double* value, float* gradient, device::Stream& stream) override {
    device_->taint(value, gradient, stream);
  }
  void apply_fused(plan::LossStep::Fusion fusion, const void* logits, DType type, std::int64_t rows,
                   std::int64_t classes, float* values, device::Stream& stream) override {
    device_->apply_fused(fusion, logits, type, rows, classes, values, stream);
  }
  void accumulate(void* y, const void* x, DType type, std::int64_t n, device::Stream& stream) override {
    device_->accumulate(y, x, type, n, stream);
  }
  void from_float(const float* x, void* y, DType type, std::int64_t n, device::Stream& stream) override {
    device_->from_float(x, y, type, n, stream);
  }
  void to_float(const void* x, DType type, float* y, std::int64_t n, device::Stream& stream) override {
    device_->to_float(x, type, y, n, stream);
  }
  void sum_ranks(const std::vector<float*>& arenas, std::int64_t begin, std::int64_t end,
                 device::Stream& stream) override {
    device_->sum_ranks(arenas, begin, end, stream);
  }
  std::unique_ptr<device::Recording> record(device::Stream& stream, const std::function<void()>& work) override {
    return device_->record(stream, work);
  }
  std::uint64_t hash(const float* x, std::int64_t n, device::Stream& stream) override {
    return device_->hash(x, n, stream);
  }

 private:
  /// Streams of high priority are named by the device that made them, and only its own thread asks it.
  class ForgetfulEvent final : public device::Event {
   public:
    ForgetfulEvent(std::unique_ptr<device::Event> event, Forget forget) : event_(std::move(event)), forget_(forget) {}
    void record(device::Stream& stream) override { event_->record(stream); }
    void hold(device::Stream& stream) override {
      if (forget_ == Forget::kNothing) event_->hold(stream);
      if (forget_ == (is_communication(stream) ? Forget::kOnComputeStreams : Forget::kOnCommunicationStreams))
        event_->hold(stream);
    }

   private:
    std::unique_ptr<device::Event> event_;
    const Forget forget_;
  };

  static bool is_communication(const device::Stream& stream) {
    return std::find(communication_.begin(), communication_.end(), &stream) != communication_.end();
  }

  const std::unique_ptr<device::Device> device_;
  const Forget forget_;
  static inline thread_local std::vector<const device::Stream*> communication_;
};

}  // namespace dptrain::test
