#include "backend/emu/emu_runtime.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "backend/emu/emu_capture.h"
#include "backend/emu/emu_convolution.h"
#include "backend/emu/emu_scheduler.h"
#include "backend/gpu/make_device.h"
#include "backend/gpu/runtime.h"
#include "core/error.h"
#include "core/floats.h"
#include "core/format.h"
#include "core/poisoning.h"

namespace dptrain::backend::emu {
namespace {

constexpr std::size_t kAlignment = 256;  ///< as cudaMalloc
constexpr std::uint64_t kDefaultBytes = std::uint64_t{4} << 30;

class Blocks {
 public:
  /// Zero-filled, aligned to 256 bytes, exactly `bytes` long. Null if the machine is out of memory.
  void* add(std::size_t bytes) {
    void* memory = nullptr;
    const std::size_t length = std::max<std::size_t>(bytes, 1);
    if (posix_memalign(&memory, kAlignment, length) != 0) return nullptr;
    std::memset(memory, 0, length);
    const std::lock_guard lock(mutex_);
    blocks_.emplace(reinterpret_cast<std::uintptr_t>(memory), bytes);
    return memory;
  }

  /// Removes the block and returns its size; aborts if it is unknown or already freed.
  std::size_t remove(void* memory, const char* what) noexcept {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (block == blocks_.end()) {
      std::fprintf(stderr, "emulator: %s: %p was not allocated, or was freed before\n", what, memory);
      std::abort();
    }
    const std::size_t bytes = block->second;
    blocks_.erase(block);
    std::free(memory);
    return bytes;
  }

  bool contain(const void* memory, std::size_t bytes) const {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const std::lock_guard lock(mutex_);
    auto block = blocks_.upper_bound(address);
    if (block == blocks_.begin()) return false;
    --block;
    return address + bytes <= block->first + block->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> blocks_;
};

/// Shared by all emulated devices: they have one address space, as in CUDA.
Blocks& device_blocks() {
  static Blocks blocks;
  return blocks;
}

Blocks& host_blocks() {
  static Blocks blocks;
  return blocks;
}

std::uint64_t pretended_bytes() {
  const char* text = std::getenv("DPTRAIN_EMU_MEMORY");  // NOLINT(concurrency-mt-unsafe): no thread sets it
  if (text == nullptr) return kDefaultBytes;
  char* end = nullptr;
  const std::uint64_t bytes = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') {
    throw Error(ErrorKind::kUsage, fmt::format("DPTRAIN_EMU_MEMORY must be a number of bytes, found '{}'", text));
  }
  return bytes;
}

/// Accounts for the memory of one device: DPTRAIN_EMU_MEMORY bytes, or 4 GiB.
class EmuMemory {
 public:
  /// Throws Error{kMemory} with the requested and the free bytes.
  void* allocate(std::size_t bytes, const std::string& device) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t free = total_ - used_;
    void* memory = rounded(bytes) <= free ? device_blocks().add(bytes) : nullptr;
    if (memory == nullptr) {
      throw Error(ErrorKind::kMemory,
                  fmt::format("{}: out of memory: {} bytes requested, {} of {} free", device, bytes, free, total_));
    }
    used_ += rounded(bytes);
    return memory;
  }

  void free(void* memory) noexcept {
    const std::size_t bytes = device_blocks().remove(memory, "free");
    const std::lock_guard lock(mutex_);
    used_ -= rounded(bytes);
  }

  gpu::MemoryInfo info() const {
    const std::lock_guard lock(mutex_);
    return {total_, total_ - used_};
  }

 private:
  static std::uint64_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  mutable std::mutex mutex_;
  std::uint64_t total_ = pretended_bytes(), used_ = 0;
};

using gpu::EventHandle;
using gpu::GraphHandle;
using gpu::StreamHandle;

struct EmuEvent {
  EmuDevice* device;
  std::mutex mutex;
  std::shared_ptr<Mark> last;  ///< null before the first record
};

struct EmuGraph {
  std::shared_ptr<Capture> capture;
};

EmuStream& stream_of(StreamHandle handle) { return *static_cast<EmuStream*>(static_cast<simt::Queue*>(handle)); }

std::atomic<bool> peer_access_is_possible = true;

Scheduler& scheduler() { return Scheduler::instance(); }

class EmuRuntime final : public gpu::Runtime {
 public:
  explicit EmuRuntime(int id) { device_.id = id, device_.name = fmt::format("emu:{}", id); }
  ~EmuRuntime() override { scheduler().finish(device_); }
  EmuRuntime(const EmuRuntime&) = delete;
  EmuRuntime& operator=(const EmuRuntime&) = delete;

