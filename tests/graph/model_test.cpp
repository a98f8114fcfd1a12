// Initial weights, the summary table, the picture.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/example.h"
#include "nn/initializer.h"

namespace dptrain::graph {
namespace {

using nn::Initializer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

nn::WeightDef weight(Initializer initializer, Shape shape) {
  return {.name = "kernel", .shape = std::move(shape), .initializer = std::move(initializer)};
}

struct Moments {
  double mean = 0, stddev = 0, largest = 0;
};

Moments moments(const std::vector<float>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (const float x : values)
    m.mean += static_cast<double>(x) / n, m.largest = std::max(m.largest, std::abs(static_cast<double>(x)));
  for (const float x : values) m.stddev += (x - m.mean) * (x - m.mean) / n;
  m.stddev = std::sqrt(m.stddev);
  return m;
}

TEST(Initialize, DistributionsOfKeras) {
  struct Case {
    Initializer initializer;
    double mean, stddev, bound;  ///< bound 0: none
  };
  const Shape shape{3, 3, 50, 70};  // fan in 450, fan out 630
  const double glorot = std::sqrt(2.0 / (450 + 630)), he = std::sqrt(2.0 / 450), lecun = std::sqrt(1.0 / 450);
  const double cut = 0.87962566103423978, root3 = std::sqrt(3.0);
  const std::vector<Case> cases{
      {Initializer{nn::GlorotUniform{}}, 0, glorot, glorot * root3},
      {Initializer{nn::GlorotNormal{}}, 0, glorot, 2 * glorot / cut},
      {Initializer{nn::HeUniform{}}, 0, he, he * root3},
      {Initializer{nn::HeNormal{}}, 0, he, 2 * he / cut},
      {Initializer{nn::LecunUniform{}}, 0, lecun, lecun * root3},
      {Initializer{nn::LecunNormal{}}, 0, lecun, 2 * lecun / cut},
      {Initializer{nn::RandomNormal{0.5, 0.1}}, 0.5, 0.1, 0},
      {Initializer{nn::RandomUniform{-0.2, 0.4}}, 0.1, 0.6 / std::sqrt(12.0), 0.4},
      {Initializer{nn::TruncatedNormal{0, 0.05}}, 0, 0.05 * cut, 0.1},  // without the correction
      {Initializer{nn::VarianceScaling{3, nn::FanMode::kFanOut, nn::Distribution::kUntruncatedNormal}}, 0,
       std::sqrt(3.0 / 630), 0},
      {Initializer{nn::Constant{0.1}}, 0.1, 0, 0.1F},
      {Initializer{nn::Ones{}}, 1, 0, 1},
      {Initializer{nn::Zeros{}}, 0, 0, 0},
  };
  for (const Case& c : cases) {
    const Moments m = moments(initialize(weight(c.initializer, shape), 1, 0));
    // 31,500 draws: five standard errors are below 3 % of the standard deviation.
    EXPECT_NEAR(m.mean, c.mean, 0.03 * c.stddev + 1e-7) << c.initializer.name();
    EXPECT_NEAR(m.stddev, c.stddev, 0.03 * c.stddev + 1e-7) << c.initializer.name();
    if (c.bound == 0) continue;
    EXPECT_LE(m.largest, c.bound * 1.000001) << c.initializer.name();
    EXPECT_GE(m.largest, c.bound * 0.98) << c.initializer.name();
  }
}

TEST(Initialize, OrthogonalBothWays) {
  for (const Shape& shape : {Shape{3, 3, 2, 7}, Shape{5, 12}, Shape{6, 6}, Shape{1, 4}, Shape{4, 1}}) {
    const std::vector<float> values = initialize(weight(Initializer{nn::Orthogonal{2}}, shape), 3, 1);
    const auto columns = static_cast<std::size_t>(shape.back()), rows = values.size() / columns;
    const bool tall = rows >= columns;
    const std::size_t few = std::min(rows, columns), many = std::max(rows, columns);
    const auto at = [&](std::size_t i, std::size_t k) {
      return tall ? values[k * columns + i] : values[i * columns + k];
    };
    for (std::size_t i = 0; i < few; ++i)
      for (std::size_t j = 0; j < few; ++j) {
        double dot = 0;
        for (std::size_t k = 0; k < many; ++k) dot += static_cast<double>(at(i, k)) * at(j, k);
        EXPECT_NEAR(dot, i == j ? 4 : 0, 1e-5) << shape.str();  // gain squared; float rounding of unit vectors
      }
  }
}

TEST(Initialize, DependsOnlyOnSeedAndIndex) {
  const nn::WeightDef def = weight(Initializer{nn::HeNormal{}}, {5, 3});
  EXPECT_EQ(initialize(def, 1, 0), initialize(def, 1, 0));
  EXPECT_NE(initialize(def, 1, 0), initialize(def, 2, 0));
  EXPECT_NE(initialize(def, 1, 0), initialize(def, 1, 1));
  const Model a = make_model(graph_of(kFashionMnist), 42), b = make_model(graph_of(kFashionMnist), 42);
  for (std::size_t i = 0; i < a.weights.size(); ++i) EXPECT_EQ(a.weights[i].values, b.weights[i].values);
}

TEST(Initialize, OverwritesExistingValues) {
  for (const Initializer& initializer :
       {Initializer{nn::HeNormal{}}, Initializer{nn::Zeros{}}, Initializer{nn::Orthogonal{1}}, Initializer{}}) {
    const nn::WeightDef def = weight(initializer, {3, 4});
    std::vector<float> values(12, NAN);
    initialize(def, 2, 5, values);
    EXPECT_EQ(values, initialize(def, 2, 5));
  }
}

TEST(Model, DrawsMissingValues) {
  const Model whole = make_model(graph_of(kFashionMnist), 42);
  Model model = undrawn_model(graph_of(kFashionMnist), 42);
  EXPECT_EQ(model.parameters(), whole.parameters());
  for (const Weight& w : model.weights) EXPECT_TRUE(w.values.empty()) << w.path(model.graph);
  const std::vector<float> own{1, 2, 3};
  model.weights[2].values = own;
  draw(model);
  for (std::size_t i = 0; i < model.weights.size(); ++i)
    EXPECT_EQ(model.weights[i].values, i == 2 ? own : whole.weights[i].values) << i;
}

TEST(Model, WeightsOfEachLayer) {
  const Model model =
      make_model(graph_of("layers: [{Input: [4]}, {Dense: {units: 3, trainable: false}}, BatchNormalization]"), 1);
  std::string text;
  for (const Weight& w : model.weights) text += w.path(model.graph) + (w.trainable ? " " : " fixed ");
  EXPECT_EQ(text,
            "dense/kernel fixed dense/bias fixed batch_normalization/gamma batch_normalization/beta "
            "batch_normalization/moving_mean fixed batch_normalization/moving_variance fixed ");
  EXPECT_EQ(model.graph.layers[2].weights, (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(model.trainable_parameters(), 6);
}

TEST(Summary, TableAsInKeras) {
  const Model model = make_model(graph_of(R"(
shared: {enc: {Dense: 4}}
layers:
  - Input: {name: a, shape: [4]}
  - enc: {name: x}
  - enc: {name: y}
  - Add: {name: sum, inputs: [x, y]}
  - Dense: {name: out, units: 1000, trainable: false}
)"),
                                 1);
  EXPECT_EQ(summary(model),
            "Model: test\n"
            "----------------------------------------------------------\n"
            "Layer (type)           Output Shape  Param #  Connected to\n"
            "----------------------------------------------------------\n"
            "a (Input)              (None, 4)           0\n"
            "enc (Dense) shared x2  (None, 4)          20  a, x\n"
            "sum (Add)              (None, 4)           0  x, y\n"
            "out (Dense) frozen     (None, 1000)    5,000  sum\n"
            "----------------------------------------------------------\n"
            "Total params: 5,020 (19.6 KiB)\n"
            "Trainable params: 20 (80 B)\n"
            "Non-trainable params: 5,000 (19.5 KiB)\n");
}

std::string dot_of(const std::string& text) { return to_dot(undrawn_model(graph_of(text), 1)); }

TEST(Dot, OneBoxPerCallWithSizesAndParameters) {
  const std::string dot = dot_of("layers: [{Input: [4]}, {Dense: {units: 3, trainable: false}}]");
  EXPECT_THAT(dot, StartsWith("digraph {\n"));
  EXPECT_THAT(dot, HasSubstr("n0 [label=<<b>input_layer</b><br/>Input<br/>4>, fillcolor=\"#dfe3e8\"];\n"));
  EXPECT_THAT(dot, HasSubstr("n1 [label=<<b>dense</b><br/>Dense<br/>3<br/>15 parameters>, fillcolor=\"#e9e9e9\", "
                             "penwidth=2.2];\n"));
  EXPECT_THAT(dot, HasSubstr("  n0 -> n1;\n"));
  EXPECT_THAT(dot, HasSubstr("<b>test</b>"));
  EXPECT_THAT(dot, HasSubstr(">frozen<"));
  EXPECT_THAT(dot, Not(HasSubstr(">matrices<"))) << "the legend has only colours in use";
}

TEST(Dot, BlocksAreClustersWithinClusters) {
  const std::string dot = dot_of(R"(
blocks:
  inner: {layers: [{Dense: {name: dense, units: 3}}]}
  outer: {layers: [{inner: {name: a}}, {Add: {name: add, inputs: [a, input]}}]}
layers:
  - Input: [3]
  - outer: {name: stage, repeat: 2}
)");
  EXPECT_THAT(dot, HasSubstr("label=<<b>stage1</b> (outer)>"));
  EXPECT_THAT(dot, HasSubstr("label=<<b>stage2</b> (outer)>"));
  EXPECT_THAT(dot, HasSubstr("label=<<b>stage1_a</b> (inner)>"));
  EXPECT_LT(dot.find("stage1</b> (outer)"), dot.find("stage1_a</b> (inner)"));
  EXPECT_LT(dot.find("stage1_a</b> (inner)"), dot.find("stage2</b> (outer)")) << "inside of the first";
  EXPECT_EQ(std::ranges::count(dot, '{'), std::ranges::count(dot, '}'));
  EXPECT_THAT(dot, HasSubstr(">joins inputs<"));
}

TEST(Dot, NamesCannotBreakTheText) {
  Graph graph = graph_of("layers: [{Input: [4]}]");
  graph.name = "a<b> & \"c\"\n";
  EXPECT_THAT(to_dot(undrawn_model(graph, 1)), HasSubstr("<b>a&lt;b&gt; &amp; &quot;c&quot;\\n</b>"));
}

}  // namespace
}  // namespace dptrain::graph
