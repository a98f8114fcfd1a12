// The description of sample preparation in exported files.

#include "data/preparation.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "data/sources/image_folder.h"
#include "data/sources/text.h"
#include "data/transforms/cropping.h"
#include "data/transforms/geometry.h"
#include "data/transforms/normalization.h"
#include "data/yaml_sets.h"
#include "support/folder.h"

namespace dptrain::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

template <class Spec>
config::Typed transform(Spec spec) {
  return transform_family().make(std::move(spec));
}

ModelSide images_side() { return {.input_names = {"in"}, .input_shapes = {Shape{8, 6, 3}}}; }

TEST(Preparation, MergesChannelMapsAndResizingAcceptsAnySize) {
  const auto made = preparation(
      {},
      {transform(ResizingSpec{.height = 8, .width = 6, .antialias = true}),
       transform(RescalingSpec{.scale = 0.5, .offset = 1}), transform(NormalizationSpec{.mean = {1}, .variance = {4}})},
      images_side());
  ASSERT_TRUE(made.inputs.at(0));
  const formats::PreparedInput& input = *made.inputs[0];
  EXPECT_EQ(input.raw, Shape({0, 0, 3}));
  EXPECT_FALSE(input.bytes);
  ASSERT_EQ(input.steps.size(), 2U);
  const auto& resize = std::get<formats::ResizeImage>(input.steps[0]);
  EXPECT_EQ(resize.height, 8);
  EXPECT_EQ(resize.filter, formats::ResizeImage::Filter::kTriangle);
  const auto& map = std::get<formats::MapChannels>(input.steps[1]);
  EXPECT_THAT(map.scale, ElementsAre(0.25F));
  EXPECT_THAT(map.offset, ElementsAre(0.0F));
}

TEST(Preparation, ImageFilesAndByteScalesTakeBytes) {
  const config::Typed folder = dataset_family().make(ImageFolderSpec{});
  EXPECT_TRUE(preparation({&folder}, {}, images_side()).inputs[0]->bytes);
  EXPECT_EQ(preparation({&folder}, {}, images_side()).inputs[0]->raw, Shape({8, 6, 3}));
  EXPECT_TRUE(preparation({}, {transform(RescalingSpec{.scale = 1.0 / 255})}, images_side()).inputs[0]->bytes);
}

TEST(Preparation, IdsNeedNoPreparation) {
  const ModelSide side{.input_names = {"in"}, .input_shapes = {Shape{8}}, .input_types = {DType::kI32}};
  EXPECT_FALSE(preparation({}, {}, side).inputs.at(0));
}

std::string refusal(const std::vector<const config::Typed*>& sets, const std::vector<config::Typed>& transforms,
                    const ModelSide& side) {
  try {
    preparation(sets, transforms, side);
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

TEST(Preparation, NamesStepsThatCannotBeExported) {
  const config::Typed texts = dataset_family().make(TextSpec{});
  EXPECT_THAT(refusal({&texts}, {}, images_side()), HasSubstr("texts"));
  EXPECT_THAT(refusal({}, {transform(RandomFlipSpec{})}, images_side()), HasSubstr("RandomFlip"));
}

/// Uses a table of training `rows` after the header x,kind,y.
formats::Preparation of_table(const std::string& rows, const std::string& columns) {
  const test::Folder folder;
  std::ofstream(folder / "t.csv") << "x,kind,y\n" << rows;
  DatasetConfig config;
  config.train = data_set_of("CSV: {file: FOLDERt.csv, labels: y, columns: {" + columns + "}}", folder / "");
  ModelSide side{.input_names = {"in"}, .input_shapes = {Shape{4}}};
  side.fitted_state = open_sources(config, side, 0).fitted_state;
  return preparation({&config.train}, {}, side);
}

TEST(Preparation, ColumnsContainTheFittedState) {
  const formats::Preparation made = of_table("1,cat,0\n3,dog,1\n,dog,0\n2,,1\n", "x: {Normalization: {missing: 8}}");
  ASSERT_EQ(made.inputs.at(0)->columns.size(), 2U);
  const auto& [number, word] = std::pair(made.inputs[0]->columns[0], made.inputs[0]->columns[1]);
  EXPECT_EQ(number.name, "x");
  EXPECT_EQ(number.fill, 8.0);
  EXPECT_EQ(std::get<formats::NormalizeNumber>(number.step).mean, 3.5);
  const auto& look = std::get<formats::LookUpWord>(word.step);
  EXPECT_THAT(look.words, ElementsAre(Pair("dog", 1), Pair("cat", 2), Pair("", 3)));
  EXPECT_EQ(look.unknown, 0);
  EXPECT_EQ(look.missing, 3);
  EXPECT_EQ(look.count, 4);
}

TEST(Preparation, RejectedCellsHaveNoIndex) {
  const auto made = of_table("1,cat,0\n3,dog,1\n", "kind: {StringLookup: {num_oov_indices: 0, missing: error}}");
  const auto& look = std::get<formats::LookUpWord>(made.inputs.at(0)->columns.at(1).step);
  EXPECT_FALSE(look.unknown);
  EXPECT_FALSE(look.missing);
}

TEST(Preparation, RejectsHashedWords) {
  try {
    of_table("1,cat,0\n3,dog,1\n", "kind: {Hashing: 4}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("column 'kind'"));
    EXPECT_THAT(error.what(), HasSubstr("Hashing"));
  }
}

TEST(Preparation, RejectsATableWithoutFittedState) {
  const config::Typed table = data_set_of("CSV: {file: nowhere.csv, labels: y}", "");
  EXPECT_THAT(refusal({&table}, {}, images_side()), HasSubstr("the columns of the table are not fitted"));
}

}  // namespace
}  // namespace dptrain::data
