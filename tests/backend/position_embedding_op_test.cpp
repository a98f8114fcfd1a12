#include "nn/embedding.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

void check_positions(std::int64_t sequence_length, Shape input) {
  Case c;
  c.layer = layer(nn::PositionEmbeddingSpec{.sequence_length = sequence_length});
  c.inputs = {std::move(input)};
  agrees(c, [](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
    Tensor y = inputs[0];
    for (std::int64_t r = 0; r < y.dim(0); ++r)
      for (std::int64_t s = 0; s < y.dim(1); ++s)
        for (std::int64_t f = 0; f < y.dim(2); ++f) y(r, s, f) = weights[0](s, f);
    return y;
  });
}

TEST(PositionEmbeddingOp, AddsAVectorPerStep) { check_positions(4, {4, 6}); }
TEST(PositionEmbeddingOp, OfFewerSteps) { check_positions(5, {3, 3}); }

}  // namespace
}  // namespace dptrain::test
