#pragma once

// Stream, Event, Recording and Buffer over gpu::Runtime. Each keeps the Runtime alive.

#include <functional>
#include <memory>
#include <utility>

#include "backend/device.h"
#include "backend/gpu/runtime.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

using SharedRuntime = std::shared_ptr<gpu::Runtime>;

class GpuStream final : public Stream {
 public:
  GpuStream(SharedRuntime runtime, bool high_priority)
      : runtime_(std::move(runtime)), handle_(runtime_->make_stream(high_priority)) {}
  ~GpuStream() override { runtime_->destroy_stream(handle_); }
  GpuStream(const GpuStream&) = delete;
  GpuStream& operator=(const GpuStream&) = delete;

  void synchronize() override;
  void wait_for(Event& event) override;
  void set_watcher(std::function<void()> watcher) override { watcher_ = std::move(watcher); }
  void* native() const override { return handle_; }

 private:
  /// Calls the watcher until `reached` returns true.
  template <class Reached>
  void watch(const Reached& reached) const;

  SharedRuntime runtime_;
  gpu::StreamHandle handle_;
  std::function<void()> watcher_;
};

class GpuEvent final : public Event {
 public:
  explicit GpuEvent(SharedRuntime runtime) : runtime_(std::move(runtime)), handle_(runtime_->make_event()) {}
  ~GpuEvent() override { runtime_->destroy_event(handle_); }
  GpuEvent(const GpuEvent&) = delete;
  GpuEvent& operator=(const GpuEvent&) = delete;

  void record(Stream& stream) override { runtime_->record(handle_, stream.native()); }
  void hold(Stream& stream) override { runtime_->wait(stream.native(), handle_); }
  bool passed() override { return runtime_->passed(handle_); }
  /// Blocks the host.
  void wait() { runtime_->synchronize_event(handle_); }

 private:
  SharedRuntime runtime_;
  gpu::EventHandle handle_;
};

class GpuRecording final : public Recording {
 public:
  GpuRecording(SharedRuntime runtime, gpu::GraphHandle graph) : runtime_(std::move(runtime)), graph_(graph) {}
  ~GpuRecording() override { runtime_->destroy_graph(graph_); }
  GpuRecording(const GpuRecording&) = delete;
  GpuRecording& operator=(const GpuRecording&) = delete;

  void replay(Stream& stream) override { runtime_->replay(graph_, stream.native()); }

 private:
  SharedRuntime runtime_;
  gpu::GraphHandle graph_;
};

class GpuBuffer final : public Buffer {
 public:
  enum class Where { kDevice, kHost };
  /// Allocates at least one byte, so that the pointer is valid.
  GpuBuffer(SharedRuntime runtime, std::size_t bytes, Where where)
      : runtime_(std::move(runtime)),
        bytes_(bytes),
        where_(where),
        data_(where == Where::kDevice ? runtime_->allocate(bytes == 0 ? 1 : bytes)
                                      : runtime_->allocate_host(bytes == 0 ? 1 : bytes)) {}
  ~GpuBuffer() override { where_ == Where::kDevice ? runtime_->free(data_) : runtime_->free_host(data_); }
  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;

  void* data() const noexcept override { return data_; }
  std::size_t bytes() const noexcept override { return bytes_; }

 private:
  SharedRuntime runtime_;
  std::size_t bytes_;
  Where where_;
  void* data_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
