// Compares layers and activations with Keras 3.

#include <gtest/gtest.h>

#include "backend/golden.h"
#include "backend/harness.h"
#include "backend/one_op.h"
#include "nn/activations.h"
#include "support/output_shape.h"

namespace dptrain::test {
namespace {

using nlohmann::json;

Shape sample(const json& with_batch) {
  auto dims = with_batch.get<std::vector<std::int64_t>>();
  dims.erase(dims.begin());
  return Shape(std::move(dims));
}

Tensor tensor(const json& dims, const json& values) {
  Tensor t(dims.get<std::vector<std::int64_t>>());
  t.values = flat(values);
  return t;
}

void expect_layers(const char* file, std::size_t at_least) {
  std::size_t checked = 0;
  for (const json& entry : golden(file)) {
    const auto name = entry.at("layer").get<std::string>();
    SCOPED_TRACE(name + " " + entry.at("arguments").dump());
    const config::Typed full = from_keras(nn::layer_family(), name, entry.at("arguments"));
    Case c;
    c.layer = nn::without_activation(full);
    c.tail = tail_of(nn::activation_of(full).value_or(nn::Activation::kLinear));
    c.inputs = {sample(entry.at("input_shape"))};
    c.rows = entry.at("input_shape")[0].get<std::int64_t>();
    const nn::LayerType& type = nn::type_of(c.layer);
    EXPECT_EQ(test::output_shape(c.layer, c.inputs), sample(entry.at("output_shape")));
    ++checked;
    if (type.is_view) continue;
    std::vector<Tensor> weights;
    for (const json& w : entry.at("weights")) weights.push_back(tensor(w.at("shape"), w.at("values")));
    for (const auto& device : devices()) {
      SCOPED_TRACE(device->description());
      const auto y = infer(*device, c, {tensor(entry.at("input_shape"), entry.at("x"))}, weights);
      expect_close(y, flat(entry.at("y")), on_device(*device, 2e-6), "output");  // both are float32
    }
  }
  EXPECT_GE(checked, at_least);
}

/// Forward and backward.
void expect_gradients(const char* file, std::size_t count) {
  std::size_t checked = 0;
  for (const json& entry : golden(file)) {
    const auto name = entry.at("layer").get<std::string>();
    SCOPED_TRACE(name + " " + entry.at("arguments").dump());
    Case c;
    const config::Typed full = from_keras(nn::layer_family(), name, entry.at("arguments"));
    c.layer = nn::without_activation(full);
    c.tail = tail_of(nn::activation_of(full).value_or(nn::Activation::kLinear));
    Data data;
    for (const json& x : entry.at("inputs")) {
      c.inputs.push_back(sample(x.at("shape")));
      data.inputs.push_back(tensor(x.at("shape"), x.at("values")));
    }
    for (const json& w : entry.at("weights")) data.weights.push_back(tensor(w.at("shape"), w.at("values")));
    c.rows = data.inputs[0].dim(0);
    data.output_gradient = tensor(entry.at("output").at("shape"), entry.at("output_gradient"));
    EXPECT_EQ(test::output_shape(c.layer, c.inputs), sample(entry.at("output").at("shape")));
    for (const auto& device : devices()) {
      SCOPED_TRACE(device->description());
      const double tolerance = on_device(*device, 2e-6);  // both are float32
      const Outcome found = run(*device, c, data, true, Wanted::kAll);
      expect_close(found.output, flat(entry.at("output").at("values")), tolerance, "output");
      for (std::size_t i = 0; i < data.inputs.size(); ++i)
        expect_close(found.input_gradients[i], flat(entry.at("input_gradients")[i]), tolerance, "input gradient");
      for (std::size_t i = 0; i < data.weights.size(); ++i)
        expect_close(found.weight_gradients[i], flat(entry.at("weight_gradients")[i]), tolerance, "weight gradient");
    }
    ++checked;
  }
  EXPECT_EQ(checked, count);
}

/// On inputs with zeros and ties.
TEST(Golden, LayersAndTheirGradients) { expect_gradients("layers_gradients.json", 29); }
/// Layers computed as images of height 1.
TEST(Golden, LayersOfStepsAndTheirGradients) { expect_gradients("layers_of_steps.json", 25); }
/// Layers computed in passes over frames and along the depth.
TEST(Golden, LayersOfVolumesAndTheirGradients) { expect_gradients("layers_of_volumes.json", 21); }
TEST(Golden, ConvolutionsOfVolumesAndTheirGradients) { expect_gradients("convolutions_of_volumes.json", 13); }

TEST(Golden, Layers) { expect_layers("layers_zoo_small.json", 27); }
TEST(Golden, ConvolutionsAndNormalizations) { expect_layers("layers_zoo_convolutions.json", 21); }

TEST(Golden, Activations) {
  const json file = golden("activations.json");
  for (const kernels::ActivationTraits& row : kernels::kActivations) {
    const std::string text = file.at("y").contains(row.name) ? row.name : row.alias;  // Keras 3 writes silu for swish
    SCOPED_TRACE(text);
    Case c;
    c.layer = layer(nn::ActivationSpec{.activation = row.kind});
    Tensor x({1, static_cast<std::int64_t>(file.at("x").size())});
    x.values = flat(file.at("x"));
    c.inputs = {{x.dim(1)}};
    c.rows = 1;
    for (const auto& device : devices()) {
      SCOPED_TRACE(device->description());
      expect_close(infer(*device, c, {x}, {}), flat(file.at("y").at(text)), on_device(*device, 2e-6), "output");
    }
  }
}

}  // namespace
}  // namespace dptrain::test
