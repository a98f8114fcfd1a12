// Distributions of random transforms, equal to Keras's, and their dependence on sample and epoch only.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "data/fixtures.h"
#include "data/transforms/colour.h"
#include "data/transforms/draws.h"
#include "data/transforms/erasing.h"
#include "data/transforms/geometry.h"
#include "data/transforms/rand_augment.h"
#include "data/transforms/random_gaussian_blur.h"

namespace dptrain::data {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kDraws = 4000;
/// Four standard errors of a mean of kDraws values with this standard deviation. The seeds are fixed.
double slack(double deviation) { return 4 * deviation / std::sqrt(static_cast<double>(kDraws)); }

Array colours(const Shape& shape, DType type) {
  Array made{.shape = shape, .type = type, .u8 = {}, .f32 = {}};
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto byte = static_cast<std::uint8_t>((53 * i + 29 * (i / 5)) % 256);
    type == DType::kU8 ? made.u8.push_back(byte) : made.f32.push_back(byte);
  }
  return made;
}

std::vector<float> run_one(const config::Typed& spec, const Array& image, const DrawKey& key) {
  Pipeline::Scratch scratch;
  const Pipeline pipeline({spec}, false);
  std::vector<float> out(static_cast<std::size_t>(image.shape.elements()));
  pipeline.write(view_of(image), key, scratch, image.shape, out.data());
  return out;
}

template <class Spec>
config::Typed typed_of(const Spec& spec) {
  return transform_family().make(spec);
}

const std::vector<std::function<config::Typed()>> kNewTransforms{[] {
                                                                   return typed_of(RandomHueSpec{{1}, {0, 255}});
                                                                 },
                                                                 [] {
                                                                   return typed_of(RandomSaturationSpec{{1}, {0, 255}});
                                                                 },
                                                                 [] { return typed_of(RandomGrayscaleSpec{}); },
                                                                 [] { return typed_of(RandomGaussianBlurSpec{}); },
                                                                 [] {
                                                                   return typed_of(RandomShearSpec{{}, {0.5}, {0.5}});
                                                                 },
                                                                 [] { return typed_of(RandomErasingSpec{}); },
                                                                 [] { return typed_of(RandAugmentSpec{}); }};

TEST(RandomTransforms, BytesAndFloatsGiveTheSameImage) {
  const Array bytes = colours({7, 5, 3}, DType::kU8), floats = colours({7, 5, 3}, DType::kF32);
  for (const auto& make : kNewTransforms) {
    std::set<std::vector<float>> different;
    for (std::uint64_t sample = 0; sample < 40; ++sample) {
      const DrawKey key{.seed = 5, .sample = sample, .epoch = 1};
      const std::vector<float> found = run_one(make(), bytes, key);
      EXPECT_EQ(found, run_one(make(), floats, key)) << make().name();
      EXPECT_TRUE(std::ranges::all_of(found, [](float x) { return x > -1e-3F && x < 255.001F; })) << make().name();
      different.insert(found);
    }
    // Half of the draws of some transforms keep the image.
    EXPECT_GT(different.size(), make().name() == "RandomGrayscale" ? 1U : 12U) << make().name();
  }
}

TEST(RandomTransforms, RequireImagesAndTraining) {
  for (const auto& make : kNewTransforms) {
    const config::Typed spec = make();
    EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { Pipeline({spec}, true); }), HasSubstr("in evaluation"));
    EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { static_cast<void>(Pipeline({spec}, false).output({8})); }),
                HasSubstr(spec.name() + ": samples must be images"));
  }
  EXPECT_THAT(error_of(ErrorKind::kUsage,
                       [] {
                         static_cast<void>(Pipeline({typed_of(RandomHueSpec{{1}, {0, 255}})}, false).output({4, 4, 1}));
                       }),
              HasSubstr("of 3 channels, RGB, found 4x4x1"));
}

