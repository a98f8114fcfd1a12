// Products of bfloat16 on the CPU (train.dtype_policy: mixed_bfloat16), compared with double after rounding the
// factors, so only the float32 sum differs.

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/conv/conv_key.h"
#include "backend/cpu/conv/conv_passes.h"
#include "backend/cpu/dnnl_support.h"
#include "backend/cpu/inner_product.h"
#include "backend/harness.h"
#include "core/error.h"
#include "kernels/conv_reference.h"
#include "kernels/cpu/parallel.h"
#include "nn/convolutions.h"
#include "nn/recurrent.h"

namespace dptrain::backend::cpu {
namespace {

using kernels::cpu::test::in_size;
using kernels::cpu::test::out_size;
using testing::HasSubstr;
using testing::Not;

constexpr std::array kKinds{ConvPassKind::kForward, ConvPassKind::kBackwardData, ConvPassKind::kBackwardWeights};

#define SKIP_WITHOUT_BFLOAT16() \
  if (bfloat16_here() == Bfloat16::kNone) GTEST_SKIP() << "this processor has neither AMX nor AVX-512 BF16"

/// Rounds to nearest even by bit operations.
float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFFU + (bits >> 16 & 1U)) & 0xFFFF0000U);
}

std::vector<float> rounded(std::vector<float> all) {
  for (float& x : all) x = rounded(x);
  return all;
}

std::vector<float> random(std::int64_t n, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> all(static_cast<std::size_t>(n));
  for (float& x : all) x = values(bits);
  return all;
}

/// ||a - b|| / ||b||.
double difference(const std::vector<float>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
    norm += b[i] * b[i];
  }
  return std::sqrt(sum / norm);
}

/// Scratch with the alignment that primitives require.
struct Scratch {
  explicit Scratch(std::size_t bytes) : memory(bytes + kAlign), at(memory.data()) {
    std::size_t space = memory.size();
    std::align(kAlign, bytes, at, space);
  }
  static constexpr std::size_t kAlign = 64;
  std::vector<std::byte> memory;
  void* at;
};

TEST(Bfloat16, IsSupportedIfOneDnnHasInstructions) {
  using dnnl::cpu_isa;
  for (const cpu_isa isa : {cpu_isa::sse41, cpu_isa::avx2, cpu_isa::avx512_core, cpu_isa::avx512_core_vnni})
    EXPECT_EQ(bfloat16_of(isa), Bfloat16::kNone) << static_cast<unsigned>(isa);
  EXPECT_EQ(bfloat16_of(cpu_isa::avx512_core_bf16), Bfloat16::kAvx512);
  EXPECT_EQ(bfloat16_of(cpu_isa::avx512_core_amx), Bfloat16::kAmx);
}

TEST(Bfloat16, IsRejectedWithoutInstructions) {
  require_bfloat16(Bfloat16::kAmx);
  require_bfloat16(Bfloat16::kAvx512);
  try {
    require_bfloat16(bfloat16_of(dnnl::cpu_isa::avx512_core));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_THAT(error.what(), HasSubstr("mixed_bfloat16: it needs AMX or AVX-512 BF16"));
    EXPECT_THAT(error.what(), HasSubstr("use float32, or a GPU"));
  }
}

TEST(Bfloat16, ADeviceKeepsActivationsInFloat32) {
  SKIP_WITHOUT_BFLOAT16();
  const auto device = make_cpu_device(0, 1, {.compute = DType::kBf16});
  EXPECT_EQ(device->options().compute, DType::kF32);
  EXPECT_TRUE(device->options().bfloat16_products);
  EXPECT_THAT(device->description(), HasSubstr(std::string(", bfloat16 by ") + name_of(bfloat16_here())));
  EXPECT_FALSE(make_cpu_device(0, 1, {})->options().bfloat16_products);
}

ConvShape shape_of(const kernels::ConvWindow& window, std::int64_t rows) {
  ConvShape shape{window, rows};
  shape.pad_bottom =
      std::max<std::int64_t>(0, (shape.out_h - 1) * shape.stride_h + shape.kernel_h - shape.in_h - shape.pad_top);
  shape.pad_right =
      std::max<std::int64_t>(0, (shape.out_w - 1) * shape.stride_w + shape.kernel_w - shape.in_w - shape.pad_left);
  shape.bfloat16 = true;
  return shape;
}

