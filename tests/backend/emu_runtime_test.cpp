// The emulated GPUs: order within and across streams, missing events, recordings, memory, errors.

#include "backend/emu/emu_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "kernels/cuda/simt.h"

namespace dptrain::backend::emu {
namespace {

using gpu::EventHandle;
using gpu::Runtime;
using gpu::StreamHandle;
using ::testing::HasSubstr;

constexpr std::uint64_t kSeeds = 40;

void push(StreamHandle stream, std::function<void()> work, const char* name = "work") {
  static_cast<simt::Queue*>(stream)->push(name, std::move(work));
}

template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::kInternal, "nothing was thrown"};
}

/// One emulated GPU with two streams and an event.
struct Gpu {
  explicit Gpu(int id = 0) : runtime(make_emu_runtime(id)) {
    runtime->enter();
    a = runtime->make_stream(false), b = runtime->make_stream(true);
    event = runtime->make_event();
  }
  ~Gpu() {
    runtime->destroy_event(event);
    runtime->destroy_stream(a), runtime->destroy_stream(b);
    make_emu_runtime(0)->enter();
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  std::shared_ptr<Runtime> runtime;
  StreamHandle a, b;
  EventHandle event;
};

/// Number of seeds for which `run` returns true.
int count_seeds(const std::function<bool()>& run) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    reseed(seed);
    count += run() ? 1 : 0;
  }
  return count;
}

// --- Streams and events ---

TEST(EmuRuntime, AStreamRunsInOrderDuringWaits) {
  Gpu gpu;
  std::vector<int> seen;
  for (int i = 0; i < 5; ++i) push(gpu.a, [&seen, i] { seen.push_back(i); });
  EXPECT_TRUE(seen.empty());
  EXPECT_FALSE(gpu.runtime->idle(gpu.a));
  EXPECT_EQ(seen.size(), 1U);
  gpu.runtime->synchronize(gpu.a);
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(gpu.runtime->idle(gpu.a));
  EXPECT_EQ(make_emu_runtime(0), gpu.runtime);
}

/// A chain of copies over two streams: host -> x, then x -> y. Returns whether y is right.
bool copy_over_two_streams(Gpu& first, Gpu& second, bool with_event) {
  const int value = 7;
  int result = 0;
  first.runtime->enter();
  auto* x = static_cast<int*>(first.runtime->allocate(sizeof(int)));
  auto* y = static_cast<int*>(second.runtime->allocate(sizeof(int)));
  first.runtime->copy_in(x, &value, sizeof value, first.a);
  first.runtime->record(first.event, first.a);
  second.runtime->enter();
  if (with_event) second.runtime->wait(second.b, first.event);
  second.runtime->copy(y, x, sizeof value, second.b);
  second.runtime->copy_out(&result, y, sizeof result, second.b);
  second.runtime->synchronize(second.b);
  second.runtime->free(y);
  first.runtime->free(x);
  return result == value;
}

TEST(EmuRuntime, DetectsAMissingEvent) {
  Gpu gpu;
  EXPECT_EQ(count_seeds([&] { return copy_over_two_streams(gpu, gpu, true); }), static_cast<int>(kSeeds));
  const int lucky = count_seeds([&] { return copy_over_two_streams(gpu, gpu, false); });
  EXPECT_LT(lucky, static_cast<int>(kSeeds));
  EXPECT_GT(lucky, 0);
}

TEST(EmuRuntime, DetectsAMissingEventAcrossDevices) {
  Gpu first(0), second(1);
  EXPECT_EQ(count_seeds([&] { return copy_over_two_streams(first, second, true); }), static_cast<int>(kSeeds));
  EXPECT_LT(count_seeds([&] { return copy_over_two_streams(first, second, false); }), static_cast<int>(kSeeds));
}

