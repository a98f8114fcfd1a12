// Every fusion that an op claims has an example, and its result equals that of separate ops.

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/fusion_examples.h"
#include "backend/one_op.h"
#include "core/format.h"
#include "plan/tail.h"
#include "support/output_shape.h"

namespace dptrain::test {
namespace {

std::vector<Case (*)()>& makers() {
  static std::vector<Case (*)()> all;
  return all;
}

Tensor tensor_of(const std::vector<float>& values, const Shape& sample, std::int64_t rows) {
  Tensor tensor = batch(rows, sample);
  std::copy(values.begin(), values.end(), tensor.values.begin());
  return tensor;
}

/// A single layer.
struct Link {
  Case c;
  Data data;

  Shape output() const { return test::output_shape(c.layer, c.inputs); }
  std::vector<float> forward(backend::Device& device) {
    Case only = c;
    only.differentiable = false;
    return run(device, only, data, true, Wanted::kAll).output;
  }
  Outcome backward(backend::Device& device, const std::vector<float>& gradient) {
    data.output_gradient = tensor_of(gradient, output(), c.rows);
    return run(device, c, data, true, Wanted::kAll);
  }
};

Link link_of(const Case& whole, const config::Typed& layer, std::vector<Shape> shapes, std::vector<Tensor> inputs) {
  Case c = whole;
  c.layer = layer;
  c.inputs = std::move(shapes);
  c.tail.clear();
  c.undoes = {};
  return {.c = c, .data = {.inputs = std::move(inputs), .weights = {}, .output_gradient = {}}};
}

std::vector<float> floats(const Tensor& tensor) { return {tensor.values.begin(), tensor.values.end()}; }

/// The layer, then each layer of its tail, all as separate ops.
Outcome run_tail_separately(backend::Device& device, const Case& c, const Data& data) {
  std::size_t next = OneStep(c, Wanted::kAll, device).own();
  const auto own = static_cast<std::ptrdiff_t>(next);
  std::vector<Link> links{link_of(c, c.layer, {c.inputs.begin(), c.inputs.begin() + own},
                                  {data.inputs.begin(), data.inputs.begin() + own})};
  links.front().data.weights = data.weights;
  std::vector<float> y = links.front().forward(device);
  for (const config::Typed& entry : c.tail) {
    const Shape shape = links.back().output();
    links.push_back(link_of(c, entry, {shape}, {tensor_of(y, shape, c.rows)}));
    if (nn::type_of(entry).max_inputs != 1) {
      links.back().c.inputs.push_back(c.inputs[next]);
      links.back().data.inputs.push_back(data.inputs[next++]);
    }
    y = links.back().forward(device);
  }
  Outcome whole;
  std::vector<std::vector<float>> others;
  std::vector<float> gradient = floats(data.output_gradient);
  for (std::size_t k = links.size(); k-- > 1;) {
    const Outcome part = links[k].backward(device, gradient);
    gradient = part.input_gradients[0];
    others.insert(others.begin(), part.input_gradients.begin() + 1, part.input_gradients.end());
  }
  whole = links.front().backward(device, gradient);
  whole.output = y;
  whole.input_gradients.insert(whole.input_gradients.end(), others.begin(), others.end());
  return whole;
}

/// The activation below, then the layer.
Outcome run_undone_separately(backend::Device& device, const Case& c, const Data& data) {
  Link below = link_of(c, c.undoes, c.inputs, data.inputs);
  Link above = link_of(c, c.layer, c.inputs, {tensor_of(below.forward(device), c.inputs[0], c.rows)});
  above.data.weights = data.weights;
  Outcome whole = above.backward(device, floats(data.output_gradient));
  whole.input_gradients = below.backward(device, whole.input_gradients[0]).input_gradients;
  return whole;
}

void expect_near(const backend::Device& device, const Outcome& found, const Outcome& expected) {
  const auto close = [&](const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
    expect_close(a, {b.begin(), b.end()}, on_device(device, 5e-6), what);
  };
  close(found.output, expected.output, "output");
  ASSERT_EQ(found.input_gradients.size(), expected.input_gradients.size());
  for (std::size_t i = 0; i < found.input_gradients.size(); ++i)
    close(found.input_gradients[i], expected.input_gradients[i], fmt::format("gradient of input {}", i));
  ASSERT_EQ(found.weight_gradients.size(), expected.weight_gradients.size());
  for (std::size_t i = 0; i < found.weight_gradients.size(); ++i)
    close(found.weight_gradients[i], expected.weight_gradients[i], fmt::format("gradient of weight {}", i));
}

bool fused_by(const backend::Device& device, const Case& c) { return OneStep(c, Wanted::kAll, device).fused; }

std::string text_of(const Case& c) {
  std::string text = c.undoes ? c.undoes.name() + " below " : "";
  text += c.layer.name();
  for (const config::Typed& entry : c.tail) text += " + " + entry.name();
  return text;
}

TEST(FusionRollCall, EveryClaimHasAnExample) {
  const std::vector<Case> examples = fusion_examples();
  std::size_t claims = 0;
  for (const auto& device : devices())
    for (const config::TypeDef* def : nn::layer_family().types()) {
      const backend::OpTraits* traits = backend::op_traits(device->kind(), def->type);
      if (traits == nullptr) continue;
      const auto expect_example = [&](std::type_index other, const char* how, const auto& is_it) {
        ++claims;
        EXPECT_TRUE(std::ranges::any_of(
            examples, [&](const Case& c) { return c.layer.type() == def->type && is_it(c) && fused_by(*device, c); }))
            << def->name << " on " << device->name() << " " << how << " " << nn::layer_family().find(other)->name
            << ": no FusionExample in tests/backend has it";
      };
      for (const backend::FusionClaim& claim : traits->fuses)
        expect_example(claim.layer, "fuses",
                       [&](const Case& c) { return !c.tail.empty() && c.tail.back().type() == claim.layer; });
      for (const backend::UndoClaim& claim : traits->undoes)
        expect_example(claim.layer, "undoes",
                       [&](const Case& c) { return c.undoes && c.undoes.type() == claim.layer; });
    }
  EXPECT_GE(claims, devices().size() * 7);
}

TEST(FusionRollCall, EveryExampleEqualsSeparateOps) {
  for (const Case& c : fusion_examples()) {
    std::size_t checked = 0;
    for (const auto& device : devices()) {
      if (!fused_by(*device, c)) continue;
      ++checked;
      SCOPED_TRACE(text_of(c) + " on " + device->description());
      const Data data = make_data(c);
      const Outcome found = run(*device, c, data, true, Wanted::kAll);
      expect_near(*device, found,
                  c.undoes ? run_undone_separately(*device, c, data) : run_tail_separately(*device, c, data));
      if (c.tail.empty() || plan::activation_of({.layer = c.tail.back()}) != nn::Activation::kRelu) continue;
      SCOPED_TRACE("undone by the reader");
      Case undone = c;
      undone.undone = true;
      expect_near(*device, run(*device, undone, data, true, Wanted::kAll), found);
    }
    EXPECT_TRUE(checked > 0 || devices().front()->kind() != backend::DeviceKind::kCpu)
        << text_of(c) << ": no device fuses it";
  }
}

/// A fused activation ends its op: only members that the op lists follow it.
TEST(FusionRollCall, NoOpFusesTwoActivationsOrOneThatNeedsItsInput) {
  const nn::Activation relu = nn::Activation::kRelu;
  for (Case c : fusion_examples()) {
    if (c.undoes) continue;
    c.tail.push_back(tail_of(relu).front());
    c.tail.push_back(tail_of(relu).front());
    for (const auto& device : devices()) EXPECT_FALSE(fused_by(*device, c)) << text_of(c) << " on " << device->name();
    for (const nn::Activation f : {nn::Activation::kSoftmax, nn::Activation::kGelu}) {
      c.tail = tail_of(f);
      for (const auto& device : devices()) EXPECT_FALSE(fused_by(*device, c)) << text_of(c) << " on " << device->name();
    }
  }
}

}  // namespace

FusionExample::FusionExample(Case (*make)()) { makers().push_back(make); }

std::vector<Case> fusion_examples() {
  std::vector<Case> all;
  for (const auto& make : makers()) all.push_back(make());
  return all;
}

}  // namespace dptrain::test
