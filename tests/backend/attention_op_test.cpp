#include "nn/attention.h"

#include <gtest/gtest.h>

#include "backend/attention_reference.h"

namespace dptrain::test {
namespace {

using nn::AttentionSpec;
using nn::ScoreMode;

void check_scores(const AttentionSpec& spec, std::vector<Shape> inputs) {
  check_attention_of(spec, std::move(inputs), [&spec](const std::vector<Tensor>& weights) -> Score {
    return [&](const std::vector<double>& query, const std::vector<double>& key) {
      const double scale = spec.use_scale ? weights[0].values[0] : 1.0;
      double sum = 0;
      for (std::size_t f = 0; f < query.size(); ++f)
        sum += spec.score_mode == ScoreMode::kDot ? query[f] * key[f] : std::tanh(scale * (query[f] + key[f]));
      return sum * (spec.score_mode == ScoreMode::kDot ? scale : weights.back().values[0]);
    };
  });
}

TEST(AttentionOp, OfQueryAndValue) { check_scores({}, {{3, 4}, {5, 4}}); }
TEST(AttentionOp, OfQueryValueAndKey) { check_scores({}, {{3, 4}, {5, 2}, {5, 4}}); }
TEST(AttentionOp, Scaled) { check_scores({.use_scale = true}, {{3, 4}, {5, 3}, {5, 4}}); }
TEST(AttentionOp, Causal) { check_scores({.use_scale = true, .use_causal_mask = true}, {{5, 3}, {5, 3}}); }
/// GPUs process tiles of 32 queries and 32 keys. In the causal cases, whole tiles of keys follow the last query.
TEST(AttentionOp, AroundTheSizeOfATile) {
  for (const std::int64_t steps : {31, 32, 33, 65}) {
    SCOPED_TRACE(steps);
    check_scores({.use_scale = true}, {{steps, 2}, {3, 1}, {3, 2}});
    check_scores({.use_scale = true}, {{3, 2}, {steps, 1}, {steps, 2}});
    for (const ScoreMode mode : {ScoreMode::kDot, ScoreMode::kConcat})
      check_scores({.use_scale = true, .score_mode = mode, .use_causal_mask = true}, {{3, 2}, {steps, 1}, {steps, 2}});
    check_scores({.dropout = 0.4F}, {{steps, 2}, {3, 2}});
    check_scores({.dropout = 0.4F}, {{3, 2}, {steps, 2}});
  }
  check_scores({.use_scale = true, .use_causal_mask = true}, {{32, 2}, {33, 2}});
  check_scores({.use_scale = true, .use_causal_mask = true}, {{33, 2}, {32, 2}});
}
TEST(AttentionOp, DropsWeights) { check_scores({.dropout = 0.4F}, {{5, 3}, {6, 3}}); }
TEST(AttentionOp, OfSums) {
  check_scores({.score_mode = ScoreMode::kConcat}, {{3, 4}, {5, 4}});
  check_scores({.use_scale = true, .score_mode = ScoreMode::kConcat}, {{3, 4}, {5, 2}, {5, 4}});
}

}  // namespace
}  // namespace dptrain::test