TEST(EmuRuntime, WaitsForTheLastRecordBeforeTheCall) {
  Gpu gpu;
  const auto run = [&] {
    bool first = false, second = false, overtook = false;
    push(gpu.a, [&] { first = true; });
    gpu.runtime->record(gpu.event, gpu.a);
    gpu.runtime->wait(gpu.b, gpu.event);
    push(gpu.b, [&] {
      EXPECT_TRUE(first);
      overtook = !second;
    });
    push(gpu.a, [&] { second = true; });
    gpu.runtime->record(gpu.event, gpu.a);
    gpu.runtime->synchronize(gpu.b);
    gpu.runtime->synchronize(gpu.a);
    return overtook;
  };
  const int overtaken = count_seeds(run);
  EXPECT_GT(overtaken, 0);
  EXPECT_LT(overtaken, static_cast<int>(kSeeds));
}

TEST(EmuRuntime, AnUnrecordedEventDoesNotBlock) {
  Gpu gpu;
  bool ran = false;
  gpu.runtime->wait(gpu.a, gpu.event);
  push(gpu.a, [&] { ran = true; });
  gpu.runtime->synchronize(gpu.a);
  EXPECT_TRUE(ran);
}

TEST(EmuRuntime, OnlyPageableMemoryMayBeReusedAtOnce) {
  Gpu gpu;
  auto* device = static_cast<int*>(gpu.runtime->allocate(2 * sizeof(int)));
  auto* locked = static_cast<int*>(gpu.runtime->allocate_host(sizeof(int)));
  int pageable = 1, results[2] = {0, 0};
  *locked = 1;
  gpu.runtime->copy_in(device, &pageable, sizeof(int), gpu.a);
  gpu.runtime->copy_in(device + 1, locked, sizeof(int), gpu.a);
  pageable = *locked = 2;
  gpu.runtime->copy_out(results, device, sizeof results, gpu.a);
  EXPECT_EQ(results[0], 0);
  gpu.runtime->synchronize(gpu.a);
  EXPECT_EQ(results[0], 1);
  EXPECT_EQ(results[1], 2);
  gpu.runtime->free_host(locked);
  gpu.runtime->free(device);
}

TEST(EmuRuntime, ManyThreadsWaitAtOnce) {
  Gpu first(0), second(1);
  std::vector<int> values(8, 0);
  const auto drive = [&](Gpu& own, Gpu& other, std::size_t offset) {
    own.runtime->enter();
    for (int step = 0; step < 50; ++step) {
      for (std::size_t i = offset; i < offset + 4; ++i) push(own.a, [&values, i] { ++values[i]; });
      own.runtime->record(own.event, own.a);
      other.runtime->wait(own.b, own.event);
      push(own.b, [&values, offset] { values[offset] += values[offset + 1] > 0 ? 1 : 0; });
      own.runtime->synchronize(own.b);
    }
  };
  std::thread worker([&] { drive(second, first, 4); });
  drive(first, second, 0);
  worker.join();
  EXPECT_EQ(values, (std::vector<int>{100, 50, 50, 50, 100, 50, 50, 50}));
}

// --- Recordings ---

TEST(EmuRuntime, ARecordingRunsWhenReplayed) {
  Gpu gpu;
  int count = 0;
  gpu.runtime->begin_recording(gpu.a);
  push(gpu.a, [&] { ++count; });
  push(gpu.a, [&] { count *= 2; });
  const auto graph = gpu.runtime->end_recording(gpu.a);
  gpu.runtime->synchronize(gpu.a);
  EXPECT_EQ(count, 0);
  for (int i = 0; i < 3; ++i) gpu.runtime->replay(graph, gpu.a);
  push(gpu.a, [&] { count += 1000; });
  gpu.runtime->replay(graph, gpu.b);
  gpu.runtime->synchronize(gpu.a);
  gpu.runtime->synchronize(gpu.b);
  gpu.runtime->destroy_graph(graph);
  EXPECT_GE(count, 1014);
}