/// Input, channels, kernel, stride, padding: 3x3, 1x1 and strided ones, of few and odd channels, and of one pixel.
std::vector<ConvShape> shapes() {
  using kernels::cpu::test::conv_window;
  return {shape_of(conv_window(9, 8, 16, 24, 3, 1, 1, 1), 5),   shape_of(conv_window(13, 13, 32, 64, 3, 1, 0, 0), 3),
          shape_of(conv_window(15, 14, 20, 36, 3, 2, 1, 1), 4), shape_of(conv_window(7, 7, 64, 32, 1, 1, 0, 0), 3),
          shape_of(conv_window(8, 9, 40, 24, 1, 2, 0, 0), 3),   shape_of(conv_window(16, 15, 3, 32, 7, 2, 3, 3), 3),
          shape_of(conv_window(9, 9, 24, 40, 1, 2, 0, 0), 3),   shape_of(conv_window(8, 7, 24, 40, 1, 3, 0, 0), 3),
          shape_of(conv_window(6, 6, 17, 19, 5, 1, 2, 2), 2),   shape_of(conv_window(1, 1, 33, 70, 1, 1, 0, 0), 9)};
}

struct Pass {
  std::vector<float> found;
  std::vector<double> expected;
};

/// One pass of random tensors, and its equation over rounded factors.
Pass run(ConvPass& pass, ConvPassKind kind, const ConvShape& s) {
  const kernels::ConvWindow& window = s;
  const std::vector<float> x = random(s.rows * in_size(window), 1), weights = random(window.weights(), 2),
                           bias = random(s.out_channels, 3), dy = random(s.rows * out_size(window), 4);
  const Scratch scratch(pass.scratch());
  if (kind == ConvPassKind::kForward) {
    std::vector<float> y(dy.size(), NAN);
    pass.run({.x = x.data(), .weights = weights.data(), .bias = bias.data(), .y = y.data()}, scratch.at);
    return {y, kernels::cpu::test::naive_conv(window, rounded(x), rounded(weights), bias, s.rows)};
  }
  if (kind == ConvPassKind::kBackwardData) {
    std::vector<float> dx(x.size(), NAN);
    pass.run({.weights = weights.data(), .dy = dy.data(), .dx = dx.data()}, scratch.at);
    return {dx, kernels::cpu::test::naive_data_gradient(window, rounded(weights), rounded(dy), s.rows)};
  }
  std::vector<float> gradient(weights.size() + bias.size(), NAN);
  pass.run({.x = x.data(), .dy = dy.data(), .dweights = gradient.data(), .dbias = gradient.data() + weights.size()},
           scratch.at);
  return {gradient, kernels::cpu::test::naive_weight_gradient(window, rounded(x), rounded(dy), s.rows)};
}

bool is_rounded(const ChosenConv& way) { return std::string(way.name).starts_with("dnnl bf16"); }

TEST(Bfloat16Convolution, EveryAlgorithmSumsRoundedFactorsInFloat32) {
  SKIP_WITHOUT_BFLOAT16();
  Dnnl dnnl;
  int ways = 0;
  for (const ConvShape& shape : shapes())
    for (const ConvPassKind kind : kKinds)
      for (const ChosenConv& way : conv_candidates(kind, shape, ConvChoice::kAuto, dnnl)) {
        if (!is_rounded(way)) continue;
        ++ways;
        const Pass pass = run(*way.pass, kind, shape);
        EXPECT_LT(difference(pass.found, pass.expected), 2e-6) << way.name << ", " << conv_key(kind, shape);
      }
  EXPECT_GE(ways, 20);
}

