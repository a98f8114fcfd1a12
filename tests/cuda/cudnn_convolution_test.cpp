// Compares cuDNN with plain loops in double, on a GPU. Shapes are odd; tests/plans plans those of all networks.

#include "backend/cuda/cudnn_convolution.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/error.h"
#include "cuda/conv_on_gpu.h"

namespace dptrain::test {
namespace {

struct Results {
  Values y, dx, dfilter;
};

/// Runs all passes on the GPU; results are filled with NaN before.
Results run(const ConvProblem& p, backend::gpu::ConvolutionMaker& maker, backend::gpu::Runtime& runtime,
            const Values& x, const Values& filter, const Values& bias, const Values& dy) {
  const auto convolution = maker.make(p, {.forward = true, .data = true, .weights = true});
  const Memory on_x(runtime, p.type, x), on_filter(runtime, p.type, filter), on_bias(runtime, p.type, bias),
      on_dy(runtime, p.type, dy);
  const Memory y(runtime, p.type, Values(dy.size(), NAN)), dx(runtime, p.type, Values(x.size(), NAN)),
      dfilter(runtime, p.type, Values(filter.size(), NAN));
  const Workplace at(runtime, *convolution);
  convolution->forward(on_x.data(), on_filter.data(), on_bias.data(), y.data(), at.workspace, at.stream);
  convolution->backward_data(on_dy.data(), on_filter.data(), dx.data(), at.workspace, at.stream);
  convolution->backward_weights(on_x.data(), on_dy.data(), dfilter.data(), at.workspace, at.stream);
  return {y.read(at.stream), dx.read(at.stream), dfilter.read(at.stream)};
}

void expect_right(const ConvProblem& p, const ConvOptions& options, double tolerance) {
  const auto runtime = backend::cuda::make_cuda_runtime(0);
  const auto maker = backend::cuda::make_cudnn_convolutions(runtime, 0, options);
  const Sizes sizes(p);
  const Values x = random_values(sizes.x, p.type, 1), filter = random_values(sizes.filter, p.type, 2),
               bias = random_values(p.out_channels, p.type, 3), dy = random_values(sizes.y, p.type, 4);
  const Results results = run(p, *maker, *runtime, x, filter, bias, dy);

  std::vector<double> y(dy.size()), dx(x.size()), dfilter(filter.size());
  for_products(p, [&](std::size_t i, std::size_t j, std::size_t o) {
    y[o] += double{x[i]} * filter[j];
    dx[i] += double{dy[o]} * filter[j];
    dfilter[j] += double{x[i]} * dy[o];
  });
  for (std::size_t o = 0; o < y.size(); ++o) {
    if (p.bias) y[o] += bias[o % static_cast<std::size_t>(p.out_channels)];
    if (p.relu) y[o] = std::max(y[o], 0.0);
  }
  EXPECT_LT(relative_error(results.y, y), tolerance);
  EXPECT_LT(relative_error(results.dx, dx), tolerance);
  EXPECT_LT(relative_error(results.dfilter, dfilter), tolerance);

  if (!options.deterministic) return;
  const Results again = run(p, *maker, *runtime, x, filter, bias, dy);
  EXPECT_TRUE(results.y == again.y && results.dx == again.dx && results.dfilter == again.dfilter)
      << "not the same bits twice";
}

struct Shape {
  std::string name;
  ConvProblem problem;
};

/// An output of the input's size, with bias and ReLU.
ConvProblem same_3x3(std::int64_t rows, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t k,
                     std::int64_t groups = 1) {
  return {{.in_h = h,
           .in_w = w,
           .in_channels = c,
           .out_h = h,
           .out_w = w,
           .out_channels = k,
           .kernel_h = 3,
           .kernel_w = 3,
           .pad_top = 1,
           .pad_bottom = 1,
           .pad_left = 1,
           .pad_right = 1,
           .groups = groups},
          rows,
          DType::kF32,
          true,
          true};
}

const std::vector<Shape> kShapes{
    {"plain", same_3x3(3, 9, 7, 16, 24)},
    {"five_channels",
     {{.in_h = 9, .in_w = 7, .in_channels = 5, .out_h = 7, .out_w = 6, .out_channels = 7, .kernel_h = 3, .kernel_w = 2},
      3,
      DType::kF32,
      true}},
    {"uneven",
     {{.in_h = 11,
       .in_w = 10,
       .in_channels = 8,
       .out_h = 6,
       .out_w = 5,
       .out_channels = 16,
       .kernel_h = 3,
       .kernel_w = 3,
       .stride_h = 2,
       .stride_w = 2,
       .pad_top = 1,
       .pad_bottom = 1,
       .pad_left = 0,
       .pad_right = 1},
      2}},
    {"dilated",
     {{.in_h = 13,
       .in_w = 12,
       .in_channels = 8,
       .out_h = 13,
       .out_w = 12,
       .out_channels = 8,
       .kernel_h = 3,
       .kernel_w = 3,
       .dilation_h = 2,
       .dilation_w = 3,
       .pad_top = 2,
       .pad_bottom = 2,
       .pad_left = 3,
       .pad_right = 3},
      2,
      DType::kF32,
      true,
      true}},
    {"towers", same_3x3(3, 6, 7, 16, 32, 2)},
    {"depthwise", same_3x3(3, 9, 9, 21, 21, 21)},
    {"strides_beyond",
     {{.in_h = 33,
       .in_w = 33,
       .in_channels = 32,
       .out_h = 3,
       .out_w = 3,
       .out_channels = 32,
       .kernel_h = 3,
       .kernel_w = 3,
       .stride_h = 14,
       .stride_w = 14,
       .groups = 32},
      2,
      DType::kF32,
      false,
      true}},
    {"dense", {{.in_channels = 500, .out_channels = 10}, 37, DType::kF32, true, true}},
};

class CudnnConvolution : public testing::TestWithParam<std::tuple<Precision, Shape>> {};

TEST_P(CudnnConvolution, EqualsThePlainLoops) {
  DPTRAIN_NEED_GPU();
  const auto& [precision, shape] = GetParam();
  ConvProblem problem = shape.problem;
  problem.type = precision.type;
  expect_right(problem, {.tf32 = precision.tf32}, precision.tolerance);
}

INSTANTIATE_TEST_SUITE_P(All, CudnnConvolution,
                         testing::Combine(testing::ValuesIn(kPrecisions), testing::ValuesIn(kShapes)),
                         [](const auto& one) {
                           return std::get<0>(one.param).name + "_" + std::get<1>(one.param).name;
                         });

TEST(CudnnConvolutionMaker, MeasuresOnceAndRemembers) {
  DPTRAIN_NEED_GPU();
  const auto folder = std::filesystem::temp_directory_path() / ("plans_" + std::to_string(getpid()));
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  ConvProblem problem = kShapes[0].problem;
  problem.rows = 64;
  expect_right(problem, {.autotune = true}, 2e-3);
  const auto runtime = backend::cuda::make_cuda_runtime(0);
  const auto name = [&] {
    return backend::cuda::make_cudnn_convolutions(runtime, 0, {.autotune = true})
        ->make(problem, {.forward = true, .data = true, .weights = true})
        ->name();
  };
  EXPECT_EQ(name(), name());
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "dptrain")) files += entry.file_size() > 100;
  EXPECT_EQ(files, 1U);
  std::filesystem::remove_all(folder);
}