/// Records x = host, y = x + 1 in the other stream (with or without a wait), join, z = y. Returns whether z is right in
/// every replay.
bool replay_with_a_fork(Gpu& gpu, bool with_event) {
  int x = 0, y = 0, z = 0, input = 0;
  bool right = true;
  const EventHandle joined = gpu.runtime->make_event();
  gpu.runtime->begin_recording(gpu.a);
  gpu.runtime->record(gpu.event, gpu.a);
  gpu.runtime->wait(gpu.b, gpu.event);
  push(gpu.a, [&] { x = input; });
  gpu.runtime->record(gpu.event, gpu.a);
  if (with_event) gpu.runtime->wait(gpu.b, gpu.event);
  push(gpu.b, [&] { y = x + 1; });
  gpu.runtime->record(joined, gpu.b);
  gpu.runtime->wait(gpu.a, joined);
  push(gpu.a, [&] { z = y; });
  const auto graph = gpu.runtime->end_recording(gpu.a);
  for (int turn = 1; turn <= 3; ++turn) {
    push(gpu.a, [&, turn] { input = turn * 10; });
    gpu.runtime->replay(graph, gpu.a);
    push(gpu.a, [&, turn] { right = right && z == turn * 10 + 1; });
  }
  gpu.runtime->synchronize(gpu.a);
  gpu.runtime->destroy_graph(graph);
  gpu.runtime->destroy_event(joined);
  return right;
}

TEST(EmuRuntime, ARecordingKeepsForksAndJoins) {
  Gpu gpu;
  EXPECT_EQ(count_seeds([&] { return replay_with_a_fork(gpu, true); }), static_cast<int>(kSeeds));
  EXPECT_LT(count_seeds([&] { return replay_with_a_fork(gpu, false); }), static_cast<int>(kSeeds));
}

TEST(EmuRuntime, ARecordingMustBeJoined) {
  Gpu gpu;
  gpu.runtime->begin_recording(gpu.a);
  gpu.runtime->record(gpu.event, gpu.a);
  gpu.runtime->wait(gpu.b, gpu.event);
  push(
      gpu.b, [] {}, "stray");
  EXPECT_THAT(error_of([&] { gpu.runtime->end_recording(gpu.a); }).what(), HasSubstr("nothing waits for: 'stray'"));
  gpu.runtime->synchronize(gpu.b);  // an ordinary stream again
}

TEST(EmuRuntime, AKernelMayWaitForOthers) {
  Gpu gpu;
  std::atomic<bool> open = false;
  std::atomic<int> worked = 0;
  bool behind = false;
  push_and_wait(
      gpu.a, "meeting", [&] { ++worked; }, [&] { return open.load(); });
  push(gpu.a, [&] { behind = true; });
  for (int look = 0; look < 20; ++look) EXPECT_FALSE(gpu.runtime->idle(gpu.a));
  EXPECT_EQ(worked, 1);
  EXPECT_FALSE(behind);
  std::thread other([&] { open = true; });
  gpu.runtime->synchronize(gpu.a);
  other.join();
  EXPECT_TRUE(behind);

  // In a recording, and in every replay.
  gpu.runtime->begin_recording(gpu.a);
  EXPECT_TRUE(is_recorded(gpu.a));
  EXPECT_FALSE(is_recorded(gpu.b));
  push_and_wait(
      gpu.a, "meeting", [&] { ++worked; }, [&] { return open.load(); });
  push(gpu.a, [&] { behind = true; });
  const auto graph = gpu.runtime->end_recording(gpu.a);
  EXPECT_FALSE(is_recorded(gpu.a));
  for (int replay = 2; replay < 4; ++replay) {
    open = behind = false;
    gpu.runtime->replay(graph, gpu.a);
    for (int look = 0; look < 20; ++look) EXPECT_FALSE(gpu.runtime->idle(gpu.a));
    EXPECT_FALSE(behind);
    open = true;
    gpu.runtime->synchronize(gpu.a);
    EXPECT_TRUE(behind);
    EXPECT_EQ(worked, replay);
  }
  gpu.runtime->destroy_graph(graph);
}

