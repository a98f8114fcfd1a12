// The real NCCL on one GPU. With one rank NCCL launches nothing: a sum in place is no work at all, a gather is a copy.
// Such a world shows that the library has our functions and initializes and ends two communicators, and that streams,
// events, buckets and recordings around the calls change no result. It runs no kernel, channel or helper thread of
// NCCL. Two ranks on the GPU do, with NCCL 2.30 or newer (`check.sh correctness --only two_ranks`).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "core/format.h"
#include "cuda/gpu_requirement.h"
#include "distributed/connector.h"
#include "distributed/nccl_connector.h"
#include "runtime/small_net.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using test::gpu_is_required;

struct NcclGpuOutcome {
  graph::Model model;
  std::vector<double> losses;
};

/// Trains `ranks` replicas on GPU 0.
NcclGpuOutcome train(runtime::Connector& connector, int ranks, backend::Graphs graphs) {
  constexpr std::int64_t kGpuRows = 12;
  NcclGpuOutcome outcome{.model = model_of(kSmallNet), .losses = {}};
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(backend::make_cuda_device(0, {.tf32 = false}));
  const plan::Plan plan = small_plan(outcome.model, *devices.front());
  runtime::ReplicaSet set(plan, std::move(devices), connector,
                          {.weights = std::vector<double>(static_cast<std::size_t>(ranks), 1.0),
                           .batch_sizes = {kGpuRows},
                           .optimizer = sgd(),
                           .seed = 5,
                           .check_every = 1,
                           .graphs = graphs});
  set.push(outcome.model);
  for (std::int64_t number = 0; number < 9; ++number) {
    const SampleBatch batch(kGpuRows, kSmallNetInput, 3, static_cast<std::uint64_t>(number));
    outcome.losses.push_back(
        set.step(batch.view(), {.number = number, .learning_rate = 0.05, .global_samples = kGpuRows}).loss);
  }
  set.pull(outcome.model);
  return outcome;
}

/// Trains with NCCL in each mode. `gpus`: one number per rank, which make_nccl requires to differ; all are on GPU 0.
void expect_trains_as(const NcclGpuOutcome& expected, const std::vector<int>& gpus) {
  for (const backend::Graphs graphs : {backend::Graphs::kOff, backend::Graphs::kOn})
    for (const bool deterministic : {true, false}) {
      const auto nccl = make_nccl(gpus, {.deterministic = deterministic});
      const NcclGpuOutcome found = train(*nccl, static_cast<int>(gpus.size()), graphs);
      EXPECT_EQ(found.losses, expected.losses);
      EXPECT_EQ(distance(found.model, expected.model), 0);
    }
}

TEST(NcclOnAGpu, AWorldOfOneTrainsAsWithoutNccl) {
  DPTRAIN_NEED_GPU();
  const auto alone = make_local(1);
  const NcclGpuOutcome expected = train(*alone, 1, backend::Graphs::kOff);
  EXPECT_GT(distance(expected.model, model_of(kSmallNet)), 1e-3);
  expect_trains_as(expected, {0});
}

/// Why NCCL cannot have two ranks on one GPU; "" if it can.
std::string why_no_two_ranks() {
  constexpr std::string_view kVariable = "NCCL_MULTI_RANK_GPU_ENABLE";
  int version = 0;
  nccl::library().get_version(&version);
  if (version < 23000)
    return fmt::format("needs NCCL 2.30 or newer, found {}.{}", version / 10000, version / 100 % 100);
  // NCCL reads it when it initializes its first communicator in the process, so the test cannot set it.
  const char* enabled = std::getenv(kVariable.data());
  return enabled != nullptr && enabled == std::string_view("1") ? "" : fmt::format("needs {}=1", kVariable);
}

// The sum of two values does not depend on their order, so the bits are those of replicas without NCCL.
TEST(NcclOnAGpu, TwoRanksTrainAsTwoReplicasWithoutNccl) {
  DPTRAIN_NEED_GPU();
  if (const std::string why = why_no_two_ranks(); !why.empty()) GTEST_SKIP() << why;
  const auto streams = make_local_streams(2);
  const NcclGpuOutcome expected = train(*streams, 2, backend::Graphs::kOff);
  EXPECT_GT(distance(expected.model, model_of(kSmallNet)), 1e-3);
  expect_trains_as(expected, {0, 1});
}

}  // namespace
}  // namespace dptrain::distributed
