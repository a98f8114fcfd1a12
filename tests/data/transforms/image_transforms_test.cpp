// Compares resizing, warps and PreprocessInput with values of Keras 3 (tests/golden/images.json, which names the
// versions), and folded transforms with the same transforms one by one.

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/fixtures.h"
#include "data/images/image_resize.h"
#include "data/transforms/colour.h"
#include "data/transforms/cropping.h"
#include "data/transforms/geometry.h"
#include "data/transforms/normalization.h"
#include "data/transforms/pixels.h"
#include "support/test_data.h"

namespace dptrain::data {
namespace {

using nlohmann::json;

Array image(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Array made{.shape = {height, width, channels}, .type = DType::kU8, .u8 = {}, .f32 = {}};
  for (std::int64_t i = 0; i < made.shape.elements(); ++i)
    made.u8.push_back(static_cast<std::uint8_t>((37 * i + 11 * (i / 7) + 101 * (i / 13)) % 256));
  return made;
}
Array image(const json& entry) { return image(entry["in"][0], entry["in"][1], entry["in"][2]); }

Array as_floats(const Array& bytes) {
  return {.shape = bytes.shape, .type = DType::kF32, .u8 = {}, .f32 = {bytes.u8.begin(), bytes.u8.end()}};
}

template <class... Specs>
Pipeline image_pipeline(const Specs&... specs) {
  return Pipeline({transform_family().make(specs)...}, false);
}
std::vector<float> run_images(const Pipeline& p, Array in, DrawKey key = {}) {
  Array spare;
  const Shape expected = p.output(in.shape);
  p.apply(in, spare, key);
  EXPECT_EQ(in.shape, expected);
  return in.f32;
}

const json& golden() {
  static const json values = json::parse(std::ifstream(dptrain::test::test_data("golden/images.json")));
  return values;
}

/// The values are rounded to 1e-5; float sums of bytes in another order differ by about 255 * 2^-23.
constexpr float kTolerance = 2e-4F;

void expect_near(const std::vector<float>& found, const json& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i].get<float>(), kTolerance) << what << ", element " << i;
}

TEST(Resizing, EqualsKeras) {
  for (const json& entry : golden()["resizing"]) {
    ResizingSpec spec;
    spec.height = entry["out"][0];
    spec.width = entry["out"][1];
    spec.interpolation = entry["interpolation"] == "nearest" ? Interpolation::kNearest : Interpolation::kBilinear;
    spec.antialias = entry["antialias"];
    spec.crop_to_aspect_ratio = entry["crop_to_aspect_ratio"];
    json named = entry;
    named.erase("values");
    expect_near(run_images(image_pipeline(spec), image(entry)), entry["values"], named.dump());
    expect_near(run_images(image_pipeline(spec), as_floats(image(entry))), entry["values"],
                named.dump() + " of floats");
  }
}

TEST(Resizing, TablesStayInBoundsAndSumToOne) {
  for (const ResizeFilter filter : {ResizeFilter::kNearest, ResizeFilter::kBilinear, ResizeFilter::kTriangle})
    for (const std::int64_t in : {1, 2, 3, 7, 100, 333, 20000})
      for (const std::int64_t out : {1, 2, 5, 224, 299}) {
        const ResizeTable table = make_resize_table(in, out, filter, false);
        const ResizeTable back = make_resize_table(in, out, filter, true);
        ASSERT_EQ(table.first.size(), static_cast<std::size_t>(out));
        for (std::int64_t i = 0; i < out; ++i) {
          const auto at = static_cast<std::size_t>(i), mirrored = static_cast<std::size_t>(out - 1 - i);
          EXPECT_GE(table.first[at], 0);
          EXPECT_LE(table.first[at] + table.taps, in);
          EXPECT_EQ(table.first[at], back.first[mirrored]);
          if (filter == ResizeFilter::kNearest) continue;
          float sum = 0;
          for (std::int64_t t = 0; t < table.taps; ++t) {
            sum += table.weights[static_cast<std::size_t>(t * out + i)];
            EXPECT_EQ(table.weights[static_cast<std::size_t>(t * out + i)],
                      back.weights[static_cast<std::size_t>(t * out) + mirrored]);
          }
          EXPECT_NEAR(sum, 1, 1e-5) << in << " to " << out;
        }
      }
}

TEST(Resizing, TablesHaveNoUnusedTaps) {
  EXPECT_EQ(make_resize_table(500, 224, ResizeFilter::kTriangle, false).taps, 5);  // a triangle 4.46 pixels wide
  EXPECT_EQ(make_resize_table(333, 224, ResizeFilter::kTriangle, false).taps, 3);
  EXPECT_EQ(make_resize_table(100, 224, ResizeFilter::kTriangle, false).taps, 2);
}

