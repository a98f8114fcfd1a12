// The real NCCL on a GPU, as far as one GPU permits: a world of one rank. Initialization, streams, events, buckets,
// recorded steps and the end are as with many ranks. A sum over one rank changes nothing, so the results equal those
// without NCCL.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

NcclGpuOutcome train(runtime::Connector& connector, backend::Graphs graphs) {
  constexpr std::int64_t kGpuRows = 12;
  NcclGpuOutcome outcome{.model = model_of(kSmallNet), .losses = {}};
  std::vector<std::unique_ptr<backend::Device>> devices;
  devices.push_back(backend::make_cuda_device(0, {.tf32 = false}));
  const plan::Plan plan = small_plan(outcome.model, *devices.front());
  runtime::ReplicaSet set(
      plan, std::move(devices), connector,
      {.weights = {1}, .batch_sizes = {kGpuRows}, .optimizer = sgd(), .seed = 5, .check_every = 1, .graphs = graphs});
  set.push(outcome.model);
  for (std::int64_t number = 0; number < 9; ++number) {
    const SampleBatch batch(kGpuRows, kSmallNetInput, 3, static_cast<std::uint64_t>(number));
    outcome.losses.push_back(
        set.step(batch.view(), {.number = number, .learning_rate = 0.05, .global_samples = kGpuRows}).loss);
  }
  set.pull(outcome.model);
  return outcome;
}

TEST(NcclOnAGpu, AWorldOfOneTrainsAsWithoutNccl) {
  DPTRAIN_NEED_GPU();
  const auto alone = make_local(1);
  const NcclGpuOutcome expected = train(*alone, backend::Graphs::kOff);
  EXPECT_GT(distance(expected.model, model_of(kSmallNet)), 1e-3);
  for (const backend::Graphs graphs : {backend::Graphs::kOff, backend::Graphs::kOn})
    for (const bool deterministic : {true, false}) {
      const auto nccl = make_nccl({0}, {.deterministic = deterministic});
      const NcclGpuOutcome found = train(*nccl, graphs);
      EXPECT_EQ(found.losses, expected.losses);
      EXPECT_EQ(distance(found.model, expected.model), 0);
    }
}

}  // namespace
}  // namespace dptrain::distributed
