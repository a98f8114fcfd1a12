// cuDNN against plain loops in double, on a GPU. Shapes are odd; what all networks need is planned in tests/plans.

#include "device/cuda/cudnn_convolution.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <vector>

#include "core/error.h"
#include "cuda/need_gpu.h"
#include "device/cuda/cuda_runtime.h"

#ifndef DPTRAIN_GPU
#define DPTRAIN_GPU emu
#endif
#include "kernels/cuda/number.h"

namespace dptrain::test {
namespace {

using device::gpu::ConvOptions;
using device::gpu::ConvProblem;
namespace number = kernels::DPTRAIN_GPU::number;

/// A tensor on the host in float, holding only what the problem's type can hold.
using Values = std::vector<float>;

float bf16_value(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

float rounded(float x, DType type) {
  if (type == DType::kBf16) return bf16_value(number::bf16_bits(x));
  if (type == DType::kF16) return number::half_value(number::half_bits(x));
  return x;
}

Values random_values(std::int64_t n, DType type, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Values values(static_cast<std::size_t>(n));
  for (float& value : values) value = rounded(uniform(engine), type);
  return values;
}

struct Sizes {
  explicit Sizes(const ConvProblem& p)
      : x(p.rows * p.in_h * p.in_w * p.in_channels),
        filter(p.weights()),
        y(p.rows * p.out_h * p.out_w * p.out_channels) {}
  std::int64_t x, filter, y;
};

/// Calls visit(index in x, index in filter, index in y) for every product of the convolution.
template <class Visit>
void for_products(const ConvProblem& p, const Visit& visit) {
  const std::int64_t cg = p.in_channels / p.groups, kg = p.out_channels / p.groups;
  for (std::int64_t n = 0; n < p.rows; ++n)
    for (std::int64_t oh = 0; oh < p.out_h; ++oh)
      for (std::int64_t ow = 0; ow < p.out_w; ++ow)
        for (std::int64_t r = 0; r < p.kernel_h; ++r)
          for (std::int64_t s = 0; s < p.kernel_w; ++s) {
            const std::int64_t h = oh * p.stride_h - p.pad_top + r * p.dilation_h;
            const std::int64_t w = ow * p.stride_w - p.pad_left + s * p.dilation_w;
            if (h < 0 || h >= p.in_h || w < 0 || w >= p.in_w) continue;
            for (std::int64_t k = 0; k < p.out_channels; ++k)
              for (std::int64_t c = 0; c < cg; ++c)
                visit(static_cast<std::size_t>(((n * p.in_h + h) * p.in_w + w) * p.in_channels + k / kg * cg + c),
                      static_cast<std::size_t>(((k * p.kernel_h + r) * p.kernel_w + s) * cg + c),
                      static_cast<std::size_t>(((n * p.out_h + oh) * p.out_w + ow) * p.out_channels + k));
          }
}

double relative_error(const Values& out, const std::vector<double>& reference) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i])) return INFINITY;
    difference += (out[i] - reference[i]) * (out[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  return std::sqrt(difference / size);
}

/// Device memory with values in the problem's type.
class Memory {
 public:
  Memory(device::gpu::Runtime& runtime, DType type, const Values& values)
      : runtime_(runtime), type_(type), n_(values.size()) {
    data_ = runtime.allocate(n_ * size_of(type));
    std::vector<std::uint16_t> narrow;
    for (const float x : values) narrow.push_back(type == DType::kBf16 ? number::bf16_bits(x) : number::half_bits(x));
    const void* source = type == DType::kF32 ? static_cast<const void*>(values.data()) : narrow.data();
    const auto stream = runtime.make_stream(false);
    runtime.copy_in(data_, source, n_ * size_of(type), stream);
    runtime.synchronize(stream);
    runtime.destroy_stream(stream);
  }
  ~Memory() { runtime_.free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }
  Values read(device::gpu::StreamHandle stream) const {
    Values values(n_);
    std::vector<std::uint16_t> narrow(n_);
    void* target = type_ == DType::kF32 ? static_cast<void*>(values.data()) : narrow.data();
    runtime_.copy_out(target, data_, n_ * size_of(type_), stream);
    runtime_.synchronize(stream);
    if (type_ == DType::kF32) return values;
    for (std::size_t i = 0; i < n_; ++i)
      values[i] = type_ == DType::kBf16 ? bf16_value(narrow[i]) : number::half_value(narrow[i]);
    return values;
  }

 private:
  device::gpu::Runtime& runtime_;
  DType type_;
  std::size_t n_;
  void* data_ = nullptr;
};

/// A stream, and the memory that a convolution works in.
struct Workplace {
  Workplace(device::gpu::Runtime& runtime_, const device::gpu::Convolution& convolution)
      : runtime(runtime_), workspace(runtime.allocate(convolution.workspace())), stream(runtime.make_stream(false)) {}
  ~Workplace() {
    runtime.destroy_stream(stream);
    runtime.free(workspace);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  device::gpu::Runtime& runtime;
  void* const workspace;
  const device::gpu::StreamHandle stream;
};

struct Results {
  Values y, dx, dfilter;
};

/// All passes on the GPU; results are poisoned before with NaN.
Results run(const ConvProblem& p, device::gpu::ConvolutionMaker& maker, device::gpu::Runtime& runtime, const Values& x,
            const Values& filter, const Values& bias, const Values& dy) {
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
  const auto runtime = device::cuda::make_cuda_runtime(0);
  const auto maker = device::cuda::make_cudnn_convolutions(runtime, 0, options);
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

struct Precision {
  std::string name;
  DType type;
  bool tf32;
  double tolerance;  ///< relative, of the norm: a few units of the last place of the type, which sums average out
};

const std::vector<Precision> kPrecisions{{"strict", DType::kF32, false, 1e-5},
                                         {"tf32", DType::kF32, true, 2e-3},
                                         {"bf16", DType::kBf16, true, 1e-2},
                                         {"fp16", DType::kF16, true, 2e-3}};

struct Shape {
  std::string name;
  ConvProblem problem;
};

/// Of the size of its input, with bias and ReLU.
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
  const auto runtime = device::cuda::make_cuda_runtime(0);
  const auto name = [&] {
    return device::cuda::make_cudnn_convolutions(runtime, 0, {.autotune = true})
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
  const auto runtime = device::cuda::make_cuda_runtime(0);
  const auto maker = device::cuda::make_cudnn_convolutions(runtime, 0, {});
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