TEST(Resizing, ScaledDecodeIsAHintOfTheFirstTransform) {
  ResizingSpec spec;
  spec.height = 20;
  spec.width = 30;
  EXPECT_EQ(image_pipeline(spec).hint().min_height, 0);
  spec.scaled_decode = true;
  EXPECT_EQ(image_pipeline(spec, RandomFlipSpec{}).hint().min_height, 20);
  EXPECT_EQ(image_pipeline(spec).hint().min_width, 30);
  EXPECT_EQ(
      error_of(ErrorKind::kUsage, [&] { image_pipeline(RandomFlipSpec{}, spec); }),
      "Resizing: scaled_decode changes how images are read and works in the first transform only, found in number "
      "2");
}

TEST(PreprocessInput, EqualsKeras) {
  const std::map<std::string, PreprocessMode> modes{
      {"caffe", PreprocessMode::kCaffe}, {"tf", PreprocessMode::kTf}, {"torch", PreprocessMode::kTorch}};
  for (const json& entry : golden()["preprocess"]) {
    const Pipeline p = image_pipeline(PreprocessInputSpec{modes.at(entry["mode"])});
    expect_near(run_images(p, image(entry)), entry["values"], entry["mode"]);
    expect_near(run_images(p, as_floats(image(entry))), entry["values"], entry["mode"]);
  }
  EXPECT_EQ(error_of(ErrorKind::kUsage,
                     [] {
                       static_cast<void>(image_pipeline(PreprocessInputSpec{PreprocessMode::kCaffe}).output({4, 4, 1}));
                     }),
            "PreprocessInput: mean and variance are for 3 channels, but samples are 4x4x1");
}

/// A warp by a given matrix.
class FixedWarp final : public RandomWarp {
 public:
  FixedWarp(const WarpArguments& arguments, WarpMatrix matrix) : RandomWarp(arguments), matrix_(matrix) {}

 protected:
  WarpMatrix draw(RandomStream&, double, double) const override { return matrix_; }

 private:
  WarpMatrix matrix_;
};

TEST(RandomWarp, EqualsKerasForAMatrix) {
  const std::map<std::string, FillMode> modes{{"reflect", FillMode::kReflect},
                                              {"wrap", FillMode::kWrap},
                                              {"constant", FillMode::kConstant},
                                              {"nearest", FillMode::kNearest}};
  for (const json& entry : golden()["affine"]) {
    WarpArguments arguments;
    arguments.fill_mode = modes.at(entry["fill_mode"]);
    arguments.interpolation = entry["interpolation"] == "nearest" ? Interpolation::kNearest : Interpolation::kBilinear;
    arguments.fill_value = entry["fill_value"];
    WarpMatrix matrix;
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = entry["matrix"][i];
    const FixedWarp warp(arguments, matrix);
    json named = entry;
    named.erase("values");
    for (const Array& in : {image(entry), as_floats(image(entry))}) {
      Array out;
      warp.apply(view_of(in), out, {}, 0);
      expect_near(out.f32, entry["values"], named.dump());
    }
  }
}

TEST(RandomWarp, UsesTheGivenFactors) {
  const Array in = image(6, 5, 3);
  const std::vector<float> same(in.u8.begin(), in.u8.end());
  const auto near = [](const std::vector<float>& values) {
    return ::testing::Pointwise(::testing::FloatNear(1e-3F), values);
  };
  EXPECT_THAT(run_images(image_pipeline(RandomRotationSpec{{}, {0, 0}}), in), near(same));
  EXPECT_THAT(run_images(image_pipeline(RandomZoomSpec{{}, {0, 0}, {}}), in), near(same));
  // Half a turn equals both flips; no pixel comes from outside.
  const Pipeline half = image_pipeline(RandomRotationSpec{{}, {0.5, 0.5}});
  std::vector<float> turned(same.size());
  for (std::size_t p = 0; p < 30; ++p)
    for (std::size_t c = 0; c < 3; ++c) turned[p * 3 + c] = same[(29 - p) * 3 + c];
  EXPECT_THAT(run_images(half, in), near(turned));
  // A third of six rows down, two fifths of five columns to the left.
  WarpArguments constant;
  constant.fill_mode = FillMode::kConstant;
  const std::vector<float> moved =
      run_images(image_pipeline(RandomTranslationSpec{constant, {2.0 / 6, 2.0 / 6}, {-0.4, -0.4}}), in);
  for (std::size_t y = 0; y < 6; ++y)
    for (std::size_t x = 0; x < 5; ++x)
      EXPECT_NEAR(moved[(y * 5 + x) * 3], y >= 2 && x + 2 < 5 ? same[((y - 2) * 5 + x + 2) * 3] : 0.0F, 1e-3F);
  // Zooming out by one half with a zero border: the middle pixel is kept, the corner is outside.
  const std::vector<float> small = run_images(image_pipeline(RandomZoomSpec{constant, {1, 1}, {}}), image(5, 5, 1));
  EXPECT_NEAR(small[12], image(5, 5, 1).u8[12], 1e-3F);
  EXPECT_EQ(small[0], 0);
}

