
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "data/fixtures.h"
#include "data/transform.h"
#include "data/transforms/colour.h"
#include "data/transforms/cropping.h"
#include "data/transforms/geometry.h"
#include "data/transforms/normalization.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

Array bytes(const Shape& shape, std::vector<std::uint8_t> values) {
  return {.shape = shape, .type = DType::kU8, .u8 = std::move(values), .f32 = {}};
}
Array floats(const Shape& shape, std::vector<float> values) {
  return {.shape = shape, .type = DType::kF32, .u8 = {}, .f32 = std::move(values)};
}
/// 0, 1, 2, ... as bytes.
Array counting(const Shape& shape) {
  Array image = bytes(shape, std::vector<std::uint8_t>(static_cast<std::size_t>(shape.elements())));
  for (std::size_t i = 0; i < image.u8.size(); ++i) image.u8[i] = static_cast<std::uint8_t>(i);
  return image;
}

template <class... Specs>
Pipeline pipeline(const Specs&... specs) {
  return Pipeline({transform_family().make(specs)...}, false);
}
std::vector<float> run(const Pipeline& p, Array image, DrawKey key = {}) {
  Array spare;
  const Shape shape = p.output(image.shape);
  p.apply(image, spare, key);
  EXPECT_EQ(image.shape, shape);
  EXPECT_EQ(image.type, DType::kF32);
  EXPECT_EQ(static_cast<std::int64_t>(image.f32.size()), shape.elements());
  return image.f32;
}
const auto kNear = FloatNear(1e-5F);

TEST(Rescaling, ScalesAndShifts) {
  const Pipeline p = pipeline(RescalingSpec{1 / 127.5, -1});
  EXPECT_THAT(run(p, bytes({3}, {0, 255, 51})), Pointwise(FloatNear(1e-6F), {-1.0F, 1.0F, -0.6F}));
  EXPECT_THAT(run(p, floats({2}, {0, 127.5F})), Pointwise(FloatNear(1e-6F), {-1.0F, 0.0F}));
}

TEST(Pipeline, FoldsMapsOfChannels) {
  const auto map = pipeline(RescalingSpec{2, 1}, RescalingSpec{3, -1}).only_map();
  ASSERT_TRUE(map);
  EXPECT_THAT(map->scale, ElementsAre(6));
  EXPECT_THAT(map->offset, ElementsAre(2));
  EXPECT_EQ(Pipeline().only_map()->scale, std::vector<float>{1});
  EXPECT_FALSE(pipeline(RescalingSpec{2, 1}, PerImageStandardizationSpec{}).only_map());
  const Pipeline p = pipeline(PreprocessInputSpec{PreprocessMode::kCaffe}, NormalizationSpec{-1, {1, 2, 3}, {4}},
                              PreprocessInputSpec{PreprocessMode::kCaffe});
  const ChannelMap all = *p.only_map();  // applies a map and its inverse
  EXPECT_FALSE(all.reverse);
  EXPECT_THAT(run(p, floats({1, 1, 3}, {10, 20, 30})),
              Pointwise(FloatNear(1e-4F), {(10 - 123.68F - 3) / 2 - 103.939F, (20 - 116.779F - 2) / 2 - 116.779F,
                                           (30 - 103.939F - 1) / 2 - 123.68F}));
}

TEST(Normalization, UsesOneValueOrOnePerChannel) {
  const Pipeline one = pipeline(NormalizationSpec{-1, {2}, {9}});
  EXPECT_THAT(run(one, floats({2, 1}, {5, 2})), Pointwise(kNear, {1.0F, 0.0F}));
  EXPECT_TRUE(one.only_map());
  const Pipeline two = pipeline(NormalizationSpec{-1, {1, 3}, {4, 0.25}});
  EXPECT_THAT(run(two, floats({2, 2}, {1, 3, 5, 2})), Pointwise(kNear, {0.0F, 0.0F, 2.0F, -2.0F}));
  EXPECT_EQ(two.only_map()->scale.size(), 2U);
  const Pipeline flat = pipeline(NormalizationSpec{-1, {1}, {0}});  // divides by 1e-7, as in Keras
  EXPECT_THAT(run(flat, floats({1}, {1.5F})), Pointwise(FloatNear(1), {5e6F}));
  EXPECT_EQ(error_of(ErrorKind::kUsage,
                     [&] {
                       static_cast<void>(two.output({4, 4, 3}));
                     }),
            "Normalization: mean and variance are for 2 channels, but samples are 4x4x3");
}

