#include "backend/cuda/cuda_runtime.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "backend/cuda/cuda_error.h"
#include "backend/gpu_facts.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "kernels/cuda/launch.h"

namespace dptrain::backend::cuda {
namespace {

// CUDA's own order depends on speed and on the other GPUs; this is nvidia-smi's, which --gpus uses. The driver reads
// the variable at the first call of the process. It is set before main, because setenv is unsafe with threads.
[[maybe_unused]] const bool kInPciOrder = setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1) == 0;

/// The device that this thread entered, -1 before. cudaGetDevice returns 0 before, and choosing 0 would open a context.
thread_local int entered = -1;

cudaStream_t stream_of(gpu::StreamHandle stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(gpu::EventHandle event) { return static_cast<cudaEvent_t>(event); }
cudaGraphExec_t graph_of(gpu::GraphHandle graph) { return static_cast<cudaGraphExec_t>(graph); }

class CudaRuntime final : public gpu::Runtime {
 public:
  explicit CudaRuntime(int id) : id_(id), name_(fmt::format("gpu:{}", id)) {
    check(cudaGetDeviceProperties(&properties_, id), "cudaGetDeviceProperties");
    if (static_cast<std::int64_t>(properties_.sharedMemPerBlockOptin) < kernels::cuda::kMaxSharedBytes)
      throw Error(ErrorKind::kDevice,
                  fmt::format("{}: a block has at most {} bytes of shared memory, expected {} or more", name_,
                              properties_.sharedMemPerBlockOptin, kernels::cuda::kMaxSharedBytes));
    enter();
    check(cudaDeviceGetStreamPriorityRange(&lowest_priority_, &highest_priority_), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithFlags(&zeroing_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~CudaRuntime() override { CudaRuntime::destroy_stream(zeroing_); }
  CudaRuntime(const CudaRuntime&) = delete;
  CudaRuntime& operator=(const CudaRuntime&) = delete;

  std::string name() const override { return name_; }

  std::string description() const override {
    std::array<char, 32> bus{};
    check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), id_), "cudaDeviceGetPCIBusId");
    return fmt::format("{} {} {} {}", name_, properties_.name, human_bytes(properties_.totalGlobalMem), bus.data());
  }

  int multiprocessors() const override { return properties_.multiProcessorCount; }

  gpu::MemoryInfo memory() const override {
    const DeviceGuard here(*this);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return {.total = total, .free = free};
  }

  void enter() override {
    check(cudaSetDevice(id_), "cudaSetDevice");
    entered = id_;
  }

  bool enable_peer_access(gpu::Runtime& other) override {
    const int peer = static_cast<CudaRuntime&>(other).id_;
    if (peer == id_) return true;
    int possible = 0;
    check(cudaDeviceCanAccessPeer(&possible, id_, peer), "cudaDeviceCanAccessPeer");
    if (possible == 0) return false;
    const DeviceGuard here(*this);
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled || status == cudaErrorTooManyPeers) cudaGetLastError();
    if (status == cudaErrorTooManyPeers) return false;
    if (status != cudaErrorPeerAccessAlreadyEnabled) check(status, "cudaDeviceEnablePeerAccess");
    return true;
  }

  void* allocate(std::size_t bytes) override {
    const DeviceGuard here(*this);
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, size);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw Error(ErrorKind::kMemory,
                  fmt::format("{}: {} of memory requested, {} free; try a smaller batch_size or fewer replicas", name_,
                              human_bytes(bytes), human_bytes(CudaRuntime::memory().free)));
    }
    check(status, "cudaMalloc");
    // Uses a separate stream: the legacy stream does not synchronize with the device's streams.
    cudaError_t zeroed = cudaMemsetAsync(memory, 0, size, zeroing_);
    if (zeroed == cudaSuccess) zeroed = cudaStreamSynchronize(zeroing_);
    if (zeroed != cudaSuccess) cudaFree(memory);
    check(zeroed, "cudaMemsetAsync");
    return memory;
  }

  void free(void* memory) noexcept override {
    const DeviceGuard here(*this, std::nothrow);
    cudaFree(memory);
  }

  void* allocate_host(std::size_t bytes) override {
    const DeviceGuard here(*this);
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    void* memory = nullptr;
    const cudaError_t status = cudaHostAlloc(&memory, size, cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw Error(ErrorKind::kMemory, fmt::format("{}: cannot allocate {} of page-locked host memory; raise `ulimit "
                                                  "-l`, or try a smaller batch_size or prefetch",
                                                  name_, human_bytes(bytes)));
    }
    check(status, "cudaHostAlloc");
    std::memset(memory, 0, size);
    return memory;
  }

  void free_host(void* memory) noexcept override {
    const DeviceGuard here(*this, std::nothrow);
    cudaFreeHost(memory);
  }

  gpu::StreamHandle make_stream(bool high_priority) override {
    const DeviceGuard here(*this);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                       high_priority ? highest_priority_ : lowest_priority_),
          "cudaStreamCreateWithPriority");
    return stream;
  }

  void destroy_stream(gpu::StreamHandle stream) noexcept override {
    const DeviceGuard here(*this, std::nothrow);
    cudaStreamDestroy(stream_of(stream));
  }

  void synchronize(gpu::StreamHandle stream) override {
    check(cudaStreamSynchronize(stream_of(stream)), "cudaStreamSynchronize");
  }

  bool idle(gpu::StreamHandle stream) override {
    return !not_ready(cudaStreamQuery(stream_of(stream)), "cudaStreamQuery");
  }

  void copy_in(void* device, const void* host, std::size_t bytes, gpu::StreamHandle stream) override {
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_of(stream)),
          "cudaMemcpyAsync to the device");
    // On these systems the GPU reads pageable memory in place, later. On others the driver has copied it by now.
    if (properties_.pageableMemoryAccessUsesHostPageTables != 0 && is_pageable(host)) CudaRuntime::synchronize(stream);
  }
  void copy_out(void* host, const void* device, std::size_t bytes, gpu::StreamHandle stream) override {
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_of(stream)),
          "cudaMemcpyAsync to the host");
  }
  void copy(void* to, const void* from, std::size_t bytes, gpu::StreamHandle stream) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)), "cudaMemcpyAsync on the device");
  }
  void set_zero(void* device, std::size_t bytes, gpu::StreamHandle stream) override {
    check(cudaMemsetAsync(device, 0, bytes, stream_of(stream)), "cudaMemsetAsync");
  }

  gpu::EventHandle make_event() override {
    const DeviceGuard here(*this);
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    return event;
  }
  void destroy_event(gpu::EventHandle event) noexcept override {
    const DeviceGuard here(*this, std::nothrow);
    cudaEventDestroy(event_of(event));
  }
  void record(gpu::EventHandle event, gpu::StreamHandle stream) override {
    check(cudaEventRecord(event_of(event), stream_of(stream)), "cudaEventRecord");
  }
  void wait(gpu::StreamHandle stream, gpu::EventHandle event) override {
    check(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0), "cudaStreamWaitEvent");
  }
  /// Polls, first without pauses to notice the end of a short step soon. cudaEventSynchronize would busy-wait.
  void synchronize_event(gpu::EventHandle event) override {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds kAwake{200}, kPause{20};
    const Clock::time_point tired = Clock::now() + kAwake;
    while (!CudaRuntime::passed(event))
      if (Clock::now() > tired) std::this_thread::sleep_for(kPause);
  }
  bool passed(gpu::EventHandle event) override { return !not_ready(cudaEventQuery(event_of(event)), "cudaEventQuery"); }

  /// Thread-local: calls of other replicas' threads (allocate, synchronize) do not invalidate the recording.
  void begin_recording(gpu::StreamHandle stream) override {
    check(cudaStreamBeginCapture(stream_of(stream), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  }

  gpu::GraphHandle end_recording(gpu::StreamHandle stream) override {
    cudaGraph_t recorded = nullptr;
    check(cudaStreamEndCapture(stream_of(stream), &recorded), "cudaStreamEndCapture");
    cudaGraphExec_t executable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&executable, recorded, 0);
    cudaGraphDestroy(recorded);
    check(status, "cudaGraphInstantiate");
    const cudaError_t uploaded = cudaGraphUpload(executable, stream_of(stream));
    if (uploaded != cudaSuccess) cudaGraphExecDestroy(executable);
    check(uploaded, "cudaGraphUpload");
    return executable;
  }

  void replay(gpu::GraphHandle graph, gpu::StreamHandle stream) override {
    check(cudaGraphLaunch(graph_of(graph), stream_of(stream)), "cudaGraphLaunch");
  }
  void destroy_graph(gpu::GraphHandle graph) noexcept override {
    const DeviceGuard here(*this, std::nothrow);
    cudaGraphExecDestroy(graph_of(graph));
  }

 private:
  static bool is_pageable(const void* host) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, host) == cudaSuccess)
      return attributes.type == cudaMemoryTypeUnregistered;
    cudaGetLastError();
    return true;
  }

  /// Makes the device current, then restores the thread's. A thread without a device would open a context on GPU 0.
  class DeviceGuard {
   public:
    explicit DeviceGuard(const CudaRuntime& runtime) : runtime_(runtime) {
      if (entered != runtime.id_) runtime.check(cudaSetDevice(runtime.id_), "cudaSetDevice");
    }
    DeviceGuard(const CudaRuntime& runtime, std::nothrow_t) noexcept : runtime_(runtime) {
      if (entered != runtime.id_) cudaSetDevice(runtime.id_);
    }
    ~DeviceGuard() {
      if (entered >= 0 && entered != runtime_.id_) cudaSetDevice(entered);
    }
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

   private:
    const CudaRuntime& runtime_;
  };

  void check(cudaError_t status, const char* call) const { check_cuda(status, call, name_); }
  /// Whether a query returned cudaErrorNotReady; throws other errors.
  bool not_ready(cudaError_t status, const char* call) const {
    if (status != cudaErrorNotReady) {
      check(status, call);
      return false;
    }
    cudaGetLastError();  // not an error, but CUDA stores it as one
    return true;
  }

  int id_;
  std::string name_;
  cudaDeviceProp properties_{};
  int lowest_priority_ = 0, highest_priority_ = 0;
  cudaStream_t zeroing_ = nullptr;
};