TEST(RandomResizedCrop, WindowsHaveTheGivenAreasAndRatios) {
  // Every pixel is its row (channel 0) and column (channel 1), so nearest sampling reveals the window.
  Array in{.shape = {60, 80, 2}, .type = DType::kF32, .u8 = {}, .f32 = {}};
  for (int y = 0; y < 60; ++y)
    for (int x = 0; x < 80; ++x) in.f32.insert(in.f32.end(), {static_cast<float>(y), static_cast<float>(x)});
  RandomResizedCropSpec spec;
  spec.height = 60;
  spec.width = 80;
  spec.scale = {0.2, 0.5};
  spec.ratio = {0.5, 2};
  spec.interpolation = Interpolation::kNearest;
  const Pipeline p = image_pipeline(spec);
  double least = 1, most = 0;
  for (std::uint64_t sample = 0; sample < 300; ++sample) {
    const std::vector<float> out = run_images(p, in, {.seed = 3, .sample = sample, .epoch = 0});
    const double height = out[out.size() - 2] - out[0] + 1, width = out[out.size() - 1] - out[1] + 1;
    const double area = height * width / 4800, ratio = width / height;
    EXPECT_GT(area, 0.2 * 0.95) << sample;  // sides are rounded to whole pixels of at least 22
    EXPECT_LT(area, 0.5 * 1.05) << sample;
    EXPECT_GT(ratio, 0.5 * 0.95) << sample;
    EXPECT_LT(ratio, 2 * 1.05) << sample;
    least = std::min(least, area);
    most = std::max(most, area);
  }
  EXPECT_LT(least, 0.22);
  EXPECT_GT(most, 0.47);
  spec.ratio = {9, 10};  // no window fits: the widest one in the middle
  spec.scale = {1, 1};
  const std::vector<float> wide = run_images(image_pipeline(spec), in);
  EXPECT_EQ(wide[0], 25);  // 80 / 9 = 9 rows of 60
  EXPECT_EQ(wide[1], 0);
}

/// Applies each transform separately, without folding.
std::vector<float> one_by_one(const std::vector<config::Typed>& specs, Array in, const DrawKey& key) {
  Array out;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    make_transform(specs[i])->apply(view_of(in), out, key, static_cast<std::uint32_t>(i));
    std::swap(in, out);
  }
  copy_floats(view_of(in), out);
  return out.f32;
}

TEST(Pipeline, ReadsOnlyItsPart) {
  const auto check = [](const auto& spec, const Shape& shape) {
    const Pipeline pipe = image_pipeline(spec);
    for (std::uint64_t sample = 0; sample < 20; ++sample) {
      const DrawKey key{.seed = 3, .sample = sample};
      Array image{.shape = shape, .type = DType::kU8, .u8 = {}, .f32 = {}};
      for (std::int64_t i = 0; i < shape.elements(); ++i) image.u8.push_back(static_cast<std::uint8_t>(i * 37));
      const Window part = pipe.part(shape, key);
      ASSERT_GE(std::min(part.top, part.left), 0);
      ASSERT_LE(part.top + part.height, shape[0]);
      ASSERT_LE(part.left + part.width, shape[1]);
      Array other = image, spare;
      for (std::int64_t y = 0, i = 0; y < shape[0]; ++y)
        for (std::int64_t x = 0; x < shape[1]; ++x)
          for (int c = 0; c < 3; ++c, ++i)
            if (y < part.top || y >= part.top + part.height || x < part.left || x >= part.left + part.width)
              other.u8[static_cast<std::size_t>(i)] ^= 0xFF;
      pipe.apply(image, spare, key);
      pipe.apply(other, spare, key);
      ASSERT_EQ(image.f32, other.f32) << "sample " << sample;
    }
  };
  for (const Shape& shape : {Shape{50, 60, 3}, Shape{20, 61, 3}, Shape{9, 7, 3}}) {
    check(CenterCropSpec{.height = 21, .width = 30}, shape);
    check(RandomCropSpec{.height = 21, .width = 30}, shape);
    check(RandomCropSpec{.height = 21, .width = 30, .padding = 12}, shape);
    check(RandomResizedCropSpec{.height = 24, .width = 24, .antialias = true}, shape);
    check(ResizingSpec{.height = 24, .width = 24, .crop_to_aspect_ratio = true}, shape);
    check(ResizingSpec{.height = 24, .width = 24}, shape);
  }
}