TEST(CenterCrop, RoundsTheOffsetDown) {
  const Pipeline p = pipeline(CenterCropSpec{2, 2});
  EXPECT_THAT(run(p, counting({5, 4, 1})), ElementsAre(5, 6, 9, 10));  // offsets floor(3/2), floor(2/2)
  EXPECT_THAT(run(p, counting({2, 3, 2})), ElementsAre(0, 1, 2, 3, 6, 7, 8, 9));
  // As in Keras, a smaller image is resized, here its middle 1x1.
  EXPECT_THAT(run(p, bytes({1, 3, 1}, {4, 5, 6})), ElementsAre(5, 5, 5, 5));
  EXPECT_EQ(error_of(ErrorKind::kUsage,
                     [&] {
                       static_cast<void>(p.output({28, 28}));
                     }),
            "CenterCrop: samples must be images of height x width x channels, found 28x28");
}

TEST(RandomCrop, ReturnsEveryWindowUniformly) {
  const Pipeline p = pipeline(RandomCropSpec{2, 3, 0});
  std::map<float, int> corners;
  for (std::uint64_t sample = 0; sample < 3000; ++sample) {
    const std::vector<float> out = run(p, counting({4, 5, 1}), {.seed = 1, .sample = sample, .epoch = 0});
    const float corner = out[0];
    ++corners[corner];
    EXPECT_THAT(out, ElementsAre(corner, corner + 1, corner + 2, corner + 5, corner + 6, corner + 7));
  }
  EXPECT_EQ(corners.size(), 9U);
  for (const auto& [corner, times] : corners) EXPECT_NEAR(times, 333, 86);  // five standard deviations of 17.2
}

