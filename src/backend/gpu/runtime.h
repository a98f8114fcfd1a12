#pragma once

// The small interface on which the GPU device is built: memory, copies, streams, events, recorded graphs. Two
// implementations: backend/cuda (the CUDA runtime) and backend/emu (the emulator, on the CPU). Handles are opaque and
// belong to the Runtime that made them. One object per device of the process, shared by the replicas on it; all
// functions may be called from any thread. Errors: Error{kDevice} with the failed call and the driver's message;
// Error{kMemory} from allocate.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace dptrain::backend::gpu {

using StreamHandle = void*;  ///< cudaStream_t, simt::Queue*: what a kernel's Launch takes
using EventHandle = void*;
using GraphHandle = void*;  ///< an executable graph

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
  /// Makes this device the calling thread's.
  virtual void enter() = 0;

  /// Device memory, zero-filled, aligned to 256 bytes at least.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* memory) noexcept = 0;
  /// Page-locked host memory, zero-filled: copies from and to it are asynchronous.
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void free_host(void* memory) noexcept = 0;

  virtual StreamHandle make_stream(bool high_priority) = 0;
  virtual void destroy_stream(StreamHandle stream) noexcept = 0;
  virtual void synchronize(StreamHandle stream) = 0;
  /// Whether everything queued has run; throws what a queued operation failed with.
  virtual bool idle(StreamHandle stream) = 0;

  /// Queued on the stream. Pageable host memory may be reused when copy_in returns, page-locked memory when the stream
  /// has passed the copy.
  virtual void copy_in(void* device, const void* host, std::size_t bytes, StreamHandle stream) = 0;
  virtual void copy_out(void* host, const void* device, std::size_t bytes, StreamHandle stream) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) = 0;  ///< between devices too
  virtual void set_zero(void* device, std::size_t bytes, StreamHandle stream) = 0;

  virtual EventHandle make_event() = 0;
  virtual void destroy_event(EventHandle event) noexcept = 0;
  virtual void record(EventHandle event, StreamHandle stream) = 0;
  /// Work queued on the stream from now on waits for the event as last recorded (an event of any device); an event that
  /// was never recorded does not block.
  virtual void wait(StreamHandle stream, EventHandle event) = 0;
  /// As synchronize and idle, for what was queued before the event as last recorded.
  virtual void synchronize_event(EventHandle event) = 0;
  virtual bool passed(EventHandle event) = 0;

  /// Everything queued on the stream between begin and end is recorded instead of run. No allocation, synchronisation
  /// or copy from pageable memory in between. What the device must load for replays is queued on the stream at the end.
  virtual void begin_recording(StreamHandle stream) = 0;
  virtual GraphHandle end_recording(StreamHandle stream) = 0;
  virtual void replay(GraphHandle graph, StreamHandle stream) = 0;
  virtual void destroy_graph(GraphHandle graph) noexcept = 0;
};

}  // namespace dptrain::backend::gpu