/// Two groups equal two separate convolutions.
TEST(Bfloat16Convolution, Groups) {
  SKIP_WITHOUT_BFLOAT16();
  Dnnl dnnl;
  constexpr std::int64_t kRows = 2, kIn = 16, kOut = 32;
  const kernels::ConvWindow half = kernels::cpu::test::conv_window(6, 5, kIn, kOut, 3, 1, 1, 1);
  ConvShape whole = shape_of(half, kRows);
  whole.in_channels = 2 * kIn, whole.out_channels = 2 * kOut, whole.groups = 2, whole.bias = false;
  const auto pass = make_dnnl_conv(ConvPassKind::kForward, whole, {.bfloat16 = true}, dnnl);
  ASSERT_NE(pass, nullptr);
  const std::vector<float> x = random(kRows * in_size(half) * 2, 1), weights = random(half.weights() * 2, 2);
  std::vector<float> y(static_cast<std::size_t>(kRows * out_size(half) * 2), NAN);
  const Scratch scratch(pass->scratch());
  pass->run({.x = x.data(), .weights = weights.data(), .y = y.data()}, scratch.at);
  const auto part = [](const std::vector<float>& all, std::int64_t channels, std::int64_t first) {
    std::vector<float> some;
    for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(2 * channels))
      for (std::int64_t c = 0; c < channels; ++c) some.push_back(all[i + static_cast<std::size_t>(first + c)]);
    return some;
  };
  for (const std::int64_t group : {0, 1}) {
    const auto expected = kernels::cpu::test::naive_conv(half, rounded(part(x, kIn, group * kIn)),
                                                         rounded(part(weights, kOut, group * kOut)), {}, kRows);
    EXPECT_LT(difference(part(y, kOut, group * kOut), expected), 2e-6) << "group " << group;
  }
}

TEST(Bfloat16Convolution, RulesChooseItIfFaster) {
  SKIP_WITHOUT_BFLOAT16();
  Dnnl dnnl;
  const ConvShape many = shape_of(kernels::cpu::test::conv_window(28, 28, 64, 64, 3, 1, 1, 1), 2);
  const ConvShape strided = shape_of(kernels::cpu::test::conv_window(28, 28, 32, 64, 3, 2, 1, 1), 2);
  ConvShape grouped = many, exact = many;
  grouped.groups = 32;
  exact.bfloat16 = false;
  const bool amx = bfloat16_here() == Bfloat16::kAmx;
  for (const ConvPassKind kind : kKinds) {
    EXPECT_EQ(is_rounded(choose_by_rule(kind, many, ConvChoice::kAuto, dnnl)), amx) << "Winograd in float32 is faster";
    EXPECT_TRUE(is_rounded(choose_by_rule(kind, strided, ConvChoice::kAuto, dnnl)));
    EXPECT_FALSE(is_rounded(choose_by_rule(kind, grouped, ConvChoice::kAuto, dnnl)));
    for (const ChosenConv& way : conv_candidates(kind, exact, ConvChoice::kAuto, dnnl))
      EXPECT_FALSE(is_rounded(way)) << way.name << " without the policy";
  }
  ConvShape first = shape_of(kernels::cpu::test::conv_window(28, 28, 1, 32, 3, 1, 0, 0), 2);
  EXPECT_STREQ(choose_by_rule(ConvPassKind::kForward, first, ConvChoice::kAuto, dnnl).name, "direct");
  EXPECT_STREQ(choose_by_rule(ConvPassKind::kBackwardWeights, first, ConvChoice::kAuto, dnnl).name, "direct");
  first.pool = true;
  EXPECT_TRUE(computes_pooling(ConvPassKind::kForward, first, ConvChoice::kAuto));
  ConvShape pooled = many;
  pooled.pool = true;
  EXPECT_EQ(computes_pooling(ConvPassKind::kForward, pooled, ConvChoice::kAuto), !amx);
}

TEST(Bfloat16Convolution, HasSeparateKeys) {
  ConvShape shape = shapes().front();
  const std::string key = conv_key(ConvPassKind::kForward, shape);
  EXPECT_THAT(key, HasSubstr(" products of bfloat16 by "));
  shape.bfloat16 = false;
  EXPECT_THAT(conv_key(ConvPassKind::kForward, shape), Not(HasSubstr("bfloat16")));
}

