// Blocks and shared sub-models with several named inputs.

#include <gmock/gmock.h>

#include "graph/example.h"

namespace dptrain::graph {
namespace {

const char* const kUp = R"(
blocks:
  up:
    inputs: [low, skip]
    params: {filters: required}
    layers:
      - UpSampling2D: {name: larger, size: $skip_height / $low_height}
      - Concatenate: {name: both, inputs: [larger, skip]}
      - Conv2D: {name: conv, filters: $filters + $skip_channels - $low_channels, kernel_size: 3, padding: same}
)";

TEST(BlockInputs, AreReadByNameAndTheFirstStepReadsTheFirst) {
  const Graph graph = graph_of(std::string(kUp) + R"(
layers:
  - Input: {name: x, shape: [8, 12, 3]}
  - Conv2D: {name: a, filters: 4, kernel_size: 3, strides: 4, padding: same}
  - up: {name: u, inputs: [a, x], filters: 6}
)");
  EXPECT_EQ(wiring(graph), "x, a <- x, u_larger <- a, u_both <- u_larger x, u_conv <- u_both");
  EXPECT_EQ(graph.nodes[2].output().str(), "8x12x4");
  EXPECT_EQ(graph.nodes[4].output().str(), "8x12x5") << "6 + 3 - 4 filters";
  expect_round_trip(graph);
}

TEST(BlockInputs, SequencesHaveExtents) {
  const Graph graph = graph_of(R"(
blocks:
  pair:
    inputs: [x, y]
    layers:
      - Dense: {name: d, units: $x_steps + 10 * $y_steps + 100 * $y_channels}
      - Flatten: {name: f}
      - Flatten: {name: g, inputs: y}
      - Concatenate: {inputs: [f, g]}
layers:
  - Input: {name: a, shape: [2, 7]}
  - Input: {name: b, shape: [3, 4]}
  - pair: {name: p, inputs: [a, b]}
)");
  EXPECT_EQ(graph.nodes[2].output().str(), "2x432");
}

TEST(BlockInputs, ASingleInputMayHaveAName) {
  const Graph graph = graph_of(R"(
blocks:
  residual:
    inputs: x
    layers: [{Dense: {name: d, units: $x_channels}}, {Add: {name: sum, inputs: [x, d]}}]
layers:
  - Input: [4]
  - residual: {name: r, repeat: 2}
)");
  EXPECT_EQ(wiring(graph),
            "input_layer, r1_d <- input_layer, r1_sum <- input_layer r1_d, r2_d <- r1_sum, r2_sum <- r1_sum r2_d");
}

TEST(BlockInputs, WithoutNamesInputIsAllOfThem) {
  const Graph graph = graph_of(R"(
blocks:
  sum: {layers: [{Add: {name: plus}}, {Concatenate: {name: all, inputs: [plus, input]}}]}
layers:
  - Input: {name: a, shape: [4]}
  - Input: {name: b, shape: [4]}
  - sum: {name: s, inputs: [a, b]}
)");
  EXPECT_EQ(wiring(graph), "a, b, s_plus <- a b, s_all <- s_plus a b");
}

TEST(BlockInputs, RepeatedBlocksChainTheFirstAndShareTheOthers) {
  const Graph graph = graph_of(R"(
blocks:
  decoder:
    inputs: [x, memory]
    layers: [{MultiHeadAttention: {name: cross, inputs: [x, memory], num_heads: 1, key_dim: 4}}, {Add: {name: sum, inputs: [x, cross]}}]
layers:
  - Input: {name: source, shape: [5, 4]}
  - Input: {name: target, shape: [3, 4]}
  - decoder: {name: d, inputs: [target, source], repeat: 3}
)");
  EXPECT_EQ(wiring(graph),
            "source, target, d1_cross <- target source, d1_sum <- target d1_cross, d2_cross <- d1_sum source, "
            "d2_sum <- d1_sum d2_cross, d3_cross <- d2_sum source, d3_sum <- d2_sum d3_cross");
  expect_round_trip(graph);
}

TEST(BlockInputs, ABlockWithoutStepsReturnsTheFirst) {
  const Graph graph = graph_of(R"(
blocks:
  fit:
    inputs: [previous, current]
    layers: [{Dense: {name: d, units: $current_channels, if: $previous_channels != $current_channels}}]
layers:
  - Input: {name: a, shape: [4]}
  - Dense: {name: b, units: 4}
  - Dense: {name: c, units: 5}
  - fit: {name: same, inputs: [a, b]}
  - fit: {name: other, inputs: [a, c]}
  - Concatenate: {name: all, inputs: [same, other, c]}
)");
  EXPECT_EQ(wiring(graph), "a, b <- a, c <- b, other_d <- a, all <- a other_d c");
}

TEST(BlockInputs, PassToNestedBlocks) {
  const Graph graph = graph_of(R"(
blocks:
  minus: {inputs: [a, b], layers: [{Subtract: {name: m, inputs: [b, a]}}]}
  swapped: {inputs: [a, b], layers: [{minus: {name: '', inputs: [b, a]}}]}
  whatever: {layers: [{swapped: {name: w}}, {minus: {name: i, inputs: input}}, {minus: {name: j, inputs: [w, i]}}]}
layers:
  - Input: {name: x, shape: [4]}
  - Input: {name: y, shape: [4]}
  - whatever: {name: u, inputs: [x, y]}
)");
  EXPECT_EQ(wiring(graph), "x, y, u_w_m <- x y, u_i_m <- y x, u_j_m <- u_i_m u_w_m");
}

TEST(BlockInputs, OfASharedSubModel) {
  const Graph graph = graph_of(R"(
shared:
  score:
    inputs: [question, answer]
    layers:
      - Dense: {name: q, units: 3}
      - Dense: {name: a, units: 3, inputs: answer}
      - Dot: {name: dot, inputs: [q, a], axes: 1}
layers:
  - Input: {name: x, shape: [4]}
  - Input: {name: good, shape: [5]}
  - Input: {name: bad, shape: [5]}
  - score: {name: s, inputs: [x, good]}
  - score: {name: t, inputs: [x, bad]}
  - Subtract: {name: d, inputs: [s, t]}
)");
  EXPECT_EQ(wiring(graph),
            "x, good, bad, s_q <- x, s_a <- good, s_dot <- s_q s_a, t_q <- x, t_a <- bad, t_dot <- t_q t_a, "
            "d <- s_dot t_dot");
  EXPECT_EQ(parameters_of(graph), 4 * 3 + 3 + 5 * 3 + 3);
  expect_round_trip(graph);
}

const std::string kTwo =
    "blocks: {sum: {inputs: [left, right], layers: [{Add: {inputs: [left, right]}}]}}\n"
    "layers: [{Input: {name: a, shape: [4]}}, {Input: {name: b, shape: [4]}}, ";

TEST(BlockInputs, RejectsInvalidUses) {
  const auto errors = [](const std::string& steps) { return build_text(kTwo + steps + "]").errors; };
  EXPECT_EQ(errors("{sum: {inputs: a}}"), "2:89 sum: expected 2 inputs (left, right), found 1\n");
  EXPECT_EQ(errors("{sum: {name: s, inputs: [a, b, a]}}"), "2:98 sum: expected 2 inputs (left, right), found 3\n");
  EXPECT_EQ(errors("sum"),
            "2:74 sum: expected 2 inputs (left, right), found 1, the step above; name all of them with inputs\n");
  EXPECT_EQ(errors("{sum: {inputs: [a, c]}}"), "2:93 sum: no step above is called 'c'; did you mean 'a'?\n");
  EXPECT_EQ(errors("{sum: {inputs: []}}"), "2:89 sum: inputs must be a name or a list of names, found an empty list\n");
  EXPECT_EQ(errors("{Dense: {name: d, units: 5}}, {sum: {inputs: [a, d]}}"),
            "1:49 Add 'add': inputs differ: left is 4, right is 5\n"
            "  'left' is an input of block 'sum', used at net.yaml:2:105\n");
  EXPECT_EQ(build_text("blocks: {sum: {inputs: [left, right], layers: [Add]}}\nlayers: [sum]").errors,
            "2:10 sum: there is no step above to read; inputs must name 2 inputs (left, right)\n");
}

TEST(BlockInputs, RejectsInvalidDefinitions) {
  const auto errors = [](const std::string& inputs, const std::string& steps) {
    return build_text("blocks: {b: {inputs: " + inputs + ", layers: [" + steps +
                      "]}}\nlayers: [{Input: [4]}, {Dense: {name: d, units: 4}}, {b: {inputs: [input_layer, d]}}]")
        .errors;
  };
  EXPECT_EQ(errors("[x, y]", "{Add: {inputs: [x, z]}}"),
            "1:58 Add 'add': no step above is called 'z'; did you mean 'x'?\n");
  EXPECT_EQ(errors("[x, y]", "{Add: {inputs: [x, input]}}"),
            "1:58 Add 'add': no step above is called 'input'; block 'b' reads x, y\n");
  EXPECT_EQ(errors("[x, y]", "{Dense: {name: y, units: 4}}"),
            "1:54 Dense 'y': name must be a name other than 'y', an input of block 'b', found 'y'\n");
  EXPECT_EQ(errors("[flatten, y]", "Flatten, {Add: {inputs: [flatten, y]}}"),
            "1:45 Flatten 'flatten': the name 'flatten' is already that of an input of block 'b'; rename the step\n");
  EXPECT_EQ(errors("[x, y]", "{Dense: {units: $y_chanels}}"),
            "1:55 Dense 'dense': unknown variable '$y_chanels'; did you mean '$y_channels'?\n");
  EXPECT_EQ(errors("[x, x]", "Flatten"), "1:26 block 'b': input 'x' is named twice\n");
  EXPECT_EQ(errors("[]", "Add"),
            "1:22 block 'b': inputs must be a list of names for what the block reads, found an empty list\n");
  EXPECT_EQ(errors("{x: y}", "Add"),
            "1:22 block 'b': inputs must be a list of names for what the block reads, found a mapping\n");
  EXPECT_EQ(errors("null", "Add"),
            "1:22 block 'b': inputs must be a list of names for what the block reads, found nothing\n");
  EXPECT_EQ(errors("[x.1, 2]", "Flatten"),
            "1:23 block 'b': the name of an input must be letters, digits and '_', found 'x.1'\n"
            "1:28 block 'b': the name of an input must be letters, digits and '_', found 2\n");
  EXPECT_EQ(errors("[[y], 'a b']", "Flatten"),
            "1:23 block 'b': the name of an input must be letters, digits and '_', found a list\n"
            "1:28 block 'b': the name of an input must be letters, digits and '_', found 'a b'\n");
}

TEST(BlockInputs, RejectsInvalidSharedSubModels) {
  const auto errors = [](const std::string& definition) {
    return build_text("shared: {s: {" + definition + "}}\nlayers: [{Input: [4]}, s]").errors;
  };
  EXPECT_EQ(errors("inputs: [x, y], layers: [{Add: {inputs: [x, y]}}]"),
            "2:24 s: expected 2 inputs (x, y), found 1, the step above; name all of them with inputs\n");
  EXPECT_EQ(errors("input: x, layers: [Flatten]"), "1:14 shared 's': unknown key 'input'; did you mean 'inputs'?\n");
  EXPECT_EQ(errors("inputs: [2], layers: [Flatten]"),
            "1:23 shared 's': the name of an input must be letters, digits and '_', found 2\n");
}

}  // namespace
}  // namespace dptrain::graph
