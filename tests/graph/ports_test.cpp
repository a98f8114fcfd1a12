// Layers with several outputs: their names in configs, and masks, which configs do not name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/example.h"
#include "graph/masks.h"
#include "support/halves.h"

namespace dptrain::graph {
namespace {

using ::testing::HasSubstr;

constexpr const char* kBothHalves = R"(
layers:
  - Input: {name: x, shape: [5]}
  - TestHalves: {name: cut}
  - Dense: {name: left, units: 3}
  - Dense: {name: right, inputs: cut.high, units: 3}
  - Add: {name: sum, inputs: [left, right]}
outputs: [sum, cut.high]
)";

TEST(Ports, AStepReadsTheFirstOrTheNamedOutput) {
  const Graph graph = graph_of(kBothHalves);
  EXPECT_EQ(wiring(graph), "x, cut <- x, left <- cut, right <- cut.high, sum <- left right");
  EXPECT_EQ(graph.nodes[1].outputs[0].shape, Shape{2});
  EXPECT_EQ(graph.nodes[1].outputs[1].shape, Shape{3});
  EXPECT_EQ(graph.layers[3].inputs, std::vector<Shape>{Shape{3}});
  EXPECT_EQ(graph.outputs, (std::vector<Port>{Port(4), Port(1, 1)}));
  expect_round_trip(graph);
  EXPECT_THAT(summary(undrawn_model(graph, 1)), HasSubstr("[(None, 2), (None, 3)]"));
  EXPECT_THAT(to_dot(undrawn_model(graph, 1)), HasSubstr("n1 -> n3 [label=\"high\"]"));
}

TEST(Ports, CanBeNumbered) {
  const Graph graph = graph_of(R"(
layers:
  - Input: {name: x, shape: [5]}
  - TestHalves: {name: cut}
  - Dense: {name: right, inputs: cut.1, units: 3}
)");
  EXPECT_EQ(graph.nodes[2].inputs, std::vector<Port>{Port(1, 1)});
}

TEST(Ports, AreReadInsideBlocksAndByBlocks) {
  const Graph graph = graph_of(R"(
blocks:
  pair:
    layers:
      - TestHalves: {name: cut}
      - Dense: {name: high, inputs: cut.high, units: 2}
      - Dense: {name: both, inputs: input, units: 2}
      - Concatenate: {name: all, inputs: [high, both, cut.low]}
layers:
  - Input: {name: x, shape: [5]}
  - TestHalves: {name: cut}
  - pair: {name: p, inputs: cut.high}
)");
  EXPECT_EQ(wiring(graph),
            "x, cut <- x, p_cut <- cut.high, p_high <- p_cut.high, p_both <- cut.high, p_all <- p_high p_both p_cut");
}

TEST(Ports, ABlockWithoutActiveStepsIsItsInput) {
  const Graph graph = graph_of(R"(
blocks:
  maybe:
    params: {on: false}
    layers: [{Activation: {activation: relu, if: $on}}]
layers:
  - Input: {name: x, shape: [5]}
  - TestHalves: {name: cut}
  - maybe: {name: high, inputs: cut.high}
  - Dense: {name: head, units: 2, inputs: high}
  - Dense: {name: low, units: 3, inputs: cut}
outputs: [head, low, high]
)");
  EXPECT_EQ(wiring(graph), "x, cut <- x, head <- cut.high, low <- cut");
  EXPECT_EQ(graph.outputs, (std::vector<Port>{Port(2), Port(3), Port(1, 1)}));
}

TEST(Ports, ErrorsListTheOutputs) {
  const auto errors = [](const std::string& inputs) {
    return build_text(
               "layers:\n  - Input: {name: x, shape: [5]}\n  - TestHalves: {name: cut}\n  - Dense: {units: 3, "
               "inputs: " +
               inputs + "}\n")
        .errors;
  };
  EXPECT_EQ(errors("cut.higher"),
            "4:31 Dense 'dense': no step above is called 'cut.higher'; cut has the outputs cut.low, cut.high\n");
  EXPECT_THAT(errors("cut.2"), HasSubstr("no step above is called 'cut.2'; cut has the outputs"));
  EXPECT_THAT(errors("x.high"), HasSubstr("no step above is called 'x.high'; x has one output, write x"));
  EXPECT_THAT(build_text(R"(
layers:
  - Input: {name: x, shape: [5]}
  - TestHalves: {name: cut}
  - Dense: {name: cut.high, units: 3}
)")
                  .errors,
              HasSubstr("the name 'cut.high' is already that of an output of 'cut'"));
}

TEST(Types, AllowIdsOnlyForLayersThatReadThem) {
  EXPECT_THAT(build_text(R"(
layers:
  - Input: {name: x, shape: [5]}
  - Embedding: {name: words, input_dim: 9, output_dim: 4}
)")
                  .errors,
              HasSubstr("expected int32 ids, x is floats; give its Input dtype: int32"));
  EXPECT_THAT(build_text(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Dense: {name: d, units: 4}
)")
                  .errors,
              HasSubstr("expected floats, x is int32 ids; an Embedding makes vectors of them"));
  EXPECT_THAT(build_text("layers:\n  - Input: {name: x, shape: [5], dtype: int32}\n  - Flatten\n").errors,
              HasSubstr("is int32 ids, which cannot be an output of the model"));
  const Graph graph = graph_of(R"(
layers:
  - Input: {name: x, shape: [2, 3], dtype: int32}
  - Flatten: {name: flat}
  - Embedding: {name: words, input_dim: 9, output_dim: 4}
  - Embedding: {name: more, inputs: x, input_dim: 7, output_dim: 4}
outputs: [words, more]
)");
  EXPECT_EQ(graph.nodes[1].outputs[0].type, DType::kI32);
  EXPECT_EQ(id_limit(graph, 0), 7);
  EXPECT_EQ(graph.nodes[2].output(), (Shape{6, 4}));
  expect_round_trip(graph);
}

std::string start(const std::string& rest) {
  return "layers:\n  - Input: {name: x, shape: [5], dtype: int32}\n  - Embedding: {name: a, input_dim: 9, output_dim: "
         "4, "
         "mask_zero: true}\n  - Embedding: {name: b, inputs: x, input_dim: 9, output_dim: 4, mask_zero: true}\n" +
         rest;
}

TEST(Masks, FollowTheDataAsInKeras) {
  const Graph graph = graph_of(start(R"(
  - Dense: {name: hidden, inputs: a, units: 4, activation: relu}
  - Dropout: {name: drop, rate: 0.5}
  - Add: {name: same, inputs: [drop, a]}
  - Add: {name: joined, inputs: [same, b]}
  - Concatenate: {name: wide, inputs: [a, b]}
  - GlobalAveragePooling1D: {name: mean, inputs: same}
  - Dense: {name: free, inputs: x2, units: 4}
  - Add: {name: half, inputs: [same, free]}
outputs: [mean, joined, wide, half]
)")
                                   .replace(8, 0, "  - Input: {name: x2, shape: [5, 2]}\n"));
  const std::vector<std::vector<Mask>> all = masks(graph);
  const auto of = [&](const std::string& name) {
    std::string text;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (graph.nodes[n].name == name)
        for (const Port& port : all[n][0])
          text += graph.nodes[static_cast<std::size_t>(port.node)].name + ":" + std::to_string(port.port) + " ";
    return text;
  };
  for (const char* name : {"a", "hidden", "drop", "same"}) EXPECT_EQ(of(name), "a:1 ") << name;
  for (const char* name : {"joined", "wide"}) EXPECT_EQ(of(name), "a:1 b:1 ") << name;
  for (const char* name : {"x", "mean", "free", "half"}) EXPECT_EQ(of(name), "") << name;
  expect_round_trip(graph);
}

TEST(Masks, WarnWhenTheyAreLost) {
  const Built built = build_text(start("  - Flatten: {name: flat, inputs: a}\noutputs: [flat, b]\n"));
  EXPECT_EQ(built.errors, "");
  EXPECT_EQ(built.warnings, "Flatten 'flat' drops the mask of 'a': later layers do not mask padding (as in Keras)\n");
}

TEST(Masks, OfAStepAreThoseOfItsMaskKey) {
  const Graph graph = graph_of(start(R"(
  - Embedding: {name: plain, inputs: x, input_dim: 9, output_dim: 4}
  - Add: {name: half, inputs: [a, plain], mask: a}
  - Add: {name: ended, inputs: [a, b], mask: none}
  - LSTM: {name: all_steps, inputs: a, units: 3, mask: none}
  - LSTM: {name: given, inputs: ended, units: 3, mask: half}
outputs: [half, given, all_steps]
)"));
  const std::vector<std::vector<Mask>> all = masks(graph);
  EXPECT_EQ(all[4][0], (Mask{Port(1, 1)}));
  EXPECT_EQ(all[5][0], Mask());
  EXPECT_EQ(input_masks(graph, graph.nodes[6], all), std::vector<Mask>(1));
  EXPECT_EQ(input_masks(graph, graph.nodes[7], all), (std::vector<Mask>{{Port(1, 1)}}));
  expect_round_trip(graph);
}

TEST(Masks, OfASharedLayerBelongToItsUse) {
  const Graph graph = graph_of(R"(
shared:
  reader: {LSTM: {units: 3}}
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: a, input_dim: 9, output_dim: 4, mask_zero: true}
  - Embedding: {name: b, inputs: x, input_dim: 9, output_dim: 4}
  - reader: {name: first, inputs: a, mask: none}
  - reader: {name: second, inputs: b, mask: a}
outputs: [first, second]
)");
  const std::vector<std::vector<Mask>> all = masks(graph);
  EXPECT_EQ(input_masks(graph, graph.nodes[3], all), std::vector<Mask>(1));
  EXPECT_EQ(input_masks(graph, graph.nodes[4], all), (std::vector<Mask>{{Port(1, 1)}}));
  expect_round_trip(graph);
}

TEST(Masks, AreRejectedWithoutSteps) {
  const auto errors = [](const std::string& step) {
    return build_text(start("  - " + step + "\noutputs: [c, a, b]\n")).errors;
  };
  EXPECT_THAT(errors("LSTM: {name: c, inputs: a, units: 3, mask: x}"),
              HasSubstr("LSTM 'c': mask names 'x', which has no mask; name the output of an Embedding with mask_zero"));
  EXPECT_THAT(errors("LSTM: {name: c, inputs: a, units: 3, mask: aa}"), HasSubstr("no step above is called 'aa'"));
  EXPECT_THAT(errors("LSTM: {name: c, inputs: a, units: 3, mask: [a]}"), HasSubstr("the name of a step or none"));
  EXPECT_THAT(errors("Input: {name: c, shape: [3], mask: a}"), HasSubstr("takes no mask"));
  EXPECT_THAT(build_text(start("  - ZeroPadding1D: {name: long, inputs: b}\n"
                               "  - LSTM: {name: c, units: 3, mask: a}\noutputs: [c, a]\n"))
                  .errors,
              HasSubstr("the mask of 'a' is 5, and no input has these steps: 'long' is 7x4"));
}

TEST(Masks, RejectMasksThatNoOpSupports) {
  EXPECT_THAT(build_text(start("  - BatchNormalization: {name: bn, inputs: a}\noutputs: [bn, b]\n")).errors,
              HasSubstr("its input has the mask of 'a', which Keras's layer uses and this version's does not"));
  EXPECT_THAT(build_text(start("  - Concatenate: {name: c, inputs: [a, b], axis: 1}\n")).errors,
              HasSubstr("its input has the mask of 'a'"));
  EXPECT_THAT(build_text(start("  - GlobalAveragePooling1D: {name: r, keepdims: true, inputs: b}\n"
                               "  - Maximum: {name: c, inputs: [a, r]}\n"))
                  .errors,
              HasSubstr("its input has the mask of 'a'"));
  EXPECT_THAT(
      build_text(start("  - Add: {name: c, inputs: [a, b]}\n  - GlobalAveragePooling1D: {name: mean}\n")).errors,
      HasSubstr("its input joins the masks of 'a' and 'b'"));
}

}  // namespace
}  // namespace dptrain::graph
