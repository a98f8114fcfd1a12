#pragma once

// The interface that the GPU device is built on: memory, copies, streams, events, recorded graphs. Implemented by
// backend/cuda (the CUDA runtime) and backend/emu (the emulator, on CPUs). Handles are opaque and belong to the Runtime
// that created them. One object per device of the process, shared by its replicas; any thread may call any function.
// Errors are Error{kDevice} with the failed call and the driver's message; allocate throws Error{kMemory}.

#include <cstddef>
#include <cstdint>
#include <string>

namespace dptrain::backend::gpu {

using StreamHandle = void*;  ///< cudaStream_t or simt::Queue*, as in a kernel's Launch
using EventHandle = void*;
using GraphHandle = void*;

struct MemoryInfo {
  std::uint64_t total = 0, free = 0;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual std::string name() const = 0;         ///< "gpu:0", "emu:1"
  virtual std::string description() const = 0;  ///< "gpu:0 NVIDIA H200 139.8 GiB 0000:1b:00.0"
  virtual int multiprocessors() const = 0;
  virtual MemoryInfo memory() const = 0;
  /// Selects this device for the calling thread.
  virtual void enter() = 0;
  /// Lets this device access the memory of `other`, a Runtime of the same class. Returns false if the hardware cannot.
  /// With CUDA, freeing memory of `other` then also waits for this device.
  virtual bool enable_peer_access(Runtime& other) = 0;

  /// Device memory, zero-filled, aligned to at least 256 bytes.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) noexcept = 0;
  /// Page-locked host memory, zero-filled; copies from and to it are asynchronous.
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void free_host(void* memory) noexcept = 0;

  virtual StreamHandle make_stream(bool high_priority) = 0;
  virtual void destroy_stream(StreamHandle stream) noexcept = 0;
  virtual void synchronize(StreamHandle stream) = 0;
  /// Whether all queued operations have finished. Throws the error of a failed one.
  virtual bool idle(StreamHandle stream) = 0;

  /// Queued. Pageable host memory may be reused when copy_in returns, page-locked memory when the copy is done.
  virtual void copy_in(void* device, const void* host, std::size_t bytes, StreamHandle stream) = 0;
  virtual void copy_out(void* host, const void* device, std::size_t bytes, StreamHandle stream) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) = 0;  ///< also between devices
  virtual void set_zero(void* device, std::size_t bytes, StreamHandle stream) = 0;
  /// Queued; as Device::set_poisoned. The default is for memory that AddressSanitizer cannot check.
  virtual void set_poisoned(void* device, std::size_t bytes, bool poisoned, StreamHandle stream) {
    static_cast<void>(device), static_cast<void>(bytes), static_cast<void>(poisoned), static_cast<void>(stream);
  }

  virtual EventHandle make_event() = 0;
  virtual void destroy_event(EventHandle event) noexcept = 0;
  virtual void record(EventHandle event, StreamHandle stream) = 0;
  /// Later work on the stream waits for the event's last recording, on any device; no recording: does not block.
  virtual void wait(StreamHandle stream, EventHandle event) = 0;
  /// As synchronize and idle, for work queued before the last recording of the event.
  virtual void synchronize_event(EventHandle event) = 0;
  virtual bool passed(EventHandle event) = 0;

  /// Records work queued on the stream instead of running it. Allocation, synchronization and copies from pageable
  /// memory are not allowed meanwhile. end_recording queues the upload of the graph on the stream.
  virtual void begin_recording(StreamHandle stream) = 0;
  virtual GraphHandle end_recording(StreamHandle stream) = 0;
  virtual void replay(GraphHandle graph, StreamHandle stream) = 0;
  virtual void destroy_graph(GraphHandle graph) noexcept = 0;
};

}  // namespace dptrain::backend::gpu
