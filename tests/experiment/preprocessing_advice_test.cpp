#include "experiment/checks.h"

#include <gtest/gtest.h>

#include "config/config_loader.h"
#include "config/schema.h"
#include "graph/graph_builder.h"

namespace dptrain::experiment {
namespace {

/// The warnings about a model with these layers and transforms.
std::string advice(const std::string& layers, const std::string& transforms) {
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const config::Node file = config::load_text("model: {layers: [" + layers + "]}\ndata: {train: {Synthetic: 9}" +
                                                  (transforms.empty() ? "" : ", transforms: " + transforms) + "}",
                                              "net.yaml", ".", diagnostics);
  ConfigFile config;
  config::Node data = config::Node::map();
  data.set("dptrain", config::Node::integer(1));
  data.set("data", *file.find("data"));
  config_schema().read(data, {}, reader, &config);
  const graph::Graph graph = graph::build(*file.find("model"), "net", reader);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.render();
  advise_preprocessing(graph, config.data, diagnostics);
  std::string text;
  for (const config::Diagnostic& warning : diagnostics.warnings())
    text += warning.mark.str() + " " + warning.message.substr(0, 70) + "\n";
  return text;
}

TEST(PreprocessingAdvice, RequiresThePreprocessingOfTheWeights) {
  const std::string vgg = "{VGG16: {include_top: false}}", mobile = "{MobileNetV2: {include_top: false}}";
  const std::string warned = "net.yaml:1:19 the published weights of VGG16 need images after 'PreprocessInput: caf\n";
  EXPECT_EQ(advice(vgg, ""), warned);
  EXPECT_EQ(advice(vgg, "[{Rescaling: 1/255}]"), warned);
  EXPECT_EQ(advice(vgg, "[{Rescaling: {scale: 1/127.5, offset: -1}}]"), warned);
  EXPECT_EQ(advice(mobile, "[{Rescaling: {scale: 1/127.5, offset: -1}}]"), "");
  EXPECT_NE(advice(mobile, "[{Rescaling: {scale: 1/127.5, offset: 0}}]"), "");
  EXPECT_NE(advice(mobile, "{train: [{Rescaling: {scale: 1/127.5, offset: -1}}], eval: []}"), "");
}

TEST(PreprocessingAdvice, AppliesToTheBackboneOfANetwork) {
  const std::string vgg = "{UNet: {backbone: VGG16}}", efficient = "{UNet: {backbone: EfficientNetB0}}";
  EXPECT_EQ(advice(vgg, ""), "net.yaml:1:19 the published weights of VGG16 need images after 'PreprocessInput: caf\n");
  EXPECT_EQ(advice(vgg, "[{PreprocessInput: caffe}]"), "");
  EXPECT_EQ(advice(efficient, ""), "");
}

TEST(PreprocessingAdvice, AcceptsModelsWithTheirOwnPreprocessing) {
  EXPECT_EQ(
      advice("{Input: [32, 32, 3]}, {Rescaling: {scale: 1/127.5, offset: -1}}, {MobileNetV2: {include_top: false}}",
             "[{Rescaling: 1}]"),
      "");
  EXPECT_NE(advice("{Input: [32, 32, 3]}, {MobileNetV2: {include_top: false}}", "[{Rescaling: 1}]"), "");
  EXPECT_EQ(advice("{Input: [32, 32, 3]}, {Conv2D: {filters: 2, kernel_size: 3}}", "[{Rescaling: 1/255}]"), "");
}

}  // namespace
}  // namespace dptrain::experiment