TEST(EmuRuntime, RecordingsRejectForbiddenCalls) {
  Gpu gpu;
  int pageable = 0;
  void* device = gpu.runtime->allocate(4);
  const auto refused = [&](const std::function<void()>& call) {
    gpu.runtime->begin_recording(gpu.a);
    const std::string message = error_of(call).what();
    EXPECT_THROW(gpu.runtime->end_recording(gpu.a), Error);
    return message;
  };
  EXPECT_THAT(refused([&] { gpu.runtime->allocate(4); }), HasSubstr("allocate is not allowed"));
  EXPECT_THAT(refused([&] { gpu.runtime->synchronize(gpu.b); }), HasSubstr("synchronize is not allowed"));
  EXPECT_THAT(refused([&] { gpu.runtime->copy_in(device, &pageable, 4, gpu.a); }), HasSubstr("from pageable memory"));
  EXPECT_THAT(refused([&] { gpu.runtime->copy_out(&pageable, device, 4, gpu.a); }), HasSubstr("to pageable memory"));

  gpu.runtime->record(gpu.event, gpu.b);
  gpu.runtime->begin_recording(gpu.a);
  EXPECT_THAT(error_of([&] { gpu.runtime->wait(gpu.a, gpu.event); }).what(), HasSubstr("outside of the recording"));
  gpu.runtime->record(gpu.event, gpu.a);
  gpu.runtime->destroy_graph(gpu.runtime->end_recording(gpu.a));
  EXPECT_THAT(error_of([&] { gpu.runtime->wait(gpu.b, gpu.event); }).what(), HasSubstr("a recording that has ended"));
  EXPECT_THAT(error_of([&] { gpu.runtime->end_recording(gpu.a); }).what(), HasSubstr("no recording was begun"));
  gpu.runtime->free(device);
}

TEST(EmuRuntime, AQueryByAnotherThreadInvalidatesTheRecording) {
  Gpu gpu;
  const auto refused = [&](const std::function<void()>& call) {
    gpu.runtime->begin_recording(gpu.a);
    gpu.runtime->record(gpu.event, gpu.a);
    std::string message;
    std::thread([&] { message = error_of(call).what(); }).join();
    EXPECT_THAT(error_of([&] { gpu.runtime->end_recording(gpu.a); }).what(),
                HasSubstr("was called while a stream was recorded"));
    return message;
  };
  EXPECT_EQ(refused([&] { gpu.runtime->synchronize(gpu.a); }), "synchronize: the stream is being recorded");
  EXPECT_EQ(refused([&] { gpu.runtime->idle(gpu.a); }), "idle: the stream is being recorded");
  EXPECT_EQ(refused([&] { gpu.runtime->synchronize_event(gpu.event); }),
            "synchronize_event: the stream is being recorded");
  EXPECT_EQ(refused([&] { gpu.runtime->passed(gpu.event); }), "passed: the stream is being recorded");

  gpu.runtime->begin_recording(gpu.a);
  std::thread([&] { gpu.runtime->synchronize(gpu.b); }).join();  // of another stream
  gpu.runtime->destroy_graph(gpu.runtime->end_recording(gpu.a));
}

// --- Memory ---

TEST(EmuRuntime, MemoryIsZeroAndCounted) {
  Gpu gpu;
  const auto before = gpu.runtime->memory();
  EXPECT_EQ(before.total, std::uint64_t{4} << 30);
  auto* memory = static_cast<unsigned char*>(gpu.runtime->allocate(1000));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0U);
  EXPECT_EQ(std::vector<unsigned char>(memory, memory + 1000), std::vector<unsigned char>(1000, 0));
  EXPECT_EQ(gpu.runtime->memory().free, before.free - 1024);
  gpu.runtime->free(memory);
  EXPECT_EQ(gpu.runtime->memory().free, before.free);
}

