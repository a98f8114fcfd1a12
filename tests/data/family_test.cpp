#include <gmock/gmock.h>

#include "config/load.h"
#include "data/transforms.h"
#include "fixtures.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Reads one member of a family out of YAML.
config::Typed read(config::Family& family, const std::string& yaml, std::string* errors = nullptr) {
  config::Diagnostics diagnostics;
  const config::Node node = config::load_text(yaml, "c.yaml", "/home/user/configs", diagnostics);
  config::Reader reader(diagnostics);
  config::Typed typed = family.read(node, reader);
  if (errors != nullptr) {
    *errors = diagnostics.render();
  } else {
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.render();
  }
  return typed;
}
std::string refusal(config::Family& family, const std::string& yaml) {
  std::string errors;
  read(family, yaml, &errors);
  return errors;
}

TEST(DatasetFamily, ReadsIdx) {
  const config::Typed typed =
      read(dataset_family(), "IDX: {inputs: ../d/x.gz, labels: y, take: 7, class_names: [a, NO]}");
  const auto& spec = typed.as<IDXSpec>();
  ASSERT_EQ(spec.inputs.paths.size(), 1U);
  EXPECT_EQ(spec.inputs.paths[0].first, "");
  EXPECT_EQ(spec.inputs.paths[0].second.value, "/home/user/d/x.gz");
  EXPECT_EQ(spec.labels.value, "/home/user/configs/y");
  EXPECT_EQ(spec.take, 7);
  EXPECT_THAT(spec.class_names, ElementsAre("a", "NO"));
}

TEST(DatasetFamily, ReadsNamedInputs) {
  const config::Typed typed = read(dataset_family(), "IDX: {inputs: {tweet_a: a.gz, tweet_b: b.gz}, labels: y}");
  const auto& paths = typed.as<IDXSpec>().inputs.paths;
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[1].first, "tweet_b");
  EXPECT_EQ(paths[1].second.value, "/home/user/configs/b.gz");
  EXPECT_THAT(config::to_yaml(typed.write()), HasSubstr("tweet_a: /home/user/configs/a.gz"));
}

TEST(DatasetFamily, ReadsSyntheticAndSplit) {
  EXPECT_EQ(read(dataset_family(), "Synthetic").as<SyntheticSpec>().samples, 10000);
  EXPECT_EQ(read(dataset_family(), "Synthetic: {samples: 12, classes: 3, seed: 4}").as<SyntheticSpec>().seed, 4U);
  const config::Typed typed = read(dataset_family(), "Split: {of: train, fraction: 2%, stratified: true}");
  EXPECT_DOUBLE_EQ(typed.as<SplitSpec>().fraction, 0.02);
  EXPECT_TRUE(typed.as<SplitSpec>().stratified);
}

TEST(DatasetFamily, Refuses) {
  EXPECT_THAT(refusal(dataset_family(), "IDX: {inputs: x}"), HasSubstr("labels"));
  EXPECT_THAT(refusal(dataset_family(), "IDX: {inputs: {}, labels: y}"),
              HasSubstr("c.yaml:1:15: error: IDX: inputs must be"));
  EXPECT_THAT(refusal(dataset_family(), "IDX: {inputs: x, labels: y, take: 0}"),
              HasSubstr("take must be >= 1, found 0"));
  EXPECT_THAT(refusal(dataset_family(), "Split: {of: train, fraction: 1}"),
              HasSubstr("fraction must be > 0 and < 1, found 1"));
  EXPECT_THAT(refusal(dataset_family(), "Splitt: {of: train}"),
              HasSubstr("unknown data set 'Splitt'; did you mean 'Split'?"));
}

TEST(TransformFamily, ReadsKerasArguments) {
  EXPECT_DOUBLE_EQ(read(transform_family(), "Rescaling: {scale: 1/255}").as<RescalingSpec>().scale, 1.0 / 255);
  EXPECT_EQ(read(transform_family(), "RandomFlip: horizontal").as<RandomFlipSpec>().mode, FlipMode::kHorizontal);
  EXPECT_EQ(read(transform_family(), "RandomFlip").as<RandomFlipSpec>().mode, FlipMode::kHorizontalAndVertical);
  EXPECT_EQ(read(transform_family(), "RandomCrop: {height: 32, width: 32, padding: 4}").as<RandomCropSpec>().padding,
            4);
  const config::Typed brightness =
      read(transform_family(), "RandomBrightness: {factor: 63/255, value_range: [0, 255]}");
  EXPECT_THAT(brightness.as<RandomBrightnessSpec>().factor, ElementsAre(63.0 / 255));
  EXPECT_THAT(read(transform_family(), "RandomContrast: 0.8").as<RandomContrastSpec>().value_range,
              ElementsAre(0, 255));
  EXPECT_THAT(read(transform_family(), "Normalization: {mean: [1, 2], variance: 4}").as<NormalizationSpec>().mean,
              ElementsAre(1, 2));
}

TEST(TransformFamily, Refuses) {
  EXPECT_THAT(refusal(transform_family(), "RandomFlip: sideways"), HasSubstr("'sideways'"));
  EXPECT_THAT(refusal(transform_family(), "RandomCrop: {height: 0, width: 3}"),
              HasSubstr("height must be >= 1, found 0"));
  EXPECT_THAT(refusal(transform_family(), "RandomBrightness: -0.5"),
              HasSubstr("factor must be >= 0, or [lower, upper]"));
  EXPECT_THAT(refusal(transform_family(), "RandomContrast: {factor: 0.5, value_range: [1, 1]}"),
              HasSubstr("value_range must be [low, high]"));
  EXPECT_THAT(refusal(transform_family(), "Normalization: {mean: [1, 2], variance: [1, 2, 3]}"),
              HasSubstr("mean has 2 values, variance 3"));
}

TEST(TransformFamily, ErrorsNameTheLine) {
  const config::Typed crop = read(transform_family(), "\n\nCenterCrop: {height: 40, width: 40}");
  EXPECT_EQ(error_of(ErrorKind::kUsage,
                     [&] {
                       static_cast<void>(Pipeline({crop}, true).output({28, 28, 1}));
                     }),
            "c.yaml:3:1: error: CenterCrop: samples of 28x28x1 are smaller than the crop 40x40");
}

}  // namespace
}  // namespace dptrain::data
