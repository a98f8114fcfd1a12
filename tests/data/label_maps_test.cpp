// Label maps: labels with a class for each pixel, which transforms, mixing and the cache move with the image. Values
// for given draws are of Keras 3 (tests/golden/label_maps.json).

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "data/batch_buffer.h"
#include "data/batch_writer.h"
#include "data/cache.h"
#include "data/labels.h"
#include "data/loader_batches.h"
#include "data/transforms/cropping.h"
#include "data/transforms/geometry.h"
#include "data/transforms/mixing.h"
#include "data/transforms/normalization.h"
#include "data/transforms/rand_augment.h"
#include "support/test_data.h"

namespace dptrain::data {
namespace {

using nn::LabelKind;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::int64_t kMapHeight = 7, kMapWidth = 5, kMapClasses = 4, kMapIgnored = 255, kMapSamples = 11;

/// The label of a pixel is also its value, so that label and image can be compared after any transform.
class PixelSource final : public VectorSource {
 public:
  explicit PixelSource(bool bytes) : VectorSource(kMapSamples, Shape{kMapHeight, kMapWidth, 1}), bytes_(bytes) {
    contiguous = false;
  }
  std::map<std::int64_t, float> odd;  ///< label of pixel 3 of a sample
  std::int64_t small = -1;            ///< the sample with a map of another size

  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    fill(index, kMapHeight, false, out);
  }
  Shape peek_shape(std::int64_t, int) const override { return {kMapHeight, kMapWidth, 1}; }
  LabelType label_type(int) const override { return LabelType::kMap; }
  std::int64_t label_width(int) const override { return 0; }
  void read_label_map(std::int64_t index, Array& out, int) const override {
    fill(index, index == small ? 2 : kMapHeight, bytes_, out);
  }

 private:
  void fill(std::int64_t index, std::int64_t height, bool bytes, Array& out) const {
    out = {.shape = {height, kMapWidth, 1}, .type = bytes ? DType::kU8 : DType::kF32, .u8 = {}, .f32 = {}};
    for (std::int64_t i = 0; i < height * kMapWidth; ++i) {
      const std::int64_t mixed = (13 * index + 7 * i + i * i / 3) % (kMapClasses + 1);
      float value = mixed == kMapClasses ? static_cast<float>(kMapIgnored) : static_cast<float>(mixed);
      if (i == 3 && odd.contains(index)) value = odd.at(index);
      bytes ? out.u8.push_back(static_cast<std::uint8_t>(value)) : out.f32.push_back(value);
    }
  }