TEST(Pipeline, FoldingKeepsTheResult) {
  const auto typed = [](const auto& spec) { return transform_family().make(spec); };
  ResizingSpec bilinear, antialiased, nearest;
  bilinear.height = 7, bilinear.width = 9;
  antialiased = bilinear, antialiased.antialias = true;
  nearest = bilinear, nearest.interpolation = Interpolation::kNearest;
  RandomResizedCropSpec resized;
  resized.height = 6, resized.width = 8;
  const config::Typed firsts[] = {typed(bilinear),
                                  typed(antialiased),
                                  typed(nearest),
                                  typed(CenterCropSpec{6, 5}),
                                  typed(CenterCropSpec{30, 30}),
                                  typed(RandomCropSpec{12, 11, 3}),
                                  typed(RandomCropSpec{40, 40, 1}),
                                  typed(resized),
                                  typed(RandomRotationSpec{{}, {0.2}}),
                                  typed(RandomZoomSpec{{}, {0.5}, {0.3}}),
                                  typed(RandomTranslationSpec{{}, {0.5}, {0.3}}),
                                  typed(RandomContrastSpec{{0.5}, {0, 255}}),
                                  typed(RandomBrightnessSpec{{0.3}, {0, 255}}),
                                  typed(PerImageStandardizationSpec{}),
                                  typed(RescalingSpec{2, 1})};
  for (const std::int64_t channels : {1, 3, 4, 2})
    for (const config::Typed& first : firsts) {
      std::vector<config::Typed> specs{typed(RandomFlipSpec{}), first, typed(RandomFlipSpec{}),
                                       typed(NormalizationSpec{-1, {100}, {900}}),
                                       typed(RandomFlipSpec{FlipMode::kVertical})};
      if (channels == 3) specs.push_back(typed(PreprocessInputSpec{PreprocessMode::kCaffe}));
      const Pipeline whole(specs, false);
      const auto [prefix, rest] = whole.split();
      for (std::uint64_t sample = 0; sample < 12; ++sample) {
        const DrawKey key{.seed = 5, .sample = sample, .epoch = 1};
        const std::vector<float> expected = one_by_one(specs, image(17, 13, channels), key);
        EXPECT_THAT(run_images(whole, image(17, 13, channels), key),
                    ::testing::Pointwise(::testing::FloatNear(2e-3F), expected))
            << first.name() << " of " << channels << " channels, sample " << sample;
      }
    }
}

TEST(Pipeline, SplitsAfterTheLastTransformWorthCaching) {
  ResizingSpec small;
  small.height = small.width = 4;
  const Pipeline p = image_pipeline(CenterCropSpec{8, 8}, RescalingSpec{0.5, 0}, small, RescalingSpec{2, 1},
                                    RandomFlipSpec{}, RescalingSpec{3, 0});
  const auto [prefix, rest] = p.split();
  EXPECT_FALSE(prefix.random());
  EXPECT_TRUE(rest.random());
  EXPECT_EQ(prefix.output({9, 9, 1}), (Shape{4, 4, 1}));
  for (std::uint64_t sample = 0; sample < 8; ++sample) {
    const DrawKey key{.seed = 1, .sample = sample, .epoch = 0};
    Array kept = image(9, 9, 1), spare;
    prefix.run(kept, spare, key);
    EXPECT_EQ(kept.type, DType::kF32);
    EXPECT_EQ(run_images(rest, kept, key), run_images(p, image(9, 9, 1), key));
  }
  const auto [none, all] = image_pipeline(RescalingSpec{2, 1}, RandomFlipSpec{}).split();
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(run_images(all, image(3, 3, 1)),
            run_images(image_pipeline(RescalingSpec{2, 1}, RandomFlipSpec{}), image(3, 3, 1)));
  Array kept = image(9, 9, 1), spare;
  image_pipeline(CenterCropSpec{8, 8}, RandomFlipSpec{}).split().first.run(kept, spare, {});
  EXPECT_EQ(kept.type, DType::kU8);
}

}  // namespace
}  // namespace dptrain::data