  std::string name() const override { return device_.name; }
  std::string description() const override {
    return fmt::format("{} emulated GPU {:.1f} GiB", device_.name, static_cast<double>(memory().total) / (1 << 30));
  }
  int multiprocessors() const override { return 2; }
  gpu::MemoryInfo memory() const override { return memory_.info(); }
  /// Enables subnormal floats as on GPUs, since float16 is converted through them.
  void enter() override {
    keep_subnormals();
    enter_device(device_.id);
  }
  bool enable_peer_access(gpu::Runtime& other) override {
    const int peer = static_cast<EmuRuntime&>(other).device_.id;
    if (peer == device_.id) return true;
    if (!peer_access_is_possible) return false;
    const std::lock_guard lock(peers_mutex_);
    peers_.insert(peer);
    return true;
  }
  std::set<int> peers() const {
    const std::lock_guard lock(peers_mutex_);
    return peers_;
  }

  void* allocate(std::size_t bytes) override {
    scheduler().forbid_while_recording("allocate");
    note_blocking_call("allocate");
    return memory_.allocate(bytes, device_.name);
  }
  void free(void* memory) noexcept override {
    if (memory == nullptr) return;
    scheduler().invalidate_recording("free");
    note_blocking_call("free");
    scheduler().finish(device_);
    memory_.free(memory);
  }
  void* allocate_host(std::size_t bytes) override {
    scheduler().forbid_while_recording("allocate_host");
    note_blocking_call("allocate_host");
    void* memory = host_blocks().add(bytes);
    if (memory == nullptr) {
      throw Error(ErrorKind::kMemory,
                  fmt::format("{}: out of page-locked memory: {} bytes requested", device_.name, bytes));
    }
    return memory;
  }
  void free_host(void* memory) noexcept override {
    if (memory == nullptr) return;
    scheduler().invalidate_recording("free_host");
    note_blocking_call("free_host");
    scheduler().finish(device_);
    host_blocks().remove(memory, "free_host");
  }

  StreamHandle make_stream(bool) override {
    auto* stream = new EmuStream(device_);
    scheduler().add(*stream);
    return static_cast<simt::Queue*>(stream);
  }
  void destroy_stream(StreamHandle handle) noexcept override {
    if (handle == nullptr) return;
    EmuStream* stream = &stream_of(handle);
    scheduler().remove(*stream);
    delete stream;
  }
  void synchronize(StreamHandle stream) override { scheduler().synchronize(stream_of(stream)); }
  bool idle(StreamHandle stream) override { return scheduler().idle(stream_of(stream)); }

  void copy_in(void* device, const void* host, std::size_t bytes, StreamHandle stream) override {
    if (bytes == 0) return;
    check_device_memory("copy_in", device, bytes);
    if (host_blocks().contain(host, bytes)) {
      queue("copy_in", stream, [=] { std::memcpy(device, host, bytes); });
      return;
    }
    scheduler().forbid_while_recording("copy_in from pageable memory");
    const auto* first = static_cast<const unsigned char*>(host);
    queue("copy_in", stream, [device, content = std::vector<unsigned char>(first, first + bytes)] {
      std::memcpy(device, content.data(), content.size());
    });
  }
  void copy_out(void* host, const void* device, std::size_t bytes, StreamHandle stream) override {
    if (bytes == 0) return;
    check_device_memory("copy_out", device, bytes);
    if (!host_blocks().contain(host, bytes)) scheduler().forbid_while_recording("copy_out to pageable memory");
    queue("copy_out", stream, [=] { std::memcpy(host, device, bytes); });
  }
  void copy(void* to, const void* from, std::size_t bytes, StreamHandle stream) override {
    if (bytes == 0) return;
    if (!host_blocks().contain(to, bytes)) check_device_memory("copy", to, bytes);
    if (!host_blocks().contain(from, bytes)) check_device_memory("copy", from, bytes);
    queue("copy", stream, [=] { std::memmove(to, from, bytes); });
  }
  void set_zero(void* device, std::size_t bytes, StreamHandle stream) override {
    if (bytes == 0) return;
    check_device_memory("set_zero", device, bytes);
    queue("set_zero", stream, [=] { std::memset(device, 0, bytes); });
  }

  void set_poisoned(void* device, std::size_t bytes, bool poisoned, StreamHandle stream) override {
    queue("set_poisoned", stream, [=] { dptrain::set_poisoned(device, bytes, poisoned); });
  }