  bool bytes_;
};

template <class... Specs>
Pipeline map_pipeline(const Specs&... specs) {
  return Pipeline({transform_family().make(specs)...}, false);
}

LabelForm map_form(LabelKind kind, std::int64_t height, std::int64_t width) {
  return {.output = "digits",
          .kind = kind,
          .width = height * width * kMapClasses,
          .positions = height * width,
          .map = {height, width},
          .ignored = kMapIgnored};
}

struct MapBatch {
  std::vector<float> pixels;
  std::vector<std::int32_t> classes;  ///< kClass
  std::vector<float> rows;            ///< kDense
};

MapBatch first_batch(const std::shared_ptr<const Source>& source, const Pipeline& pipeline, LabelKind kind,
                     std::int64_t height = kMapHeight, std::int64_t width = kMapWidth) {
  const LabelForm form = map_form(kind, height, width);
  LoaderOptions options = loader_options(kMapSamples, 3);
  Loader loader(source, pipeline, model_of({height, width, 1}, {height, width, kMapClasses}), {form}, options);
  loader.seek(2, 0);
  const Batch batch = loader.next();
  const std::int64_t positions = batch.rows() * height * width;
  MapBatch made{.pixels = {batch.input(0), batch.input(0) + positions}, .classes = {}, .rows = {}};
  if (kind == LabelKind::kClass) {
    const auto* const classes = static_cast<const std::int32_t*>(batch.labels());
    made.classes.assign(classes, classes + positions);
  } else {
    const auto* const rows = static_cast<const float*>(batch.labels());
    made.rows.assign(rows, rows + positions * kMapClasses);
  }
  return made;
}

void expect_labels_of_pixels(const Pipeline& pipeline, std::int64_t height = kMapHeight,
                             std::int64_t width = kMapWidth) {
  for (const bool bytes : {true, false}) {
    const auto source = std::make_shared<PixelSource>(bytes);
    const MapBatch classes = first_batch(source, pipeline, LabelKind::kClass, height, width);
    const MapBatch dense = first_batch(source, pipeline, LabelKind::kDense, height, width);
    EXPECT_EQ(classes.pixels, dense.pixels);
    for (std::size_t i = 0; i < classes.pixels.size(); ++i) {
      const float pixel = classes.pixels[i];
      ASSERT_EQ(static_cast<float>(classes.classes[i]), pixel) << pipeline.text() << "position " << i;
      for (std::size_t c = 0; c < kMapClasses; ++c) {
        const float expected = pixel == kMapIgnored ? -1.0F : pixel == static_cast<float>(c) ? 1.0F : 0.0F;
        ASSERT_EQ(dense.rows[i * kMapClasses + c], expected) << pipeline.text() << "position " << i << ", class " << c;
      }
    }
  }
}

WarpArguments nearest(FillMode fill) { return {.fill_mode = fill, .interpolation = Interpolation::kNearest}; }

TEST(LabelMaps, FollowTheImage) {
  expect_labels_of_pixels({});
  expect_labels_of_pixels(map_pipeline(RandomFlipSpec{}));
  for (const FillMode fill : {FillMode::kReflect, FillMode::kWrap, FillMode::kConstant, FillMode::kNearest}) {
    expect_labels_of_pixels(map_pipeline(RandomRotationSpec{nearest(fill), {0.4}}));
    expect_labels_of_pixels(map_pipeline(RandomTranslationSpec{nearest(fill), {0.5}, {0.5}}));
    expect_labels_of_pixels(map_pipeline(RandomZoomSpec{nearest(fill), {0.6}, {}}));
    expect_labels_of_pixels(map_pipeline(RandomShearSpec{nearest(fill), {0.5}, {0.5}}));
  }
  expect_labels_of_pixels(map_pipeline(RandomCropSpec{4, 3, 2}), 4, 3);
  expect_labels_of_pixels(map_pipeline(CenterCropSpec{4, 3}), 4, 3);
  expect_labels_of_pixels(map_pipeline(ResizingSpec{.height = 9, .width = 4, .interpolation = Interpolation::kNearest}),
                          9, 4);
  RandomResizedCropSpec resized{.height = 6, .width = 6};
  resized.interpolation = Interpolation::kNearest;
  expect_labels_of_pixels(map_pipeline(resized), 6, 6);
  expect_labels_of_pixels(
      map_pipeline(RandomFlipSpec{}, RandomCropSpec{6, 4, 1}, RandomRotationSpec{nearest(FillMode::kConstant), {0.5}}),
      6, 4);
}

/// RandomShear with given factors.
class FixedShear final : public RandomWarp {
 public:
  FixedShear(const WarpArguments& arguments, double x, double y) : RandomWarp(arguments), x_(x), y_(y) {}

 protected:
  WarpMatrix draw(RandomStream&, double, double) const override { return shear_matrix(x_, y_); }