/// "gpu:0 (NVIDIA H200), gpu:1 (NVIDIA H200)"
std::string names_of_gpus() {
  std::vector<std::string> names;
  for (const GpuFacts& facts : gpu_facts()) names.push_back(fmt::format("gpu:{} ({})", facts.id, facts.name));
  return join(names, ", ");
}

struct RuntimesInUse {
  std::mutex mutex;
  std::map<int, std::weak_ptr<gpu::Runtime>> by_id;
};

RuntimesInUse& runtimes_in_use() {
  static RuntimesInUse runtimes;
  return runtimes;
}

}  // namespace

std::shared_ptr<gpu::Runtime> make_cuda_runtime(int id) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    cudaGetLastError();
    throw Error(ErrorKind::kDevice, fmt::format("{}; use --cpus N", why_no_gpu()));
  }
  if (id < 0 || id >= count)
    throw Error(ErrorKind::kDevice, fmt::format("there is no gpu:{}; this machine has {}", id, names_of_gpus()));
  RuntimesInUse& in_use = runtimes_in_use();
  const std::scoped_lock lock(in_use.mutex);
  std::weak_ptr<gpu::Runtime>& known = in_use.by_id[id];
  std::shared_ptr<gpu::Runtime> runtime = known.lock();
  if (!runtime) known = runtime = std::make_shared<CudaRuntime>(id);
  return runtime;
}

}  // namespace dptrain::backend::cuda
