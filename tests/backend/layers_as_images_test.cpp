// Layers over steps and volumes give the bits of their image layers: the same op, on images of height 1 or of all
// frames.

#include <gtest/gtest.h>

#include "backend/golden.h"
#include "backend/harness.h"
#include "backend/one_op.h"
#include "plan/weight_order.h"
#include "support/output_shape.h"

namespace dptrain::test {
namespace {

Tensor as_image(Tensor tensor) {
  const Shape image = nn::with_height(Shape({tensor.dims.begin() + 1, tensor.dims.end()}));
  tensor.dims.erase(tensor.dims.begin() + 1, tensor.dims.end());
  tensor.dims.insert(tensor.dims.end(), image.dims().begin(), image.dims().end());
  return tensor;
}

/// The case of the image layer, and its data.
std::pair<Case, Data> equivalent_image_case(const Case& c, const Data& data) {
  Case image = c;
  image.layer = nn::computed_as(c.layer);
  image.inputs = {nn::with_height(c.inputs[0])};
  Data same = data;
  same.inputs = {as_image(data.inputs[0])};
  same.output_gradient = as_image(data.output_gradient);
  for (Tensor& weight : same.weights)
    if (weight.dims.size() > 1) weight.dims.insert(weight.dims.begin(), 1);
  return {image, same};
}

void expect_bits_of_equivalent(backend::Device& device, const Case& c) {
  const Data data = make_data(c);
  const auto [image, same] = equivalent_image_case(c, data);
  const std::vector<nn::WeightDef> weights = weights_of(c), sisters = weights_of(image);
  ASSERT_EQ(weights.size(), sisters.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(weights[i].name, sisters[i].name);
    EXPECT_EQ(sisters[i].shape, Shape(same.weights[i].dims));
    const auto order = plan::weight_order(device, c.layer, i);
    EXPECT_TRUE(order.empty() || order.size() == data.weights[i].dims.size());
  }
  const Outcome found = run(device, c, data, true, Wanted::kAll);
  const Outcome expected = run(device, image, same, true, Wanted::kAll);
  EXPECT_EQ(found.output, expected.output);
  EXPECT_EQ(found.input_gradients, expected.input_gradients);
  EXPECT_EQ(found.weight_gradients, expected.weight_gradients);
  EXPECT_EQ(implementation(device, c), implementation(device, image));
}

TEST(OverSteps, MatchTheirImageLayerBitForBit) {
  nlohmann::json cases = golden("layers_of_steps.json");
  cases.push_back({{"layer", "SpatialDropout1D"},
                   {"arguments", {{"rate", 0.4}}},
                   {"inputs", {{{"shape", {3, 6, 7}}, {"values", nlohmann::json::array()}}}}});
  for (const auto& entry : golden("layers_of_volumes.json"))
    if (entry.at("layer").get<std::string>().starts_with("Global")) cases.push_back(entry);
  cases.push_back({{"layer", "SpatialDropout3D"},
                   {"arguments", {{"rate", 0.4}}},
                   {"inputs", {{{"shape", {3, 2, 3, 2, 7}}, {"values", nlohmann::json::array()}}}}});
  for (const auto& entry : cases) {
    SCOPED_TRACE(entry.at("layer").get<std::string>() + " " + entry.at("arguments").dump());
    const config::Typed full = from_keras(nn::layer_family(), entry.at("layer"), entry.at("arguments"));
    Case c;
    c.layer = nn::without_activation(full);
    c.tail = tail_of(nn::activation_of(full).value_or(nn::Activation::kLinear));
    const auto dims = entry.at("inputs")[0].at("shape").get<std::vector<std::int64_t>>();
    c.inputs = {Shape({dims.begin() + 1, dims.end()})};
    c.rows = dims[0];
    for (const auto& device : devices()) {
      SCOPED_TRACE(device->description());
      expect_bits_of_equivalent(*device, c);
    }
  }
}

}  // namespace
}  // namespace dptrain::test
