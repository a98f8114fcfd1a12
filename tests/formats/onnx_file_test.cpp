// ONNX files as a whole: names, layouts, metadata, errors.

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "dptrain_version.h"
#include "formats/export_sample.h"
#include "formats/exporter.h"
#include "formats/onnx_reader.h"
#include "graph/example.h"
#include "support/folder.h"

namespace dptrain::formats::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OnnxFileInfo written(const Exported& exported) {
  const test::Folder folder;
  exporter_of("model.onnx").write(folder / "model.onnx", exported);
  return read_file(folder / "model.onnx");
}

OnnxFileInfo written(const std::string& yaml) {
  return written({.model = graph::make_model(graph::graph_of(yaml), 1)});
}

TEST(OnnxFile, ACnnHasOneTransposeAtTheInputAndOneBeforeFlatten) {
  const graph::Model model = sample::tiny_cnn();
  const OnnxFileInfo read = written({.model = model});
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.ops, ElementsAre("Transpose", "Conv", "Relu", "MaxPool", "Transpose", "Reshape", "Gemm", "Softmax"));
  EXPECT_THAT(read.inputs, ElementsAre("input_1 [batch,8,8,3] 1"));
  EXPECT_THAT(read.outputs, ElementsAre("predictions [batch,5] 1"));
}

TEST(OnnxFile, HasMetadata) {
  const graph::Model model = sample::tiny_cnn(2);
  const OnnxFileInfo read = written({.model = model, .class_names = {"cat", "a \"dog\""}, .fitted_state = "{}"});
  EXPECT_EQ(read.producer, "dptrain");
  EXPECT_EQ(read.opset, 17);
  EXPECT_EQ(read.ir_version, 8);
  EXPECT_EQ(read.metadata.at("model"), "tiny_cnn");
  EXPECT_EQ(read.metadata.at("dptrain_version"), kVersion);
  EXPECT_EQ(read.metadata.at("class_names"), R"(["cat","a \"dog\""])");
  EXPECT_EQ(read.metadata.at("dptrain_learned"), "{}");
}

TEST(OnnxFile, OmitsMissingClassNames) {
  EXPECT_FALSE(written({.model = sample::small_dense()}).metadata.contains("class_names"));
}

TEST(OnnxFile, WritesWeightsOfSharedLayersOnce) {
  const test::Folder folder;
  sample::ModelBuilder b("shared");
  const int a = b.add("a", nn::InputSpec{{100}}), c = b.add("b", nn::InputSpec{{100}});
  const int first = b.add("dense", sample::dense(100), {a});
  const int second = b.again(first, {c});
  const graph::Model model = b.take({first, b.add("both", nn::ConcatenateSpec{}, {first, second})});
  const std::uint64_t bytes = exporter_of("a.onnx").write(folder / "a.onnx", {.model = model});
  EXPECT_LT(bytes, 50000U);
  const OnnxFileInfo read = read_file(folder / "a.onnx");
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.inputs, ElementsAre("a [batch,100] 1", "b [batch,100] 1"));
  EXPECT_THAT(read.outputs, ElementsAre("dense [batch,100] 1", "both [batch,200] 1"));
}

TEST(OnnxFile, AnUnchangedInputCanBeAnOutput) {
  const OnnxFileInfo read =
      written("layers:\n  - Input: {name: in, shape: [4]}\n  - Dropout: {rate: 0.5, name: out}\n");
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.ops, ElementsAre("Identity"));
  EXPECT_THAT(read.outputs, ElementsAre("out [batch,4] 1"));
}

TEST(OnnxFile, ResidualsStayChannelsFirst) {
  const OnnxFileInfo read = written(R"(
layers:
  - Input: {name: in, shape: [8, 8, 4]}
  - Conv2D: {filters: 4, kernel_size: 3, padding: same, name: first}
  - BatchNormalization
  - Activation: {activation: swish, name: a}
  - Conv2D: {filters: 4, kernel_size: 3, padding: same, name: b}
  - Add: {inputs: [a, b], name: sum}
  - Concatenate: {inputs: [sum, a], name: all}
  - ZeroPadding2D: 1
  - Cropping2D: [[1, 0], [0, 1]]
  - Conv2D: {filters: 4, kernel_size: 3, name: c}
  - GlobalAveragePooling2D
)");
  EXPECT_EQ(read.checker_error, "");
  EXPECT_EQ(std::ranges::count(read.ops, "Transpose"), 1) << ::testing::PrintToString(read.ops);
}

TEST(OnnxFile, RejectsUnsupportedOpsets) {
  const graph::Model model = sample::small_dense();
  for (const std::int64_t opset : {std::int64_t{12}, std::int64_t{22}, std::int64_t{5000}, std::int64_t{1} << 40}) try {
      exporter_of("a.onnx").write("/nowhere/a.onnx", {.model = model, .opset = opset});
      FAIL() << opset;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("opset " + std::to_string(opset) + " is not one of 13 to 21"));
    }
}

TEST(OnnxFile, AMissingFolderIsAWriteError) {
  const graph::Model model = sample::small_dense();
  try {
    exporter_of("a.onnx").write("/nowhere/a.onnx", {.model = model});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kWrite);
    EXPECT_THAT(error.what(), HasSubstr("/nowhere"));
  }
}

TEST(OnnxFile, RejectsMoreThanTwoGibibytesInAdvance) {
  sample::ModelBuilder b("giant");
  const int input = b.add("in", nn::InputSpec{{2}});
  graph::Model model = b.take({b.add("out", sample::dense(2), {input})});
  model.weights[0].def.shape = {1 << 15, 1 << 14};
  try {
    exporter_of("a.onnx").write("/nowhere/a.onnx", {.model = model});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("at most 2 GiB"));
  }
}

}  // namespace
}  // namespace dptrain::formats::onnx
