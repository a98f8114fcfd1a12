// Matching layers of a file with layers of a model, and the report about it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/keras_sample.h"

namespace dptrain::formats {
namespace {

using graph::WeightsMatch;
using graph::WeightsSpec;
using sample::FileLayer;
using sample::legacy_file;
using sample::model_of;
using sample::refusal_of;
using sample::values_of;
using sample::weight;
using sample::with_bias;
using ::testing::AllOf;
using ::testing::HasSubstr;
using LoadStatus = WeightsReport::LoadStatus;

/// A base of two convolutions and a head.
const char* const kBaseAndHead = R"(
layers:
  - Input: [8, 8, 3]
  - Conv2D: {name: block1_conv, filters: 4, kernel_size: 3}
  - Conv2D: {name: block2_conv, filters: 5, kernel_size: 3}
  - MaxPooling2D: {name: pool}
  - Flatten
  - Dense: {name: head, units: 2}
)";

const FileLayer kConv1 = with_bias("block1_conv", {3, 3, 3, 4});
const FileLayer kConv2 = with_bias("block2_conv", {3, 3, 4, 5});
const FileLayer kTop = with_bias("predictions", {20, 7});

WeightsSpec spec_of(WeightsMatch match) {
  WeightsSpec spec;
  spec.match = match;
  return spec;
}

TEST(Weights, ByNameLoadsMatchesAndReportsTheRest) {
  graph::Model model = model_of(kBaseAndHead);
  const std::vector<float> head = weight(model, "head/kernel");
  const WeightsReport report = load_weights(legacy_file({kConv1, kConv2, {"pool", {}}, kTop}),
                                            spec_of(WeightsMatch::kName), model, Coverage::kSome);
  EXPECT_EQ(weight(model, "block1_conv/kernel"), values_of(0, {3, 3, 3, 4}));
  EXPECT_EQ(weight(model, "block2_conv/bias"), values_of(3, {5}));
  EXPECT_EQ(weight(model, "head/kernel"), head);
  EXPECT_EQ(report.line(), "keras.h5: 2 of 3 layers by name; initialised: head; unused in the file: predictions");
  EXPECT_THAT(report.table(), HasSubstr("block1_conv  loaded       block1_conv    kernel 3x3x3x4, bias 4\n"));
  EXPECT_THAT(report.table(), HasSubstr("kernel 20x2, bias 2  (not in the file)"));
}

TEST(Weights, ByNameIgnoresOrderAndChecksShapes) {
  graph::Model model = model_of(kBaseAndHead);
  load_weights(legacy_file({kConv2, kConv1}), spec_of(WeightsMatch::kName), model, Coverage::kSome);
  EXPECT_EQ(weight(model, "block2_conv/kernel"), values_of(0, {3, 3, 4, 5}));
  EXPECT_EQ(weight(model, "block1_conv/kernel"), values_of(2, {3, 3, 3, 4}));

  const std::vector<float> before = weight(model, "block1_conv/kernel");
  const FileContents other = legacy_file({with_bias("block2_conv", {3, 3, 4, 5}), with_bias("head", {20, 7})});
  EXPECT_EQ(refusal_of(other, spec_of(WeightsMatch::kName), model),
            "'keras.h5' is not of this model: \n  layer 'head' kernel is 20x7 in the file, 20x2 in the model\n  layer "
            "'head' bias is 7 in the file, 2 in the model");
  EXPECT_EQ(weight(model, "block1_conv/kernel"), before);
}

TEST(Weights, NamesWeightsInTheOrderOfPyTorch) {
  graph::Model model = model_of(kBaseAndHead);
  const FileContents turned = legacy_file({with_bias("block2_conv", {5, 4, 3, 3}), with_bias("head", {2, 20})});
  EXPECT_THAT(refusal_of(turned, spec_of(WeightsMatch::kName), model),
              AllOf(HasSubstr("kernel is 5x4x3x3 in the file, 3x3x4x5 in the model; PyTorch has this order"),
                    HasSubstr("kernel is 2x20 in the file, 20x2 in the model; PyTorch has this order")));
}

TEST(Weights, SkipMismatchSkipsOtherShapes) {
  graph::Model model = model_of(kBaseAndHead);
  const std::vector<float> kernel = weight(model, "block2_conv/kernel");
  WeightsSpec spec = spec_of(WeightsMatch::kName);
  spec.skip_mismatch = true;
  const FileLayer wide{"block2_conv", {{"kernel:0", {5, 5, 4, 5}}, {"bias:0", {5}}}};
  const FileLayer three{"head", {{"a:0", {20, 2}}, {"b:0", {2}}, {"c:0", {2}}}};
  const WeightsReport report = load_weights(legacy_file({kConv1, wide, three}), spec, model, Coverage::kSome);
  EXPECT_EQ(weight(model, "block2_conv/kernel"), kernel);
  EXPECT_EQ(weight(model, "block2_conv/bias"), values_of(3, {5}));
  EXPECT_EQ(report.rows[0].status, LoadStatus::kLoaded);
  EXPECT_EQ(report.rows[1].status, LoadStatus::kPartly);
  EXPECT_EQ(report.rows[1].reason, "kernel is 5x5x4x5 in the file, 3x3x4x5 in the model");
  EXPECT_EQ(report.rows[2].status, LoadStatus::kInitialised);
  EXPECT_EQ(report.rows[2].reason, "3 weights in the file, 2 in the model");
  EXPECT_EQ(refusal_of(legacy_file({{"block1_conv", {{"kernel:0", {1}}, {"bias:0", {1}}}}}), spec, model),
            "'keras.h5' has no weights for this model: the file has 1 layer with weights (block1_conv), the model 3 "
            "(block1_conv, block2_conv, head); try match: topology, or rename");
}

TEST(Weights, ExpectAndIgnore) {
  graph::Model model = model_of(kBaseAndHead);
  WeightsSpec spec = spec_of(WeightsMatch::kName);
  spec.expect = {"block*_conv"};
  EXPECT_THAT(refusal_of(legacy_file({kConv1}), spec, model),
              HasSubstr("layer 'block2_conv' is expected from the file: not in the file"));
  EXPECT_EQ(refusal_of(legacy_file({kConv1, kConv2}), spec, model), "");
  spec.expect = {};
  spec.ignore = {"head"};
  const WeightsReport report =
      load_weights(legacy_file({kConv1, kConv2, with_bias("head", {20, 7})}), spec, model, Coverage::kSome);
  EXPECT_EQ(report.rows[2].reason, "by 'ignore'");
}

TEST(Weights, SlashesAndRenames) {
  graph::Model model = model_of(kBaseAndHead);
  load_weights(legacy_file({with_bias("block1/conv", {3, 3, 3, 4})}), spec_of(WeightsMatch::kName), model,
               Coverage::kSome);
  EXPECT_EQ(weight(model, "block1_conv/kernel"), values_of(0, {3, 3, 3, 4}));

  WeightsSpec spec = spec_of(WeightsMatch::kName);
  spec.rename.rules = {{R"(convolution2d_(\d+))", "block$1_conv"}, {"^fc\\d+$", "head"}};
  load_weights(legacy_file({with_bias("convolution2d_2", {3, 3, 4, 5}), with_bias("fc1000", {20, 2})}), spec, model,
               Coverage::kSome);
  EXPECT_EQ(weight(model, "block2_conv/kernel"), values_of(0, {3, 3, 4, 5}));
  EXPECT_EQ(weight(model, "head/kernel"), values_of(2, {20, 2}));
  spec.rename.rules = {{R"(convolution2d_(\d+))", R"(block\1_conv)"}};
  load_weights(legacy_file({with_bias("convolution2d_1", {3, 3, 3, 4})}), spec, model, Coverage::kSome);
  EXPECT_EQ(weight(model, "block1_conv/bias"), values_of(1, {4}));
}

TEST(Weights, ByTopologyUsesTheOrderOfKeras) {
  // Keras traverses from the output: the short branch is last although it is written first.
  graph::Model model = model_of(R"(
layers:
  - Input: {name: in, shape: [6, 6, 3]}
  - Conv2D: {name: short, filters: 3, kernel_size: 1, inputs: in}
  - Conv2D: {name: long1, filters: 3, kernel_size: 1, inputs: in}
  - Conv2D: {name: long2, filters: 3, kernel_size: 1}
  - Add: {inputs: [short, long2]}
)");
  const std::vector<FileLayer> file{with_bias("a", {1, 1, 3, 3}), with_bias("b", {1, 1, 3, 3}),
                                    with_bias("c", {1, 1, 3, 3})};
  const WeightsReport report = load_weights(legacy_file(file), spec_of(WeightsMatch::kTopology), model, Coverage::kAll);
  EXPECT_EQ(report.how, "by topology");
  EXPECT_EQ(weight(model, "long1/kernel"), values_of(0, {1, 1, 3, 3}));
  EXPECT_EQ(weight(model, "short/kernel"), values_of(2, {1, 1, 3, 3}));
  EXPECT_EQ(weight(model, "long2/kernel"), values_of(4, {1, 1, 3, 3}));
}

TEST(Weights, LoadsTheBaseFromAFileWithoutTopByTopology) {
  graph::Model model = model_of(kBaseAndHead);
  const FileContents file = legacy_file({with_bias("conv2d_7", {3, 3, 3, 4}), with_bias("conv2d_8", {3, 3, 4, 5})});
  for (const WeightsMatch match : {WeightsMatch::kTopology, WeightsMatch::kAuto}) {
    const WeightsReport report = load_weights(file, spec_of(match), model, Coverage::kSome);
    EXPECT_THAT(report.how, HasSubstr("by topology up to 'flatten'"));
    EXPECT_EQ(report.count(LoadStatus::kLoaded), 2U);
    EXPECT_EQ(weight(model, "block2_conv/bias"), values_of(3, {5}));
  }
  EXPECT_THAT(refusal_of(legacy_file({kConv2}), spec_of(WeightsMatch::kTopology), model),
              HasSubstr("it has 1 layer with weights, the model 3, and no part of the model has exactly those"));
}

TEST(Weights, UpToIgnoresFurtherLayersOfTheFile) {
  graph::Model model = model_of(kBaseAndHead);
  const FileContents file =
      legacy_file({with_bias("x", {3, 3, 3, 4}), with_bias("y", {3, 3, 4, 5}), with_bias("z", {99, 1000})});
  EXPECT_THAT(refusal_of(file, spec_of(WeightsMatch::kTopology), model),
              HasSubstr("layer 'head' ('z' there) kernel is 99x1000 in the file, 20x2 in the model"));
  WeightsSpec spec = spec_of(WeightsMatch::kTopology);
  spec.up_to = "pool";
  const WeightsReport report = load_weights(file, spec, model, Coverage::kSome);
  EXPECT_EQ(report.line(),
            "keras.h5: 2 of 3 layers by topology up to 'pool'; initialised: head; unused in the file: z");
  EXPECT_EQ(report.rows[2].reason, "beyond 'up_to'");
}

TEST(Weights, RejectsAnAmbiguousMatch) {
  graph::Model model = model_of(R"(
layers:
  - Input: {name: in, shape: [6, 6, 3]}
  - Conv2D: {name: left, filters: 3, kernel_size: 1, inputs: in}
  - Conv2D: {name: right, filters: 3, kernel_size: 1, inputs: in}
  - Add: {inputs: [left, right]}
)");
  EXPECT_THAT(refusal_of(legacy_file({with_bias("a", {1, 1, 3, 3})}), spec_of(WeightsMatch::kTopology), model),
              HasSubstr("it fits the model up to 'right' as well as up to 'left'; select one with up_to"));
}

/// Names numbered by Keras denote another layer in another session.
TEST(Weights, AutoIgnoresNumberedNames) {
  graph::Model model = model_of(R"(
layers:
  - Input: [6, 6, 3]
  - Conv2D: {filters: 3, kernel_size: 1}
  - Conv2D: {filters: 3, kernel_size: 1}
  - Conv2D: {filters: 3, kernel_size: 1}
)");
  const FileContents file = legacy_file(
      {with_bias("conv2d_1", {1, 1, 3, 3}), with_bias("conv2d_2", {1, 1, 3, 3}), with_bias("conv2d_3", {1, 1, 3, 3})});
  const WeightsReport report = load_weights(file, {}, model, Coverage::kAll);
  EXPECT_EQ(report.how, "by topology (2 of 3 names agree)");
  EXPECT_EQ(weight(model, "conv2d/kernel"), values_of(0, {1, 1, 3, 3}));
}

TEST(Weights, AutoReportsWhatEachMatchLacks) {
  graph::Model model = model_of(kBaseAndHead);
  EXPECT_EQ(refusal_of(legacy_file({with_bias("a", {1, 1}), with_bias("b", {1, 1})}), {}, model),
            "'keras.h5' is not of this model: by name 0 of 2 layers fit; by topology: it has 2 layers with weights, "
            "the model 3, and no part of the model has exactly those");
  EXPECT_EQ(load_weights(legacy_file({kConv1, kConv2, kTop}), {}, model, Coverage::kSome).how, "by name");
}

TEST(Weights, AllCoversModelAndFile) {
  graph::Model model = model_of(kBaseAndHead);
  const std::string text = refusal_of(legacy_file({kConv1, kConv2, kTop}), {}, model, Coverage::kAll);
  EXPECT_THAT(text, HasSubstr("'keras.h5' is a checkpoint of another model"));
  EXPECT_THAT(text, HasSubstr("layer 'head' is not in the file"));
  EXPECT_THAT(text, HasSubstr("layer 'predictions' of the file is not in the model"));
}

}  // namespace
}  // namespace dptrain::formats