struct Matrices {
  std::int64_t rows, in, units;
};

TEST(Bfloat16InnerProduct, SumsRoundedFactorsInFloat32) {
  SKIP_WITHOUT_BFLOAT16();
  Dnnl dnnl;
  dnnl.bfloat16_products = true;
  for (const auto [rows, in, units] : {Matrices{64, 784, 128}, Matrices{7, 100, 10}, Matrices{1, 300, 33},
                                       Matrices{33, 17, 1}, Matrices{600, 64, 192}})
    for (const bool packed : {false, true}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << in << " to " << units << (packed ? ", packed" : ""));
      InnerProduct product(rows, in, units, true, true, true, dnnl, packed);
      EXPECT_THAT(product.name(), HasSubstr("of bfloat16"));
      const auto x = random(rows * in, 1), weights = random(in * units, 2), bias = random(units, 3),
                 dy = random(rows * units, 4);
      const Scratch scratch(product.scratch());
      RoundedWeights rounding(in * units, dnnl);
      std::vector<std::byte> memory(rounding.bytes());
      rounding.run(weights.data(), memory.data());
      const void* const read = packed ? static_cast<const void*>(memory.data()) : weights.data();

      // A Dense layer is a 1x1 convolution over images of one pixel.
      const kernels::ConvWindow window = kernels::cpu::test::conv_window(1, 1, in, units, 1, 1, 0, 0);
      std::vector<float> y(dy.size(), NAN), dx(x.size(), NAN), gradient(weights.size() + bias.size(), NAN);
      product.forward(x.data(), read, bias.data(), y.data(), scratch.at);
      EXPECT_LT(difference(y, kernels::cpu::test::naive_conv(window, rounded(x), rounded(weights), bias, rows)), 2e-6);
      product.backward_data(dy.data(), read, dx.data(), scratch.at);
      EXPECT_LT(difference(dx, kernels::cpu::test::naive_data_gradient(window, rounded(weights), rounded(dy), rows)),
                2e-6);
      product.backward_weights(x.data(), dy.data(), gradient.data(), gradient.data() + weights.size(), scratch.at);
      EXPECT_LT(difference(gradient, kernels::cpu::test::naive_weight_gradient(window, rounded(x), rounded(dy), rows)),
                2e-6);
    }
}

/// The gradient of large weights stays in float32, with unrounded factors.
TEST(Bfloat16InnerProduct, LargeWeightsHaveAnExactGradient) {
  SKIP_WITHOUT_BFLOAT16();
  Dnnl dnnl;
  dnnl.bfloat16_products = true;
  constexpr std::int64_t kRows = 3, kIn = 2048, kUnits = 2048;
  InnerProduct product(kRows, kIn, kUnits, true, true, true, dnnl, true);
  EXPECT_THAT(product.name(), HasSubstr("weights of float32 gemm"));
  const auto x = random(kRows * kIn, 1), dy = random(kRows * kUnits, 2);
  std::vector<float> gradient(static_cast<std::size_t>((kIn + 1) * kUnits), NAN);
  const Scratch scratch(product.scratch());
  product.backward_weights(x.data(), dy.data(), gradient.data(), gradient.data() + kIn * kUnits, scratch.at);
  const kernels::ConvWindow window = kernels::cpu::test::conv_window(1, 1, kIn, kUnits, 1, 1, 0, 0);
  EXPECT_LT(difference(gradient, kernels::cpu::test::naive_weight_gradient(window, x, dy, kRows)), 1e-6);
}

/// Results of the first rows in a batch of `rows`, from the pass that the rules choose.
std::vector<float> of_first_rows(ConvPassKind kind, ConvShape shape, std::int64_t rows, std::int64_t first,
                                 int threads) {
  kernels::cpu::set_thread_count(threads);
  Dnnl dnnl;
  shape.rows = rows;
  const ChosenConv chosen = choose_by_rule(kind, shape, ConvChoice::kAuto, dnnl);
  std::vector<float> all = run(*chosen.pass, kind, shape).found;
  all.resize(all.size() / static_cast<std::size_t>(rows) * static_cast<std::size_t>(first));
  kernels::cpu::set_thread_count(1);
  return all;
}