/// Mean 1/2 and variance 1 / (4 (2 alpha + 1)); the fraction below a quarter from the distribution.
TEST(RandomTransforms, BetaHasItsDistribution) {
  for (const auto& [alpha, below] : {std::pair{0.2, 0.4141}, {1.0, 0.25}, {3.0, 0.1035}}) {
    double sum = 0, squares = 0, count = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      RandomStream stream(3, 7, i);
      const double x = draw_beta(stream, alpha);
      ASSERT_TRUE(x >= 0 && x <= 1) << x;
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
      count += x < 0.25 ? 1 : 0;
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / kDraws, 0.5, slack(std::sqrt(variance))) << alpha;
    EXPECT_NEAR(squares / kDraws, variance, slack(0.25)) << alpha;
    EXPECT_NEAR(count / kDraws, below, slack(0.5)) << alpha;
  }
}

/// CutMix draws alphas down to 1e-6.
TEST(RandomTransforms, BetaOfATinyAlphaIsZeroOrOne) {
  int ones = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    RandomStream stream(3, 8, i);
    const double x = draw_beta(stream, 1e-6);
    ASSERT_TRUE(x < 1e-9 || x > 1 - 1e-9) << x;
    ones += x > 0.5 ? 1 : 0;
  }
  EXPECT_NEAR(ones, 500, 64);
}

TEST(RandomTransforms, GrayscaleHasItsProbability) {
  const Array image = colours({1, 1, 3}, DType::kU8);
  double gray = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const auto out = run_one(typed_of(RandomGrayscaleSpec{0.3}), image, {.seed = 1, .sample = i, .epoch = 0});
    gray += out[0] == out[1] && out[1] == out[2] ? 1 : 0;
  }
  EXPECT_NEAR(gray / kDraws, 0.3, slack(0.46));
}

/// With factor 1 the probability is uniform in [0, 1), so 1/2 on average; the area has the mean of a product of two
/// roots.
TEST(RandomTransforms, ErasingHasItsProbabilityAndArea) {
  const Array image{.shape = {40, 40, 1}, .type = DType::kF32, .u8 = {}, .f32 = std::vector<float>(1600, 100)};
  RandomErasingSpec spec;
  spec.fill_value = {3};
  double hit = 0, area = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const auto out = run_one(typed_of(spec), image, {.seed = 1, .sample = i, .epoch = 0});
    const auto erased = static_cast<double>(std::ranges::count(out, 3.0F));
    hit += erased > 0 ? 1 : 0;
    area += erased / 1600;
  }
  const double root = (std::pow(0.33, 1.5) - std::pow(0.02, 1.5)) / 1.5 / 0.31;
  EXPECT_NEAR(hit / kDraws, 0.5, slack(0.5));
  EXPECT_NEAR(area / hit, root * root, 0.01);
}

TEST(RandomTransforms, ErasingWithNoiseClipsANormal) {
  const Array image{.shape = {20, 20, 3}, .type = DType::kF32, .u8 = {}, .f32 = std::vector<float>(1200, 100)};
  RandomErasingSpec spec;
  spec.factor = {1, 1};
  spec.scale = {1, 1};
  double low = 0, high = 0;
  const auto out = run_one(typed_of(spec), image, {.seed = 1, .sample = 1, .epoch = 0});
  for (const float x : out) {
    low += x == 0 ? 1 : 0;
    high += x == 255 ? 1 : 0;
  }
  EXPECT_NEAR(low / 1200, 0.5, 0.06);       // half of a normal distribution is below 0
  EXPECT_NEAR(high / 1200, 0.1587, 0.045);  // and a sixth above its standard deviation
}

/// With strength 0, only the operations without a strength change the image, so its change identifies them.
TEST(RandomTransforms, RandAugmentDrawsOperationsUniformly) {
  const Array image = colours({6, 6, 3}, DType::kF32);
  RandAugmentSpec spec;
  spec.factor = {0, 0};
  spec.num_ops = 1;
  std::map<std::vector<float>, double> results;
  for (std::uint64_t i = 0; i < kDraws; ++i)
    ++results[run_one(typed_of(spec), image, {.seed = 2, .sample = i, .epoch = 0})];
  // Sharpness (1 - 0) towards smooth, posterization to one bit, solarization above 0, the two of contrast.
  std::vector<double> odds;
  for (const auto& [values, count] : results)
    if (count / kDraws < 0.3) odds.push_back(count / kDraws);
  EXPECT_GE(odds.size(), 3U);
  for (const double odd : odds) EXPECT_NEAR(odd, 1.0 / 11, slack(0.29));
}

}  // namespace
}  // namespace dptrain::data