TEST(EmuRuntime, FreeWaitsForQueuedWork) {
  Gpu gpu;
  auto* memory = static_cast<int*>(gpu.runtime->allocate(4));
  bool ran = false;
  gpu.runtime->set_zero(memory, 4, gpu.a);
  push(gpu.b, [&] { ran = *memory == 0; });
  gpu.runtime->free(memory);
  EXPECT_TRUE(ran);
}

TEST(EmuRuntime, OutOfMemory) {
  ASSERT_EQ(setenv("DPTRAIN_EMU_MEMORY", "10000", 1), 0);
  const auto runtime = make_emu_runtime(17);
  unsetenv("DPTRAIN_EMU_MEMORY");
  void* kept = runtime->allocate(6000);
  const Error error = error_of([&] { runtime->allocate(4000); });
  EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  EXPECT_STREQ(error.what(), "emu:17: out of memory: 4000 bytes requested, 3856 of 10000 free");
  runtime->free(kept);
  runtime->free(runtime->allocate(9984));
}

TEST(EmuRuntime, CopiesStayInBounds) {
  Gpu gpu;
  auto* memory = static_cast<char*>(gpu.runtime->allocate(100));
  char host[200] = {};
  EXPECT_THAT(error_of([&] { gpu.runtime->copy_in(memory + 1, host, 100, gpu.a); }).what(),
              HasSubstr("copy_in: 100 bytes at"));
  EXPECT_THAT(error_of([&] { gpu.runtime->copy_out(host, host, 8, gpu.a); }).what(), HasSubstr("not in device memory"));
  EXPECT_THAT(error_of([&] { gpu.runtime->set_zero(memory, 101, gpu.a); }).what(), HasSubstr("set_zero: 101"));
  gpu.runtime->free(memory);
}

TEST(EmuRuntimeDeathTest, FreeTwice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int none = 0;
  EXPECT_DEATH(make_emu_runtime(0)->free(&none), "free: .* was not allocated");
}

// --- Errors ---

TEST(EmuRuntime, AnErrorAffectsOnlyItsDevice) {
  Gpu other(1), gpu(0);
  gpu.runtime->enter();
  bool ran = false;
  push(
      gpu.a, [] { throw std::runtime_error("illegal address"); }, "scale_kernel");
  push(gpu.a, [&] { ran = true; });
  for (int i = 0; i < 2; ++i) {
    const Error error = error_of([&] { gpu.runtime->synchronize(i == 0 ? gpu.a : gpu.b); });
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_STREQ(error.what(), "emu:0, scale_kernel: illegal address");
  }
  EXPECT_THROW(static_cast<void>(gpu.runtime->idle(gpu.b)), Error);
  EXPECT_FALSE(ran);
  other.runtime->enter();
  push(other.a, [&] { ran = true; });
  other.runtime->synchronize(other.a);
  EXPECT_TRUE(ran);
}

TEST(EmuRuntime, AnErrorEndsWithItsRuntime) {
  const Gpu gpu;  // fails if the previous runtime kept its error
  EXPECT_TRUE(gpu.runtime->idle(gpu.a));
}

TEST(EmuRuntime, KernelsNeedTheirDeviceEntered) {
  Gpu first(0), second(1);
  first.runtime->enter();
  EXPECT_STREQ(error_of([&] {
                 push(
                     second.a, [] {}, "scale_kernel");
               }).what(),
               "emu:1: 'scale_kernel' started by a thread that has entered emu:0; call enter() first");
  EXPECT_THAT(error_of([&] { second.runtime->record(first.event, second.a); }).what(),
              HasSubstr("an event of emu:0 in a stream of emu:1"));
  EXPECT_EQ(error_of([] { make_emu_runtime(-1); }).kind(), ErrorKind::kDevice);
}

}  // namespace
}  // namespace dptrain::backend::emu