TEST(Bfloat16Convolution, ASampleHasTheSameBitsInAnyBatchOnAnyThreads) {
  SKIP_WITHOUT_BFLOAT16();
  constexpr std::int64_t kMax = 11;
  for (const ConvShape& shape : shapes())
    for (const ConvPassKind kind : {ConvPassKind::kForward, ConvPassKind::kBackwardData})
      for (const std::int64_t rows : {1, 2, 5, 8}) {
        const auto alone = of_first_rows(kind, shape, rows, rows, 1);
        for (const int threads : {1, 3})
          EXPECT_TRUE(alone == of_first_rows(kind, shape, kMax, rows, threads))
              << conv_key(kind, shape) << ", " << rows << " rows, " << threads << " threads";
      }
}

}  // namespace
}  // namespace dptrain::backend::cpu

namespace dptrain::test {
namespace {

using backend::cpu::Bfloat16;
using backend::cpu::bfloat16_here;

template <class Spec>
Case rows_of(const Spec& spec, std::int64_t rows, Shape in) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {std::move(in)};
  c.rows = rows;
  return c;
}

std::vector<Case> bfloat16_cases() {
  nn::DenseSpec dense, wide;
  dense.units = 10;
  wide.units = 64;
  nn::Conv2DSpec conv, strided;
  conv.filters = 40;
  conv.kernel_size = {3, 3};
  conv.strides = {2, 2};
  conv.padding = nn::Padding::kSame;
  strided.filters = 64;
  strided.kernel_size = {1, 1};
  strided.strides = {2, 2};
  nn::LSTMSpec lstm;
  lstm.units = 20;
  return {rows_of(dense, 512, {784}), rows_of(wide, 33, {4096}), rows_of(conv, 9, {17, 17, 24}),
          rows_of(strided, 7, {16, 16, 32}), rows_of(lstm, 32, {40, 12})};
}

std::vector<std::vector<float>> trained_in(const Case& c, int threads, backend::RuntimeOptions options) {
  const auto device = backend::make_cpu_device(0, threads, options);
  device->enter();
  return train(*device, c);
}

TEST(Bfloat16Ops, GiveTheSameBitsWithAnyThreads) {
  SKIP_WITHOUT_BFLOAT16();
  for (const Case& c : bfloat16_cases()) {
    SCOPED_TRACE(c.layer.name() + " of " + c.inputs[0].str());
    const backend::RuntimeOptions options{.compute = DType::kBf16, .any_threads = true};
    const auto one = trained_in(c, 1, options);
    for (const int threads : {2, 3, 8}) EXPECT_EQ(one, trained_in(c, threads, options)) << threads << " threads";
  }
}

/// Two factors, each rounded to 8 bits by up to 2e-3; a recurrent layer adds errors over its steps.
TEST(Bfloat16Ops, AreNearFloat32ButNotEqual) {
  SKIP_WITHOUT_BFLOAT16();
  for (const Case& c : bfloat16_cases()) {
    SCOPED_TRACE(c.layer.name() + " of " + c.inputs[0].str());
    const auto exact = trained_in(c, 1, {}), rounded = trained_in(c, 1, {.compute = DType::kBf16});
    for (std::size_t i = 0; i < exact.size(); ++i) {
      double sum = 0, norm = 0;
      for (std::size_t j = 0; j < exact[i].size(); ++j) {
        sum += std::pow(static_cast<double>(exact[i][j]) - static_cast<double>(rounded[i][j]), 2);
        norm += std::pow(static_cast<double>(exact[i][j]), 2);
      }
      EXPECT_LT(std::sqrt(sum / norm), 1.5e-2) << "array " << i;
    }
    EXPECT_NE(exact, rounded);
    const auto device = backend::make_cpu_device(0, 1, {.compute = DType::kBf16});
    device->enter();
    EXPECT_THAT(implementation(*device, c), testing::AnyOf(testing::HasSubstr("bf16"), testing::HasSubstr("bfloat16")));
  }
}

}  // namespace
}  // namespace dptrain::test
