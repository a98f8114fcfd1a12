#include "backend/cuda/cuda_runtime.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "core/error.h"
#include "cuda/gpu_requirement.h"

namespace dptrain::test {
namespace {

using backend::cuda::make_cuda_runtime;

std::string error_of(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(CudaRuntime, ReportsAMissingDriverInOneSentence) {
  const std::string missing = backend::why_no_gpu();
  if (missing.empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(error_of([] { make_cuda_runtime(0); }), missing + "; use --cpus N");
}

TEST(CudaRuntime, NumbersGpusInPciOrder) { EXPECT_STREQ(std::getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID"); }

TEST(CudaRuntime, AnUnknownIdListsTheExistingOnes) {
  DPTRAIN_NEED_GPU();
  const std::string text = error_of([] { make_cuda_runtime(99); });
  EXPECT_EQ(text.find("there is no gpu:99; this machine has gpu:0 ("), 0U) << text;
  EXPECT_THROW(make_cuda_runtime(-1), Error);
}

TEST(CudaRuntime, IsSharedByUsersOfOneId) {
  DPTRAIN_NEED_GPU();
  const auto first = make_cuda_runtime(0);
  EXPECT_EQ(make_cuda_runtime(0), first);
  EXPECT_EQ(first->name(), "gpu:0");
  EXPECT_EQ(first->description().find("gpu:0 "), 0U);
  EXPECT_GT(first->multiprocessors(), 0);
}

TEST(CudaRuntime, EnablesPeerAccessOnce) {
  DPTRAIN_NEED_GPU();
  const auto first = make_cuda_runtime(0);
  EXPECT_TRUE(first->enable_peer_access(*first)) << "its own memory";
  if (backend::gpu_facts().size() < 2) GTEST_SKIP() << "needs two GPUs";
  const auto second = make_cuda_runtime(1);
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(first->enable_peer_access(*second), backend::gpus_are_peers(0, 1));
    EXPECT_EQ(second->enable_peer_access(*first), backend::gpus_are_peers(1, 0));
  }
  // Copies work with and without it.
  const int value = 7;
  int result = 0;
  first->enter();
  auto* from = static_cast<int*>(first->allocate(sizeof value));
  auto* to = static_cast<int*>(second->allocate(sizeof value));
  const auto stream = first->make_stream(false);
  first->copy_in(from, &value, sizeof value, stream);
  first->synchronize(stream);
  second->enter();
  const auto other = second->make_stream(false);
  second->copy(to, from, sizeof value, other);
  second->copy_out(&result, to, sizeof result, other);
  second->synchronize(other);
  EXPECT_EQ(result, value);
  second->destroy_stream(other);
  second->free(to);
  first->destroy_stream(stream);
  first->free(from);
  first->enter();
}

TEST(CudaRuntime, MemoryIsZeroAndCopiesKeepOrder) {
  DPTRAIN_NEED_GPU();
  const auto runtime = make_cuda_runtime(0);
  runtime->enter();
  constexpr std::size_t kBytes = 1'000'003;
  auto* device = static_cast<char*>(runtime->allocate(kBytes));
  auto* other = static_cast<char*>(runtime->allocate(kBytes));
  auto* host = static_cast<char*>(runtime->allocate_host(kBytes));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(device) % 256, 0U);
  const auto stream = runtime->make_stream(true);
  std::memset(host, 1, kBytes);
  runtime->copy_out(host, device, kBytes, stream);
  runtime->synchronize(stream);
  EXPECT_TRUE(runtime->idle(stream));
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(host[i], 0) << i;

  std::memset(host, 42, kBytes);
  runtime->copy_in(device, host, kBytes, stream);
  runtime->copy(other, device, kBytes, stream);
  runtime->set_zero(other, 7, stream);
  std::vector<char> back(kBytes, 1);
  runtime->copy_out(back.data(), other, kBytes, stream);
  runtime->synchronize(stream);
  EXPECT_EQ(back[6], 0);
  EXPECT_EQ(back[7], 42);
  EXPECT_EQ(back.back(), 42);
  runtime->destroy_stream(stream);
  runtime->free_host(host);
  runtime->free(other);
  runtime->free(device);
}

TEST(CudaRuntime, TooMuchMemoryIsARecoverableError) {
  DPTRAIN_NEED_GPU();
  const auto runtime = make_cuda_runtime(0);
  runtime->enter();
  try {
    runtime->allocate(std::size_t{1} << 50);
    FAIL() << "a PiB was given";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_NE(std::string(error.what()).find("gpu:0: 1024.0 TiB of memory requested, "), std::string::npos)
        << error.what();
  }
  runtime->free(runtime->allocate(1 << 20));
}

TEST(CudaRuntime, EventsOrderStreamsAndGraphsReplay) {
  DPTRAIN_NEED_GPU();
  const auto runtime = make_cuda_runtime(0);
  runtime->enter();
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  auto* first = static_cast<char*>(runtime->allocate(kBytes));
  auto* second = static_cast<char*>(runtime->allocate(kBytes));
  auto* host = static_cast<char*>(runtime->allocate_host(kBytes));
  const auto upload = runtime->make_stream(false), work = runtime->make_stream(false);
  const auto done = runtime->make_event();
  runtime->wait(work, done);  // never recorded: does not block
  std::memset(host, 5, kBytes);
  runtime->copy_in(first, host, kBytes, upload);
  runtime->record(done, upload);
  runtime->wait(work, done);

  runtime->synchronize(work);
  runtime->begin_recording(work);
  runtime->copy(second, first, kBytes, work);
  runtime->set_zero(first, kBytes, work);
  const auto graph = runtime->end_recording(work);
  char last = 1;
  runtime->copy_out(&last, second + kBytes - 1, 1, work);
  runtime->synchronize(work);
  EXPECT_EQ(last, 0) << "recording must not run";
  for (const char expected : {char{5}, char{0}}) {  // the second time, the source is zero
    runtime->replay(graph, work);
    runtime->copy_out(&last, second + kBytes - 1, 1, work);
    runtime->synchronize(work);
    EXPECT_EQ(last, expected);
  }
  runtime->destroy_graph(graph);
  runtime->destroy_event(done);
  runtime->destroy_stream(work);
  runtime->destroy_stream(upload);
  runtime->free_host(host);
  runtime->free(second);
  runtime->free(first);
}

TEST(CudaRuntime, AnyThreadMayUseIt) {
  DPTRAIN_NEED_GPU();
  const auto runtime = make_cuda_runtime(0);
  void* memory = nullptr;
  std::thread([&] { memory = runtime->allocate(100); }).join();
  std::thread([&] { runtime->free(memory); }).join();
  std::thread([&] { EXPECT_GT(runtime->memory().free, 0U); }).join();
}

}  // namespace
}  // namespace dptrain::test