 private:
  double x_, y_;
};

/// The transform of a case of label_maps.json. The bilinear interpolation of images does not apply to maps.
std::unique_ptr<Transform> golden_transform(const std::string& name, const nlohmann::json& args) {
  const std::map<std::string, FillMode> modes{{"reflect", FillMode::kReflect},
                                              {"wrap", FillMode::kWrap},
                                              {"constant", FillMode::kConstant},
                                              {"nearest", FillMode::kNearest}};
  WarpArguments warp;
  if (args.contains("fill_mode")) warp.fill_mode = modes.at(args["fill_mode"]);
  const auto made = [](const auto& spec) { return make_transform(transform_family().make(spec)); };
  const auto twice = [&](const char* key) { return std::vector<double>(2, args[key].get<double>()); };
  const auto size = [&](auto spec) {
    spec.height = args["height"];
    spec.width = args["width"];
    return spec;
  };
  if (name == "RandomFlip") return made(RandomFlipSpec{});
  if (name == "RandomRotation") return made(RandomRotationSpec{warp, twice("factor")});
  if (name == "RandomTranslation") return made(RandomTranslationSpec{warp, twice("height"), twice("width")});
  if (name == "RandomZoom") return made(RandomZoomSpec{warp, twice("height"), twice("width")});
  if (name == "RandomShear") return std::make_unique<FixedShear>(warp, args["x"], args["y"]);
  if (name == "RandomCrop") return made(RandomCropSpec{4, 3, 0});
  if (name == "CenterCrop") return made(size(CenterCropSpec{}));
  ResizingSpec resizing = size(ResizingSpec{});
  resizing.crop_to_aspect_ratio = args["crop"];
  return made(resizing);
}

/// Keras draws from another generator: searches a sample with the draws of the case.
DrawKey golden_key(const Transform& transform, const Shape& shape, const nlohmann::json& args) {
  DrawKey key;
  for (; key.sample < 1000; ++key.sample) {
    if (const auto mirror = transform.mirror(key, 0))
      if (mirror->x == args["x"].get<bool>() && mirror->y == args["y"].get<bool>()) break;
    const Window part = transform.part(shape, key, 0);
    if (args.contains("top") && part.top == args["top"].get<int>() && part.left == args["left"].get<int>()) break;
    if (!args.contains("top") && !transform.mirror(key, 0)) break;
  }
  return key;
}

TEST(LabelMaps, EqualKerasForGivenDraws) {
  const auto golden = nlohmann::json::parse(std::ifstream(test::test_data("golden/label_maps.json")));
  Array map{.shape = {golden["height"], golden["width"], 1}, .type = DType::kU8, .u8 = golden["map"], .f32 = {}};
  Array floats{.shape = map.shape, .type = DType::kF32, .u8 = {}, .f32 = {map.u8.begin(), map.u8.end()}};
  std::map<std::string, int> seen;
  for (const nlohmann::json& entry : golden["cases"]) {
    const std::string name = entry["transform"];
    const std::unique_ptr<Transform> transform = golden_transform(name, entry["args"]);
    const DrawKey key = golden_key(*transform, map.shape, entry["args"]);
    for (const Array* in : {&map, &floats}) {
      Array out;
      transform->apply_to_map(view_of(*in), golden["fill"], out, key, 0);
      const std::vector<float> found =
          out.type == DType::kU8 ? std::vector<float>(out.u8.begin(), out.u8.end()) : out.f32;
      EXPECT_EQ(out.shape, (Shape{entry["shape"][0], entry["shape"][1], 1}));
      EXPECT_EQ(found, entry["values"].get<std::vector<float>>()) << name << " " << entry["args"].dump();
    }
    ++seen[name];
  }
  EXPECT_EQ(seen.size(), 8U);
}

TEST(LabelMaps, FollowTheWarpsOfRandAugment) {
  RandAugmentSpec spec;
  spec.num_ops = 3;
  spec.interpolation = Interpolation::kNearest;
  const auto source = std::make_shared<PixelSource>(true);
  const MapBatch made = first_batch(source, map_pipeline(spec), LabelKind::kClass);
  const MapBatch plain = first_batch(source, {}, LabelKind::kClass);
  EXPECT_NE(made.classes, plain.classes);
}

TEST(LabelMaps, OtherTransformsLeaveThemUnchanged) {
  const auto source = std::make_shared<PixelSource>(true);
  const MapBatch made = first_batch(source, map_pipeline(RescalingSpec{.scale = {0.5}}), LabelKind::kClass);
  EXPECT_EQ(made.classes, first_batch(source, {}, LabelKind::kClass).classes);
}

TEST(LabelMaps, TakeTheFillLabelOutsideOfTheImage) {
  const auto source = std::make_shared<VectorSource>(1, Shape{2, 3, 1});
  source->values = {{0, 1, 2, 3, 2, 1}};
  for (const bool warp : {true, false})
    for (const std::int64_t fill : {std::int64_t{2}, kMapIgnored, std::int64_t{-1}}) {
      const Pipeline away = warp ? map_pipeline(RandomTranslationSpec{nearest(FillMode::kConstant), {1, 1}, {0, 0}})
                                 : map_pipeline(RandomCropSpec{2, 3, 40});
      const LabelForm form{.output = "digits",
                           .kind = LabelKind::kClass,
                           .width = 24,
                           .positions = 6,
                           .map = {2, 3},
                           .ignored = fill == 2 ? kMapIgnored : fill,
                           .fill = fill};
      const BatchWriter writer(with_label_map(source, 0), away, model_of({2, 3, 1}, {2, 3, 4}), {form}, 1,
                               BatchForm::kFloats);
      const auto buffer = writer.make_buffer(1, aligned_memory);
      BatchWriter::Scratch scratch;
      writer.fill(0, 0, 0, scratch, *buffer);
      const auto* const labels = reinterpret_cast<const std::int32_t*>(buffer->labels[0].data());
      EXPECT_THAT(std::vector<std::int32_t>(labels, labels + 6), Each(fill));
    }
}

TEST(LabelMaps, CutMixCutsThem) {
  const auto source = std::make_shared<PixelSource>(true);
  const MapBatch made = first_batch(source, map_pipeline(RandomFlipSpec{}, CutMixSpec{{1.0}}), LabelKind::kDense);
  for (std::size_t i = 0; i < made.pixels.size(); ++i)
    for (std::size_t c = 0; c < kMapClasses; ++c)
      ASSERT_EQ(made.rows[i * kMapClasses + c], made.pixels[i] == kMapIgnored             ? -1.0F
                                                : made.pixels[i] == static_cast<float>(c) ? 1.0F
                                                                                          : 0.0F);
}

TEST(LabelMaps, MixUpMixesThem) {
  const auto source = std::make_shared<PixelSource>(true);
  for (const bool twice : {false, true}) {
    const Pipeline pipeline = twice ? map_pipeline(RandomFlipSpec{}, MixUpSpec{0.4}, CutMixSpec{{1.0}})
                                    : map_pipeline(RandomFlipSpec{}, MixUpSpec{0.4});
    const MapBatch made = first_batch(source, pipeline, LabelKind::kDense);
    for (std::size_t i = 0; i < made.pixels.size(); ++i) {
      float mean = 0, sum = 0;
      for (std::size_t c = 0; c < kMapClasses; ++c) {
        sum += made.rows[i * kMapClasses + c];
        mean += made.rows[i * kMapClasses + c] * static_cast<float>(c);
      }
      if (sum < 0) {
        EXPECT_EQ(sum, -kMapClasses) << "an ignored pixel of either sample is ignored";
        continue;
      }
      ASSERT_NEAR(sum, 1, 1e-6);
      ASSERT_NEAR(mean, made.pixels[i], 1e-5);
    }
  }
  EXPECT_THAT(error_of(ErrorKind::kUsage,
                       [&] { first_batch(source, map_pipeline(MixUpSpec{0.4}, RandomFlipSpec{}), LabelKind::kDense); }),
              HasSubstr("RandomFlip: label maps cannot follow it after MixUp; put it before"));
}

TEST(LabelMaps, ACacheKeepsThemInStep) {
  ResizingSpec resizing{.height = 6, .width = 4, .interpolation = Interpolation::kNearest};
  const Pipeline pipeline = map_pipeline(resizing, RandomFlipSpec{});
  const auto source = std::make_shared<PixelSource>(true);
  const MapBatch expected = first_batch(source, pipeline, LabelKind::kClass, 6, 4);
  CacheOptions memory;
  memory.kind = CacheOptions::Kind::kMemory;
  auto [stored, rest] = cached(source, pipeline, memory, "train");
  for (int pass = 0; pass < 2; ++pass) {
    const MapBatch found = first_batch(stored, rest, LabelKind::kClass, 6, 4);
    EXPECT_EQ(found.classes, expected.classes);
    EXPECT_EQ(found.pixels, expected.pixels);
  }
  const auto transformed = with_transformed_maps(source, map_pipeline(resizing));
  Array map;
  transformed->read_label_map(3, map, 0);
  EXPECT_EQ(map.shape, (Shape{6, 4, 1}));
}

TEST(LabelMaps, AreMadeFromValuesPerPixel) {
  const auto source = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  source->values = {{0, 1, 2, 3, 2, 1}, {1, 0, 0, 0, 0, 2}};
  const auto mapped = with_label_map(source, 0);
  ASSERT_EQ(mapped->label_type(0), LabelType::kMap);
  Array map;
  mapped->read_label_map(0, map, 0);
  EXPECT_EQ(map.shape, (Shape{2, 3, 1}));
  EXPECT_EQ(map.f32, source->values[0]);
  EXPECT_EQ(mapped->f32_rows(0), source->f32_rows(0));
  source->values = {{0, 1, 2, 3}, {1, 0, 0, 0}};
  EXPECT_EQ(with_label_map(source, 0), source) << "not one per pixel";
  const LabelForm form{.output = "digits", .kind = LabelKind::kClass, .width = 16, .positions = 4, .map = {2, 2}};
  EXPECT_THAT(
      error_of(
          ErrorKind::kUsage,
          [&] {
            Loader(source, map_pipeline(RandomFlipSpec{}), model_of({2, 3, 1}, {2, 2, 4}), {form}, loader_options(2));
          }),
      HasSubstr("RandomFlip: moves the pixels of inputs but not the labels of output 'digits'"));
}

TEST(LabelMaps, OtherLabelsWithAnIgnoredClassAreNotMixed) {
  const auto source = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  source->values = {{0, 1, 2, 3}, {1, 0, 255, 0}};
  LabelForm form = map_form(LabelKind::kDense, 2, 2);
  EXPECT_THAT(
      error_of(
          ErrorKind::kUsage,
          [&] {
            Loader(source, map_pipeline(MixUpSpec{0.4}), model_of({2, 3, 1}, {2, 2, 4}), {form}, loader_options(2));
          }),
      HasSubstr("the labels of output 'digits' have an ignored class and cannot be mixed"));
}

TEST(LabelMaps, DevicesDoNotMoveThem) {
  const auto source = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  source->values = {{0, 1, 2, 3, 2, 1}, {1, 0, 0, 0, 0, 2}};
  const LabelForm form{.output = "digits", .kind = LabelKind::kClass, .width = 24, .positions = 6, .map = {2, 3}};
  const auto rows = [&](const Pipeline& pipeline) {
    return Loader(with_label_map(source, 0), pipeline, model_of({2, 3, 1}, {2, 3, 4}), {form}, loader_options(2))
        .rows_in_memory()
        .size();
  };
  EXPECT_EQ(rows(map_pipeline(RescalingSpec{.scale = {0.5}})), 1U);
  EXPECT_EQ(rows(map_pipeline(RandomFlipSpec{})), 0U);
}

TEST(LabelMaps, AllThatDoNotFitAreListed) {
  const auto source = std::make_shared<PixelSource>(true);
  source->odd = {{2, 9.0F}, {7, 4.0F}};
  source->small = 5;
  EXPECT_EQ(error_of(ErrorKind::kData,
                     [&] { LabelWriter(source, map_form(LabelKind::kClass, kMapHeight, kMapWidth)).check_maps(); }),
            "3 label maps do not fit; expected the size of the picture and labels 0..3 or 255:\n"
            "  labels, item 2: label 9 at row 0, column 3\n"
            "  labels, item 5: 2x5, its picture is 7x5\n"
            "  labels, item 7: label 4 at row 0, column 3");
  LabelForm strict = map_form(LabelKind::kClass, kMapHeight, kMapWidth);
  strict.ignored.reset();
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { LabelWriter(source, strict).check_maps(); }),
              HasSubstr("labels 0..3; if other labels mean \"unknown\", set ignore_class of the data set:"));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { first_batch(source, {}, LabelKind::kClass); }),
              HasSubstr("is not a class"));
}

