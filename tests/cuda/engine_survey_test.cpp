// Compares every engine that the heuristics list and dptrain accepts with plain loops in double, on a GPU. dptrain uses
// the first, `runtime.autotune: time` any of the first eight; GPUs and versions of cuDNN have different lists.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "backend/cuda/cudnn_engines.h"
#include "backend/cuda/cudnn_pass.h"
#include "core/error.h"
#include "core/format.h"
#include "cuda/conv_on_gpu.h"

namespace dptrain::test {
namespace {

using namespace backend::cuda;

constexpr std::size_t kMany = 40;  ///< more than the heuristics list

/// A window over one axis with Keras's "same" padding, whose larger part is at the end.
struct Axis {
  std::int64_t in, kernel, stride;

  std::int64_t out() const { return (in + stride - 1) / stride; }
  std::int64_t pads() const { return std::max<std::int64_t>((out() - 1) * stride + kernel - in, 0); }
};

ConvProblem same(std::int64_t rows, Axis h, Axis w, std::int64_t c, std::int64_t k) {
  return {{.in_h = h.in,
           .in_w = w.in,
           .in_channels = c,
           .out_h = h.out(),
           .out_w = w.out(),
           .out_channels = k,
           .kernel_h = h.kernel,
           .kernel_w = w.kernel,
           .stride_h = h.stride,
           .stride_w = w.stride,
           .pad_top = h.pads() / 2,
           .pad_bottom = h.pads() - h.pads() / 2,
           .pad_left = w.pads() / 2,
           .pad_right = w.pads() - w.pads() / 2},
          rows};
}

/// Small odd sizes, where kernels have remainders, and a few common ones; even windows have uneven padding.
std::vector<ConvProblem> problems() {
  std::vector<ConvProblem> all{{{.in_channels = 5, .out_channels = 7}, 13},
                               {{.in_channels = 64, .out_channels = 48}, 32}};
  for (const auto& [c, k] : {std::pair<std::int64_t, std::int64_t>{3, 3}, {8, 16}, {32, 24}})
    for (const std::int64_t kernel : {1, 2, 3, 4, 5})
      for (const std::int64_t stride : {1, 2, 3}) {
        all.push_back(same(2, {1, 1, 1}, {7, kernel, stride}, c, k));
        all.push_back(same(3, {9, kernel, stride}, {10, kernel, stride}, c, k));
      }
  return all;
}

class Survey {
 public:
  Survey()
      : runtime_(make_cuda_runtime(0)),
        device_(DeviceProperties::from_device(0)),
        stream_(runtime_->make_stream(false)) {}
  ~Survey() { runtime_->destroy_stream(stream_); }

  /// Reports the engines whose results differ.
  void check(const ConvProblem& p, ConvPass pass, const Precision& precision) {
    const std::int64_t filter_size = p.weights(), x_size = p.rows * p.in_h * p.in_w * p.in_channels,
                       y_size = p.rows * p.out_h * p.out_w * p.out_channels;
    const Values x = random_values(x_size, p.type, 1), filter = random_values(filter_size, p.type, 2),
                 y = random_values(y_size, p.type, 3);
    std::vector<double> expected(static_cast<std::size_t>(pass == ConvPass::kForward ? y_size
                                                          : pass == ConvPass::kData  ? x_size
                                                                                     : filter_size));
    for_products(p, [&](std::size_t i, std::size_t j, std::size_t o) {
      switch (pass) {
        case ConvPass::kForward: expected[o] += double{x[i]} * filter[j]; break;
        case ConvPass::kData: expected[i] += double{y[o]} * filter[j]; break;
        case ConvPass::kWeights: expected[j] += double{x[i]} * y[o]; break;
      }
    });
    Rejections rejections;
    for (EnginePlan& plan : find_engines(make_conv_graph(p, pass, {}), device_,
                                         {.type = p.type,
                                         .options = {.tf32 = precision.tf32},
                                         .pass = pass,
                                         .uneven_padding = p.uneven_padding(),
                                         .wanted = kMany},
                                         rejections)) {
      const std::string name = plan.name.text();
      CudnnPass engine(std::make_shared<const EnginePlan>(std::move(plan)));
      const Memory on_x(*runtime_, p.type, pass == ConvPass::kData ? Values(x.size(), NAN) : x),
          on_filter(*runtime_, p.type, pass == ConvPass::kWeights ? Values(filter.size(), NAN) : filter),
          on_y(*runtime_, p.type, pass == ConvPass::kForward ? Values(y.size(), NAN) : y);
      void* const workspace = runtime_->allocate(std::max<std::uint64_t>(engine.workspace(), 256));
      engine.run(handle_, {on_x.data(), on_filter.data(), nullptr, on_y.data(), workspace}, stream_);
      const Values found = (pass == ConvPass::kForward ? on_y
                            : pass == ConvPass::kData  ? on_x
                                                       : on_filter)
                               .read(stream_);
      runtime_->free(workspace);
      ++checked_;
      const double error = relative_error(found, expected);
      EXPECT_LT(error, precision.tolerance)
          << name << ", " << name_of(pass) << " of " << describe(p) << ", " << precision.name;
    }
  }
  int checked() const { return checked_; }

 private:
  std::shared_ptr<backend::gpu::Runtime> runtime_;
  DeviceProperties device_;
  CudnnHandle handle_;
  backend::gpu::StreamHandle stream_;
  int checked_ = 0;
};

class EngineSurvey : public testing::TestWithParam<Precision> {};

TEST_P(EngineSurvey, EveryEngineEqualsThePlainLoops) {
  DPTRAIN_NEED_GPU();
  Survey survey;
  for (ConvProblem problem : problems()) {
    problem.type = GetParam().type;
    for (const ConvPass pass : {ConvPass::kForward, ConvPass::kData, ConvPass::kWeights})
      survey.check(problem, pass, GetParam());
  }
  std::cout << survey.checked() << " engines" << std::endl;
  EXPECT_GT(survey.checked(), 100);
}

INSTANTIATE_TEST_SUITE_P(All, EngineSurvey, testing::ValuesIn(kPrecisions),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace dptrain::test