  EventHandle make_event() override { return new EmuEvent{&device_, {}, nullptr}; }
  void destroy_event(EventHandle event) noexcept override { delete static_cast<EmuEvent*>(event); }
  void record(EventHandle handle, StreamHandle stream) override {
    EmuEvent& event = *static_cast<EmuEvent*>(handle);
    if (event.device != &stream_of(stream).device()) {
      throw Error(ErrorKind::kDevice, fmt::format("record: an event of {} in a stream of {}", event.device->name,
                                                  stream_of(stream).device().name));
    }
    const std::lock_guard lock(event.mutex);
    event.last = scheduler().record(stream_of(stream));
  }
  void wait(StreamHandle stream, EventHandle handle) override {
    EmuEvent& event = *static_cast<EmuEvent*>(handle);
    const std::lock_guard lock(event.mutex);
    scheduler().wait(stream_of(stream), event.last);
  }
  void synchronize_event(EventHandle handle) override { scheduler().synchronize(*last_mark(handle), device_); }
  bool passed(EventHandle handle) override { return scheduler().passed(*last_mark(handle), device_); }

  void begin_recording(StreamHandle stream) override { scheduler().begin_capture(stream_of(stream)); }
  GraphHandle end_recording(StreamHandle stream) override {
    return new EmuGraph{scheduler().end_capture(stream_of(stream))};
  }
  void replay(GraphHandle graph, StreamHandle stream) override {
    scheduler().replay(*static_cast<EmuGraph*>(graph)->capture, stream_of(stream));
  }
  void destroy_graph(GraphHandle graph) noexcept override { delete static_cast<EmuGraph*>(graph); }

 private:
  void note_blocking_call(const char* call) const { scheduler().note_blocking_call(device_.name + ": " + call); }
  static std::shared_ptr<Mark> last_mark(EventHandle handle) {
    EmuEvent& event = *static_cast<EmuEvent*>(handle);
    const std::lock_guard lock(event.mutex);
    if (event.last == nullptr)
      event.last = std::make_shared<Mark>(Mark{.passed = true, .captured = false, .capture = {}});
    return event.last;
  }
  void queue(const char* name, StreamHandle stream, std::function<void()> work) const {
    scheduler().push(stream_of(stream), {name, nullptr, std::move(work), nullptr});
  }
  void check_device_memory(const char* call, const void* memory, std::size_t bytes) const {
    if (device_blocks().contain(memory, bytes)) return;
    throw Error(ErrorKind::kDevice,
                fmt::format("{}: {}: {} bytes at {} are not in device memory", device_.name, call, bytes, memory));
  }

  EmuDevice device_;
  EmuMemory memory_;
  mutable std::mutex peers_mutex_;
  std::set<int> peers_;  ///< whose memory this device may access
};

}  // namespace

std::shared_ptr<gpu::Runtime> make_emu_runtime(int id) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<gpu::Runtime>> runtimes;
  if (id < 0) throw Error(ErrorKind::kDevice, fmt::format("emu:{}: no such device; emulated GPUs count from 0", id));
  const std::lock_guard lock(mutex);
  std::shared_ptr<gpu::Runtime> runtime = runtimes[id].lock();
  if (runtime == nullptr) runtimes[id] = runtime = std::make_shared<EmuRuntime>(id);
  return runtime;
}

void push_and_wait(gpu::StreamHandle handle, const char* name, std::function<void()> work,
                   std::function<bool()> ready) {
  EmuStream& stream = stream_of(handle);
  stream.push(name, std::move(work));
  scheduler().push(stream, {name, nullptr, nullptr, nullptr, std::move(ready)});
}

bool is_recorded(gpu::StreamHandle stream) { return scheduler().is_recorded(stream_of(stream)); }

std::set<int> peers_of(const gpu::Runtime& runtime) { return static_cast<const EmuRuntime&>(runtime).peers(); }
void allow_peer_access(bool possible) { peer_access_is_possible = possible; }

HostWaits host_waits() { return scheduler().host_waits(); }

bool is_collective_pending() { return scheduler().is_collective_pending(); }

std::vector<std::string> take_blocking_calls() { return scheduler().take_blocking_calls(); }

void reseed(std::uint64_t seed) {
  simt::set_seed(seed);
  scheduler().reseed(seed);
}

}  // namespace dptrain::backend::emu

namespace dptrain::backend {

std::unique_ptr<Device> make_emu_device(int id, const RuntimeOptions& options) {
  return emu::make_gpu_device(emu::make_emu_runtime(id), std::make_unique<emu::EmuConvolutionMaker>(), options);
}

}  // namespace dptrain::backend
