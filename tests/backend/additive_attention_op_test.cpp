#include "nn/attention.h"

#include <gtest/gtest.h>

#include "backend/attention_reference.h"

namespace dptrain::test {
namespace {

using nn::AdditiveAttentionSpec;

void check_sums(const AdditiveAttentionSpec& spec, std::vector<Shape> inputs) {
  check_attention_of(spec, std::move(inputs), [&spec](const std::vector<Tensor>& weights) -> Score {
    return [&](const std::vector<double>& query, const std::vector<double>& key) {
      double sum = 0;
      for (std::size_t f = 0; f < query.size(); ++f)
        sum += (spec.use_scale ? weights[0].values[f] : 1.0) * std::tanh(query[f] + key[f]);
      return sum;
    };
  });
}

TEST(AdditiveAttentionOp, OfQueryAndValue) { check_sums({}, {{3, 4}, {5, 4}}); }
TEST(AdditiveAttentionOp, OfQueryValueAndKey) { check_sums({}, {{3, 17}, {5, 2}, {5, 17}}); }
TEST(AdditiveAttentionOp, Unscaled) { check_sums({.use_scale = false}, {{3, 4}, {5, 4}}); }
TEST(AdditiveAttentionOp, CausalWithDropout) {
  check_sums({.dropout = 0.3F, .use_causal_mask = true}, {{5, 3}, {5, 3}});
}

}  // namespace
}  // namespace dptrain::test