TEST(LabelMaps, NeedPositionsOfTheirSize) {
  const auto source = std::make_shared<PixelSource>(true);
  EXPECT_THAT(error_of(ErrorKind::kData,
                       [&] {
                         LabelForm form = map_form(LabelKind::kClass, 3, 3);
                         Loader loader(source, {}, model_of({kMapHeight, kMapWidth, 1}, {3, 3, kMapClasses}), {form},
                                       loader_options(2));
                         loader.next();
                       }),
              HasSubstr("the label map is 7x5 after the transforms, but the output 'digits' has 3x3 positions"));
  EXPECT_THAT(
      error_of(ErrorKind::kData,
               [&] { LabelWriter(source, {.output = "digits", .kind = LabelKind::kClass, .width = kMapClasses}); }),
      HasSubstr("labels are a class for each pixel, but the output 'digits' has no axes"));
}

TEST(PipelineTest, CoversAPartOfTheImage) {
  const auto covered = [](const Pipeline& pipeline, const Shape& image) {
    const std::array<double, 4> part = pipeline.covered(image);
    return std::vector<double>(part.begin(), part.end());
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(covered(map_pipeline(ResizingSpec{.height = 8, .width = 8}), {40, 20, 3}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(covered(map_pipeline(ResizingSpec{.height = 8, .width = 8, .crop_to_aspect_ratio = true}), {40, 20, 3}),
              ElementsAre(0.25, 0, 0.5, 1));
  EXPECT_THAT(covered(map_pipeline(CenterCropSpec{20, 10}), {40, 20, 3}), ElementsAre(0.25, 0.25, 0.5, 0.5));
  EXPECT_THAT(covered(map_pipeline(ResizingSpec{.height = 20, .width = 20}, CenterCropSpec{10, 10}), {40, 20, 3}),
              ElementsAre(0.25, 0.25, 0.5, 0.5));
}

}  // namespace
}  // namespace dptrain::data