TEST(RandomCrop, PaddingIsZeroOnAllSides) {
  const Pipeline p = pipeline(RandomCropSpec{3, 3, 2});
  std::map<std::vector<float>, int> seen;
  Array image = bytes({3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (std::uint64_t sample = 0; sample < 800; ++sample)
    ++seen[run(p, image, {.seed = 0, .sample = sample, .epoch = 0})];
  EXPECT_EQ(seen.size(), 25U);
  EXPECT_EQ(seen.count({0, 0, 0, 0, 0, 0, 0, 0, 1}), 1U);
  EXPECT_EQ(seen.count({9, 0, 0, 0, 0, 0, 0, 0, 0}), 1U);
  EXPECT_EQ(seen.count({0, 1, 2, 0, 4, 5, 0, 7, 8}), 1U);
  EXPECT_EQ(seen.count({1, 2, 3, 4, 5, 6, 7, 8, 9}), 1U);
  EXPECT_EQ(run(p, floats({3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), {.seed = 0, .sample = 5, .epoch = 0}),
            run(p, image, {.seed = 0, .sample = 5, .epoch = 0}));
  EXPECT_EQ(run(pipeline(RandomCropSpec{8, 8, 2}), bytes({3, 1, 1}, {4, 5, 6})), std::vector<float>(64, 5));
}

TEST(RandomFlip, MirrorsHalfOfTheSamples) {
  struct Case {
    FlipMode mode;
    std::vector<std::vector<float>> outcomes;
  };
  const std::vector<float> same{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, across{4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 6, 7},
      down{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}, both{10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1};
  for (const Case& c : {Case{FlipMode::kHorizontal, {same, across}}, Case{FlipMode::kVertical, {same, down}},
                        Case{FlipMode::kHorizontalAndVertical, {same, across, down, both}}}) {
    const Pipeline p = pipeline(RandomFlipSpec{c.mode});
    std::map<std::vector<float>, int> seen;
    for (std::uint64_t sample = 0; sample < 2000; ++sample)
      ++seen[run(p, counting({2, 3, 2}), {.seed = 4, .sample = sample, .epoch = 1})];
    EXPECT_EQ(seen.size(), c.outcomes.size());
    const double expected = 2000.0 / static_cast<double>(c.outcomes.size());
    for (const auto& outcome : c.outcomes)
      EXPECT_NEAR(seen[outcome], expected, 112);  // five standard deviations of at most 22.4
  }
}

TEST(RandomBrightness, AddsOneNumberAndClips) {
  const Pipeline p = pipeline(RandomBrightnessSpec{{0.1}, {0, 200}});
  double lowest = 0, highest = 0;
  for (std::uint64_t sample = 0; sample < 500; ++sample) {
    const std::vector<float> out =
        run(p, bytes({1, 4, 1}, {0, 100, 110, 200}), {.seed = 0, .sample = sample, .epoch = 0});
    const float added = out[1] - 100;
    EXPECT_NEAR(out[2], 110 + added, 1e-4);
    EXPECT_NEAR(out[0], std::max(0.0F, added), 1e-4);
    EXPECT_NEAR(out[3], std::min(200.0F, 200 + added), 1e-4);
    lowest = std::min(lowest, static_cast<double>(added));
    highest = std::max(highest, static_cast<double>(added));
  }
  EXPECT_GE(lowest, -20);
  EXPECT_LT(lowest, -19);
  EXPECT_LE(highest, 20);
  EXPECT_GT(highest, 19);
  EXPECT_THAT(run(pipeline(RandomBrightnessSpec{{0.5, 0.5}, {0, 1}}), floats({2}, {0.25F, 0.75F})),
              Pointwise(kNear, {0.75F, 1.0F}));
}

TEST(RandomContrast, ScalesAroundTheMeanOfEachChannel) {
  const Pipeline p = pipeline(RandomContrastSpec{{0.5}, {0, 255}});
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    // Means 100 and 50.
    const std::vector<float> out =
        run(p, bytes({2, 1, 2}, {90, 40, 110, 60}), {.seed = 0, .sample = sample, .epoch = 0});
    const float contrast = (out[2] - 100) / 10;
    EXPECT_GE(contrast, 0.5F);
    EXPECT_LE(contrast, 1.5F);
    EXPECT_THAT(out, Pointwise(FloatNear(1e-3F),
                               {100 - 10 * contrast, 50 - 10 * contrast, 100 + 10 * contrast, 50 + 10 * contrast}));
  }
  EXPECT_THAT(run(pipeline(RandomContrastSpec{{0, 0}, {95, 105}}), floats({2, 1, 1}, {90, 110})),
              Pointwise(kNear, {95.0F, 105.0F}));
}

TEST(PerImageStandardization, MeanZeroDeviationOne) {
  const Pipeline p = pipeline(PerImageStandardizationSpec{});
  EXPECT_THAT(run(p, bytes({2, 2, 1}, {1, 3, 1, 3})), Pointwise(kNear, {-1.0F, 1.0F, -1.0F, 1.0F}));
  // A flat image divides by 1 / sqrt(elements), not by zero.
  EXPECT_THAT(run(p, bytes({2, 2, 1}, {7, 7, 7, 7})), ElementsAre(0, 0, 0, 0));
  // The standard deviation 0.1 is below 1 / sqrt(4): (x - mean) * 2.
  EXPECT_THAT(run(p, floats({4}, {0.9F, 1.1F, 0.9F, 1.1F})), Pointwise(kNear, {-0.2F, 0.2F, -0.2F, 0.2F}));
}

TEST(Transforms, DrawByTransformEpochAndSampleOnly) {
  const Pipeline p = pipeline(RandomBrightnessSpec{{0.3}, {-1000, 1000}}, RandomBrightnessSpec{{0.3}, {-1000, 1000}});
  const auto at = [&](DrawKey key) { return run(p, floats({1}, {0}), key)[0]; };
  const float reference = at({.seed = 3, .sample = 8, .epoch = 2});
  EXPECT_EQ(reference, at({.seed = 3, .sample = 8, .epoch = 2}));
  EXPECT_NE(reference, at({.seed = 4, .sample = 8, .epoch = 2}));
  EXPECT_NE(reference, at({.seed = 3, .sample = 9, .epoch = 2}));
  EXPECT_NE(reference, at({.seed = 3, .sample = 8, .epoch = 3}));
  // The second draws other numbers than the first.
  const Pipeline first = pipeline(RandomBrightnessSpec{{0.3}, {-1000, 1000}});
  EXPECT_NE(reference, 2 * run(first, floats({1}, {0}), {.seed = 3, .sample = 8, .epoch = 2})[0]);
}

TEST(Transforms, ChainOnBytesThenFloats) {
  const Pipeline p = pipeline(CenterCropSpec{1, 2}, RescalingSpec{0.5, 0}, NormalizationSpec{-1, {1}, {4}});
  EXPECT_EQ(p.output({1, 4, 1}), (Shape{1, 2, 1}));
  EXPECT_THAT(run(p, bytes({1, 4, 1}, {0, 10, 20, 30})), Pointwise(kNear, {2.0F, 4.5F}));
  EXPECT_FALSE(p.random());
  EXPECT_TRUE(pipeline(RandomFlipSpec{}).random());
}

TEST(Transforms, RandomOnesAreRejectedInEvaluation) {
  EXPECT_EQ(
      error_of(ErrorKind::kUsage, [] { Pipeline({transform_family().make(RandomFlipSpec{})}, true); }),
      "RandomFlip: random transforms cannot be used in evaluation; write transforms as {train: [...], eval: [...]} and "
      "leave it out of eval");
}

TEST(Transforms, SomeRequirePixels) {
  const auto expected = [](auto spec) { return expect_pixels({transform_family().make(spec)}); };
  EXPECT_TRUE(expected(RescalingSpec{1 / 255.0, 0}));
  EXPECT_TRUE(expected(RescalingSpec{1 / 127.5, -1}));
  EXPECT_FALSE(expected(RescalingSpec{2, 0}));
  EXPECT_TRUE(expected(RandomBrightnessSpec{{0.2}, {0, 255}}));
  EXPECT_FALSE(expected(RandomBrightnessSpec{{0.2}, {0, 1}}));
  EXPECT_TRUE(expected(NormalizationSpec{-1, {128}, {4000}}));
  EXPECT_FALSE(expected(RandomFlipSpec{}));
}

}  // namespace
}  // namespace dptrain::data
