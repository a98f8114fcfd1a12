// Pictures of samples with their label maps, which follow the transforms.

#include "session/sample_images.h"

#include <gmock/gmock.h>

#include "experiment/model_side.h"

namespace dptrain::session {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kHeight = 4, kWidth = 6, kIgnored = 9;

/// The label of a pixel is also its value.
class PixelSource final : public data::Source {
 public:
  std::int64_t size() const override { return 8; }
  int inputs() const override { return 1; }
  std::string input_name(int) const override { return ""; }
  Shape input_shape(int) const override { return {kHeight, kWidth, 1}; }
  void read(std::int64_t index, int, data::Array& out, const data::ReadHint&) const override {
    out = {.shape = {kHeight, kWidth, 1}, .type = DType::kF32, .u8 = {}, .f32 = {}};
    for (std::int64_t i = 0; i < kHeight * kWidth; ++i) {
      const std::int64_t c = (index + 5 * i + i * i / 7) % 4;
      out.f32.push_back(static_cast<float>(c == 3 ? kIgnored : c));
    }
  }
  data::LabelType label_type(int) const override { return data::LabelType::kMap; }
  std::int64_t label_width(int) const override { return 0; }
  std::int64_t label_class(std::int64_t, int) const override { return 0; }
  void label_values(std::int64_t, float*, int) const override {}
  void read_label_map(std::int64_t index, data::Array& out, int) const override { read(index, 0, out, {}); }
  std::string label_place(std::int64_t index, int) const override { return "item " + std::to_string(index); }
  std::vector<std::string> class_names(int) const override { return {"background", "road", "tree"}; }
  std::string fingerprint() const override { return "pixels"; }
};

experiment::Experiment maps_experiment(const std::string& transforms) {
  return experiment::load_experiment_text(
      "dptrain: 1\n"
      "model: {layers: [{Input: {shape: [4, 6, 1]}}, {Conv2D: {filters: 3, kernel_size: 1, activation: softmax}}]}\n"
      "data: {train: {Synthetic: {samples: 8, ignore_class: 9}}, transforms: {train: [" +
          transforms +
          "]}}\n"
          "train: {epochs: 1, batch_size: 2, loss: categorical_crossentropy}\n",
      "maps.yaml", {});
}

struct Drawn {
  std::vector<float> values;
  plot::ClassMap map;
  plot::RgbImage image;
};

/// Sample 3 in an epoch, drawn on black.
Drawn draw(const std::string& transforms, std::int64_t epoch) {
  const experiment::Experiment experiment = maps_experiment(transforms);
  const data::ModelSide model = experiment::model_side(experiment);
  const auto source = std::make_shared<PixelSource>();
  const MapLabels labels = *map_labels(*source, experiment, model, false);
  EXPECT_THAT(labels.names, ElementsAre("background", "road", "tree"));
  SampleReader reader(source, experiment, model, 0, false, labels.form);
  Drawn drawn{.values = reader.read(3, epoch), .map = reader.label_map(), .image = plot::RgbImage(kHeight, kWidth, 0)};
  drawn.image = plot::overlaid(drawn.image, drawn.map, class_colors(labels.names));
  return drawn;
}

TEST(SampleImages, OverlaysFollowFlips) {
  const Drawn plain = draw("", 0);
  bool flipped = false;
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
    const Drawn drawn = draw("RandomFlip", epoch);
    const bool moved = drawn.values != plain.values;
    EXPECT_EQ(moved, drawn.image.rgb != plain.image.rgb) << epoch;
    flipped = flipped || moved;
    for (std::size_t i = 0; i < drawn.values.size(); ++i) {
      const std::vector<std::uint8_t> pixel(drawn.image.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i),
                                            drawn.image.rgb.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
      const float value = drawn.values[i];
      if (value == kIgnored)
        EXPECT_THAT(pixel[0], ::testing::AnyOf(0, 255));
      else
        EXPECT_EQ(pixel, value == 0   ? (std::vector<std::uint8_t>{0, 0, 0})
                         : value == 1 ? (std::vector<std::uint8_t>{64, 0, 0})
                                      : (std::vector<std::uint8_t>{0, 64, 0}))
            << epoch << ", pixel " << i;
    }
  }
  EXPECT_TRUE(flipped);
}

TEST(SampleImages, MixedLabelsAreDrawnAsTheLargestClass) {
  const Drawn drawn = draw("{CutMix: {factor: 1}}", 1);
  for (std::size_t i = 0; i < drawn.values.size(); ++i)
    EXPECT_EQ(drawn.map.classes[i],
              drawn.values[i] == kIgnored ? plot::ClassMap::kIgnored : static_cast<std::int32_t>(drawn.values[i]));
}

TEST(SampleImages, HaveNoMapWithoutAClassForEachPixel) {
  const experiment::Experiment classes = experiment::load_experiment_text(
      "dptrain: 1\n"
      "model: {layers: [{Input: {shape: [4, 6, 1]}}, {Flatten: {}}, {Dense: {units: 3, activation: softmax}}]}\n"
      "data: {train: {Synthetic: {samples: 8}}}\n"
      "train: {epochs: 1, batch_size: 2, loss: sparse_categorical_crossentropy}\n",
      "classes.yaml", {});
  EXPECT_FALSE(map_labels(PixelSource(), classes, experiment::model_side(classes), false));
}

TEST(SampleImages, LegendHasTheClassesThatOccur) {
  const plot::ClassMap one{.height = 1, .width = 2, .classes = {0, 2}},
      two{.height = 1, .width = 2, .classes = {2, plot::ClassMap::kIgnored}};
  const std::vector<plot::ClassColor> legend = legend_of({&one, &two}, {"background", "road", "tree"});
  ASSERT_EQ(legend.size(), 3U);
  EXPECT_EQ(legend[0].name, "background");
  EXPECT_FALSE(legend[0].color);
  EXPECT_EQ(legend[1].name, "tree");
  EXPECT_EQ(legend[1].color, (plot::Rgb{0, 128, 0}));
  EXPECT_TRUE(legend[2].hatched);
  EXPECT_EQ(legend_of({&one}, {"background", "road", "tree"}).size(), 2U);
}

TEST(SampleImages, OnlyABackgroundHasNoColor) {
  for (const char* const name : {"0", "background", "Background", "_background_", "BG"})
    EXPECT_FALSE(class_colors({name, "1"})[0]) << name;
  EXPECT_TRUE(class_colors({"road", "background"})[0]);
  EXPECT_TRUE(class_colors({"road", "background"})[1]);
  const auto many = class_colors(std::vector<std::string>(600, "x"));
  ASSERT_EQ(many.size(), 600U);
  EXPECT_EQ(many[256], many[1]);
}

}  // namespace
}  // namespace dptrain::session