TEST(CudnnConvolutionMaker, RunsInARecording) {
  DPTRAIN_NEED_GPU();
  const ConvProblem p = kShapes[0].problem;
  const auto runtime = backend::cuda::make_cuda_runtime(0);
  const auto maker = backend::cuda::make_cudnn_convolutions(runtime, 0, {});
  const auto convolution = maker->make(p, {});
  const Sizes sizes(p);
  const Memory x(*runtime, p.type, random_values(sizes.x, p.type, 1)),
      filter(*runtime, p.type, random_values(sizes.filter, p.type, 2)),
      bias(*runtime, p.type, random_values(p.out_channels, p.type, 3));
  const Values poison(static_cast<std::size_t>(sizes.y), NAN);
  const Memory eager(*runtime, p.type, poison), replayed(*runtime, p.type, poison);
  const Workplace at(*runtime, *convolution);
  const auto forward = [&](const Memory& y) {
    convolution->forward(x.data(), filter.data(), bias.data(), y.data(), at.workspace, at.stream);
  };
  forward(eager);
  runtime->synchronize(at.stream);
  runtime->begin_recording(at.stream);
  forward(replayed);
  const auto graph = runtime->end_recording(at.stream);
  runtime->replay(graph, at.stream);
  EXPECT_EQ(replayed.read(at.stream), eager.read(at.stream));
  runtime->destroy_graph(graph);
}

}  // namespace
}  // namespace dptrain::test
