// Attention in a graph: propagated masks, and masks that are errors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/example.h"
#include "graph/masks.h"

namespace dptrain::graph {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTwoMasks = R"(
layers:
  - Input: {name: x, shape: [7, 3]}
  - Input: {name: z, shape: [7, 3]}
  - Masking: {name: valid, inputs: x}
  - Masking: {name: late, inputs: z}
)";

TEST(AttentionGraph, PropagatesTheMaskOfTheQuery) {
  const Graph graph = graph_of(std::string(kTwoMasks) + R"(
  - MultiHeadAttention: {name: heads, num_heads: 1, key_dim: 2, inputs: [valid, late]}
  - Attention: {name: more, inputs: [late, heads]}
outputs: [more]
)");
  const auto found = masks(graph);
  EXPECT_EQ(found[4][0], (Mask{Port(2, 1)}));
  EXPECT_EQ(found[5][0], (Mask{Port(3, 1)}));
}

TEST(AttentionGraph, RejectsAJoinedMaskOfAnyInput) {
  const Built built = build_text(std::string(kTwoMasks) + R"(
  - Add: {name: sum, inputs: [valid, late]}
  - MultiHeadAttention: {name: heads, num_heads: 1, key_dim: 2, inputs: [valid, sum]}
)");
  EXPECT_THAT(built.errors,
              HasSubstr("its input joins the masks of 'valid' and 'late', which this version does not support"));
}

}  // namespace
}  // namespace dptrain::graph
