// Texts of messages and keys of the plan cache; tests/plans covers the choice of engines.

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cuda/cudnn_attention.h"
#include "backend/cuda/cudnn_tuner.h"
#include "backend/cuda/plan_only_runtime.h"
#include "core/error.h"

namespace dptrain::test {
namespace {

using namespace backend::cuda;

backend::gpu::ConvProblem sample() {
  return {{.in_h = 11,
           .in_w = 9,
           .in_channels = 6,
           .out_h = 6,
           .out_w = 5,
           .out_channels = 4,
           .kernel_h = 3,
           .kernel_w = 2,
           .stride_h = 2,
           .stride_w = 2,
           .pad_top = 1,
           .pad_bottom = 0,
           .pad_left = 0,
           .pad_right = 1,
           .groups = 2},
          3,
          DType::kBf16};
}

TEST(Engines, AreFoundByName) {
  EXPECT_EQ((EngineName{.engine = 57, .knobs = {{2, 9}, {13, 1}}}.text()), "eng57 k2=9 k13=1");
  EXPECT_EQ((EngineName{.engine = 3, .knobs = {}}.text()), "eng3");
}

TEST(Engines, RejectionsAreGroupedByReason) {
  Rejections rejections;
  EXPECT_EQ(rejections.text(), "the heuristics name none");
  rejections.add("not deterministic", "A1 eng0");
  rejections.add("by FFT", "A0 eng4");
  rejections.add("not deterministic", "F2 eng8");
  EXPECT_EQ(rejections.text(), "by FFT: A0 eng4; not deterministic: A1 eng0, F2 eng8");
}

TEST(Engines, DescribesUnusualPropertiesOfAProblem) {
  EXPECT_EQ(describe(sample()),
            "bfloat16 [3, 11, 9, 6] -> [3, 6, 5, 4], filter 3x2, strides 2x2, padding (1, 0), (0, 1), groups 2");
  auto unaligned = sample();
  unaligned.alignment = 4;
  EXPECT_EQ(describe(unaligned), describe(sample()) + ", aligned to 4 bytes");
}

// Every property that changes the plan must change the key; otherwise a replica would run the engine of another
// problem.
TEST(Engines, CacheKeysDifferWhereverPlansDo) {
  std::vector<std::string> keys;
  const auto add = [&](const backend::gpu::ConvProblem& problem, const backend::gpu::ConvOptions& options = {},
                       ConvPass pass = ConvPass::kForward,
                       const FusedOps& fused = {}) { keys.push_back(plan_cache_key(problem, pass, fused, options)); };
  add(sample());
  using Problem = backend::gpu::ConvProblem;
  for (std::int64_t Problem::*member : std::initializer_list<std::int64_t Problem::*>{
           &Problem::rows, &Problem::in_h, &Problem::in_w, &Problem::in_channels, &Problem::out_h, &Problem::out_w,
           &Problem::out_channels, &Problem::kernel_h, &Problem::kernel_w, &Problem::stride_h, &Problem::stride_w,
           &Problem::dilation_h, &Problem::dilation_w, &Problem::pad_top, &Problem::pad_bottom, &Problem::pad_left,
           &Problem::pad_right, &Problem::groups}) {
    auto other = sample();
    other.*member += 10;
    add(other);
  }
  auto half = sample();
  half.type = DType::kF16;
  add(half);
  auto unaligned = sample();
  unaligned.alignment = 4;
  add(unaligned);
  add(sample(), {.tf32 = false});
  add(sample(), {.deterministic = false});
  add(sample(), {.workspace_limit = 5});
  add(sample(), {}, ConvPass::kData);
  add(sample(), {}, ConvPass::kWeights);
  add(sample(), {}, ConvPass::kForward, {.bias = true});
  const std::size_t all = keys.size();
  std::ranges::sort(keys);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::unique(keys).begin() - keys.begin()), all);
  for (const std::string& key : keys) EXPECT_EQ(key.find_first_of("\t\n#"), std::string::npos) << key;
}

TEST(Engines, FaultyOnesAreRejectedInEveryVersionNotKnownToBeRight) {
  const EngineQuery strict{.options = {.tf32 = false}, .pass = ConvPass::kWeights};
  EngineQuery tf32 = strict, uneven = strict, forward = strict, bf16 = strict;
  tf32.options.tf32 = true;
  uneven.uneven_padding = true;
  forward.pass = ConvPass::kForward;
  bf16.type = DType::kBf16;
  for (const std::size_t version : {90800, 91100, 91400, 91900, 92801, 100000}) {
    EXPECT_EQ(find_fault(known_faults(), 17, strict, version), "loses digits");
    EXPECT_EQ(find_fault(known_faults(), 1, uneven, version), "wrong where padding is uneven");
    EXPECT_EQ(find_fault(known_faults(), 1, strict, version), "");
    for (const EngineQuery& query : {tf32, forward, bf16})
      EXPECT_EQ(find_fault(known_faults(), 17, query, version), "");
    EXPECT_EQ(find_fault(known_faults(), 2, uneven, version), "");
  }
  const KnownFault fixed{
      .engine = 5, .pass = ConvPass::kForward, .seen = 91400, .fixed = 92000, .reason = "wrong numbers"};
  EXPECT_EQ(find_fault({&fixed, 1}, 5, forward, 91400), "wrong numbers");
  EXPECT_EQ(find_fault({&fixed, 1}, 5, forward, 91999), "wrong numbers");
  EXPECT_EQ(find_fault({&fixed, 1}, 5, forward, 92000), "");
  for (const KnownFault& fault : known_faults()) EXPECT_GE(fault.seen, 90800U);
}

