// Files with sample preparation: their inputs, and ONNX's checker on their nodes. scripts/interop/onnx_photos.py
// compares their results.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "formats/exporter.h"
#include "formats/onnx_reader.h"
#include "formats/preparation.h"
#include "graph/example.h"
#include "support/folder.h"

namespace dptrain::formats::onnx {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kImages = "layers:\n  - Input: {name: in, shape: [8, 6, 3]}\n  - Flatten: {name: out}\n";

OnnxFileInfo written(const std::string& yaml, const PreparedInput& input, std::int64_t opset = 17) {
  const test::Folder folder;
  const graph::Model model = graph::make_model(graph::graph_of(yaml), 1);
  const Preparation preparation{{input}};
  exporter_of("a.onnx").write(folder / "a.onnx", {.model = model, .opset = opset, .preparation = &preparation});
  return read_file(folder / "a.onnx");
}

PreparedInput images(std::vector<ImageStep> steps, Shape raw = {0, 0, 3}) {
  return {.raw = std::move(raw), .bytes = true, .columns = {}, .steps = std::move(steps)};
}

PreparedInput columns(std::vector<PreparedColumn> columns) {
  return {.raw = {}, .bytes = false, .columns = std::move(columns), .steps = {}, .missing = {"", "NA"}};
}

TEST(OnnxPreparation, EveryStepIsValidInOpsets13And17) {
  using Filter = ResizeImage::Filter;
  const std::vector<std::vector<ImageStep>> all{
      {ResizeImage{8, 6, Filter::kNearest}},
      {ResizeImage{8, 6, Filter::kBilinear}},
      {ResizeImage{8, 6, Filter::kTriangle}},
      {ResizeImage{8, 6, Filter::kTriangle, true}},
      {CropCentre{8, 6}},
      {StandardizeImage{}, ResizeImage{8, 6}},
      {MapChannels{{1, 2, 3}, {0, 1, 2}, true}, CropCentre{20, 20}, ResizeImage{8, 6}, StandardizeImage{}},
  };
  for (const auto& steps : all)
    for (const std::int64_t opset : {13, 17}) {
      const OnnxFileInfo read = written(kImages, images(steps), opset);
      EXPECT_EQ(read.checker_error, "");
      EXPECT_THAT(read.inputs, ElementsAre("in [batch,height,width,3] 2"));
      EXPECT_THAT(read.outputs, ElementsAre("out [batch,144] 1"));
      EXPECT_THAT(read.ops, Not(Contains("Resize")));
    }
}

TEST(OnnxPreparation, CropsImagesOfAKnownSizeByConstants) {
  const OnnxFileInfo read =
      written(kImages, images({CropCentre{8, 6}, MapChannels{{0.5F}, {0.0F}, false}}, {12, 10, 3}));
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.inputs, ElementsAre("in [batch,12,10,3] 2"));
  EXPECT_THAT(read.ops, ElementsAre("Slice", "Slice", "Cast", "Mul", "Reshape"));
}

TEST(OnnxPreparation, FramesOfClipsAreImages) {
  const OnnxFileInfo read = written("layers:\n  - Input: {name: in, shape: [4, 8, 6, 3]}\n  - Flatten: {name: out}\n",
                                    images({ResizeImage{8, 6}}, {4, 0, 0, 3}));
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.inputs, ElementsAre("in [batch,4,height,width,3] 2"));
}

TEST(OnnxPreparation, RejectsASizeOtherThanTheModels) try {
  written(kImages, images({ResizeImage{9, 6}}));
  FAIL();
} catch (const Error& error) {
  EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  EXPECT_THAT(error.what(), HasSubstr("'in' is 9x6x3 after its preparation, but the model expects 8x6x3"));
}

TEST(OnnxPreparation, ATableHasOneInputPerColumn) {
  const LookUpWord look{{{"cat", 1}, {"dog", 2}}, 0, 0, 3};
  const PreparedInput input = columns({{"age", NormalizeNumber{3, 2}, 1.5},
                                       {"part", RescaleNumber{2, 1}},
                                       {"bill", FindBin{{1, 2}}, 0.0},
                                       {"nest", TakeToken{2}},
                                       {"pet", look}});
  const OnnxFileInfo read =
      written("layers:\n  - Input: {name: in, shape: [10]}\n  - Dense: {units: 2, name: pet}\n", input);
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.inputs,
              ElementsAre("age [batch] 1", "part [batch] 1", "bill [batch] 1", "nest [batch] 1", "pet [batch] 8"));
  EXPECT_THAT(read.outputs, ElementsAre("pet_output [batch,2] 1"));
  EXPECT_THAT(read.ops, Contains("LabelEncoder"));
}

TEST(OnnxPreparation, WordsAreIdsForAnEmbedding) {
  const OnnxFileInfo read = written(
      "layers:\n  - Input: {name: in, shape: [2], dtype: int32}\n  - Embedding: {input_dim: 3, output_dim: 4, name: "
      "out}\n",
      columns({{"a", LookUpWord{{{"cat", 0}, {"dog", 1}}, {}, {}, 3}}, {"b", TakeToken{3}}}));
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.inputs, ElementsAre("a [batch] 8", "b [batch] 1"));
  EXPECT_THAT(read.ops, Not(Contains("OneHot")));
}

}  // namespace
}  // namespace dptrain::formats::onnx