TEST(Engines, PreferencesAreForDenseLayersOfOneKindGpuAndVersion) {
  const std::vector<PreferredEngine> table{{.pass = ConvPass::kWeights,
                                            .products = ProductType::kTf32,
                                            .architecture = 90,
                                            .first_version = 91400,
                                            .last_version = 91499,
                                            .engine = 58},
                                           {.pass = ConvPass::kForward,
                                            .products = ProductType::k16Bits,
                                            .architecture = 90,
                                            .first_version = 91400,
                                            .last_version = 91499,
                                            .engine = 3}};
  backend::gpu::ConvProblem dense{{.in_channels = 500, .out_channels = 10}, 37};
  const backend::gpu::ConvOptions tf32{.tf32 = true}, strict{.tf32 = false};
  EXPECT_EQ(find_preferred(table, dense, ConvPass::kWeights, tf32, 90, 91400), 58);
  EXPECT_EQ(find_preferred(table, dense, ConvPass::kWeights, tf32, 90, 91499), 58);
  EXPECT_EQ(find_preferred(table, dense, ConvPass::kWeights, tf32, 90, 91399), std::nullopt);
  EXPECT_EQ(find_preferred(table, dense, ConvPass::kWeights, tf32, 90, 91500), std::nullopt);
  EXPECT_EQ(find_preferred(table, dense, ConvPass::kWeights, tf32, 100, 91400), std::nullopt);
  EXPECT_EQ(find_preferred(table, dense, ConvPass::kWeights, strict, 90, 91400), std::nullopt);
  EXPECT_EQ(find_preferred(table, dense, ConvPass::kData, tf32, 90, 91400), std::nullopt);
  for (const DType type : {DType::kBf16, DType::kF16}) {
    dense.type = type;
    EXPECT_EQ(find_preferred(table, dense, ConvPass::kForward, strict, 90, 91400), 3);
  }
  for (std::int64_t kernels::ConvWindow::*member : {&kernels::ConvWindow::in_h, &kernels::ConvWindow::out_w,
                                                    &kernels::ConvWindow::kernel_h, &kernels::ConvWindow::groups}) {
    auto convolution = dense;
    convolution.*member = 2;
    EXPECT_EQ(find_preferred(table, convolution, ConvPass::kForward, tf32, 90, 91400), std::nullopt);
  }
}

TEST(CudnnAttention, SupportsCommonHeadsOfNewVersions) {
  backend::gpu::AttentionProblem problem{
      .shape = {.heads = 4, .queries = 5, .keys = 1, .key_dim = 64, .value_dim = 40, .causal = true}, .rows = 3};
  EXPECT_EQ(describe(problem), "bfloat16 [3, 4, 5, 64] x [3, 4, 1, 64], values of 40, causal");
  EXPECT_EQ(why_no_cudnn_attention(problem, 91800), "");
  EXPECT_EQ(why_no_cudnn_attention(problem, 91700), "needs cuDNN 9.18 or newer");
  problem.shape.queries = 1;
  EXPECT_EQ(why_no_cudnn_attention(problem, 91800), "one query and one key");
  for (const std::int64_t width : {4, 20, 136}) {
    problem.shape.keys = 7;
    problem.shape.value_dim = width;
    EXPECT_EQ(why_no_cudnn_attention(problem, 91800),
              "heads of " + std::to_string(width) + " elements, expected a multiple of 8 up to 128");
  }
}

TEST(CudnnPass, RemakesARejectedPlan) {
  int executed = 0, remade = 0;
  const auto answer = [&](std::vector<cudnnStatus_t> answers) {
    executed = remade = 0;
    return first_execution([&] { return answers.at(static_cast<std::size_t>(executed++)); }, [&] { ++remade; });
  };
  EXPECT_EQ(answer({CUDNN_STATUS_SUCCESS}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(remade, 0);
  EXPECT_EQ(answer({CUDNN_STATUS_BAD_PARAM, CUDNN_STATUS_SUCCESS}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(remade, 1);
  EXPECT_EQ(answer({CUDNN_STATUS_BAD_PARAM_NULL_POINTER, CUDNN_STATUS_BAD_PARAM}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(executed, 2);
  EXPECT_EQ(answer({CUDNN_STATUS_EXECUTION_FAILED}), CUDNN_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(remade, 0);
}

TEST(PlanOnlyRuntime, HasPropertiesAndNoMemory) {
  const auto runtime =
      make_plan_only_runtime({.name = "h200", .description = "on paper", .multiprocessors = 132, .memory_bytes = 5});
  EXPECT_EQ(runtime->multiprocessors(), 132);
  EXPECT_EQ(runtime->memory().free, 5U);
  EXPECT_THROW(runtime->allocate(1), Error);
}

}  // namespace
}  // namespace dptrain::test
