// Compares values and gradients of attention with softmax(scale q k') v in double, on every instruction set: all kinds
// of masks, queries without keys, dropout, whole, partial and skipped blocks.

#include "kernels/cpu/attention.h"

#include <gtest/gtest.h>

#include "kernels/philox.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::random_floats;
using Numbers = std::vector<double>;

struct AttentionCase {
  const char* name;
  int64_t rows, heads, queries, keys, key_dim, value_dim;
  bool causal = false, mask_queries = false, mask_values = false, mask_keys = false;
  float rate = 0;
  bool fully_masked_scores_count = false;
  bool additive = false, one_weight = false;
};

const AttentionCase kAttentionCases[] = {
    {"small", 2, 2, 3, 5, 4, 6},
    {"one_of_each", 1, 1, 1, 1, 1, 1},
    {"several_blocks", 1, 1, 150, 300, 17, 33},
    {"whole_tiles", 1, 2, 96, 128, 64, 64},
    {"causal", 2, 1, 60, 60, 8, 8, true},
    {"causal_of_many", 1, 1, 270, 270, 5, 3, true},
    {"causal_more_keys", 1, 1, 7, 200, 4, 4, true},
    {"causal_more_queries", 1, 1, 200, 7, 4, 4, true},
    {"hidden_keys", 3, 2, 10, 140, 4, 5, false, false, true, true},
    {"fully_masked_queries", 2, 1, 60, 130, 4, 5, false, true, true},
    {"fully_masked_with_the_causal_mask", 3, 1, 140, 140, 4, 4, true, false, true},
    {"fully_masked_scores_count", 3, 1, 20, 20, 4, 4, true, false, true, false, 0, true},
    {"dropout", 2, 3, 11, 13, 4, 4, false, true, true, false, 0.3F},
    {"dropout_of_blocks", 1, 2, 50, 133, 4, 4, true, false, false, false, 0.5F},
    {"additive", 2, 1, 55, 130, 5, 6, false, false, true, false, 0, false, true},
    {"additive_of_whole_vectors", 1, 2, 7, 9, 16, 16, true, true, false, false, 0.2F, true, true},
    {"additive_with_one_weight", 3, 1, 11, 13, 5, 4, true, false, true, false, 0, true, true, true},
};

size_t at(int64_t i) { return static_cast<size_t>(i); }

/// Inputs, and their values in double.
struct AttentionData {
  AttentionCase c;
  int64_t q_stride, k_stride, v_stride;
  std::vector<float> q, k, v, dy, weights;
  std::vector<uint8_t> queries, values, keys;

  explicit AttentionData(const AttentionCase& of)
      : c(of),
        q_stride(c.heads * c.key_dim + 3),
        k_stride(c.heads * c.key_dim),
        v_stride(c.heads * c.value_dim + 1),
        q(random_floats(c.rows * c.queries * q_stride, 1)),
        k(random_floats(c.rows * c.keys * k_stride, 2)),
        v(random_floats(c.rows * c.keys * v_stride, 3)),
        dy(random_floats(c.rows * c.queries * c.heads * c.value_dim, 4)),
        weights(random_floats(c.key_dim, 5)) {
    for (int64_t i = 0; i < c.rows * c.queries; ++i) queries.push_back(i % 5 == 1 || i % c.queries > 50 ? 0 : 1);
    for (int64_t i = 0; i < c.rows * c.keys; ++i) {
      const int64_t row = i / c.keys, key = i % c.keys;
      values.push_back(row == 1 || key % 7 == 3 || (row == 2 && key < 10) ? 0 : 1);  // row 1, the start of row 2
      keys.push_back(row == 0 && key >= c.keys - 12 ? 0 : 1);
    }
  }

  AttentionInputs inputs() const {
    return {.shape = {.heads = c.heads,
                      .queries = c.queries,
                      .keys = c.keys,
                      .key_dim = c.key_dim,
                      .value_dim = c.value_dim,
                      .additive = c.additive,
                      .one_weight = c.one_weight,
                      .scale = 0.5F,
                      .causal = c.causal,
                      .fully_masked_scores_count = c.fully_masked_scores_count},
            .rows = c.rows,
            .q = {q.data(), q_stride},
            .k = {k.data(), k_stride},
            .v = {v.data(), v_stride},
            .score_weights = weights.data(),
            .query_mask = c.mask_queries ? queries.data() : nullptr,
            .value_mask = c.mask_values ? values.data() : nullptr,
            .key_mask = c.mask_keys ? keys.data() : nullptr,
            .dropout = {.rate = c.rate, .seed = 5, .layer = 6, .step = 7, .first_row = 8}};
  }
  bool is_visible(int64_t row, int64_t i, int64_t j) const {
    return (!c.causal || j <= i) && (!c.mask_queries || queries[at(row * c.queries + i)] != 0) &&
           (!c.mask_values || values[at(row * c.keys + j)] != 0) && (!c.mask_keys || keys[at(row * c.keys + j)] != 0);
  }
  double weight(int64_t d) const { return test::at(weights, c.one_weight ? 0 : d); }
  /// Score of the query and the key at these offsets.
  double score(int64_t of_q, int64_t of_k) const {
    double sum = 0;
    for (int64_t d = 0; d < c.key_dim; ++d) {
      const double a = test::at(q, of_q + d), b = test::at(k, of_k + d);
      sum += c.additive ? weight(d) * std::tanh(0.5 * (a + b)) : 0.5 * a * b;
    }
    return sum;
  }
  double factor(int64_t row, int64_t head, int64_t i, int64_t j) const {
    if (c.rate <= 0) return 1;
    const int64_t element = (head * c.queries + i) * ((c.keys + 3) / 4 * 4) + j;
    const PhiloxBlock words =
        philox4x32({{static_cast<uint32_t>(8 + row), static_cast<uint32_t>(element / 4), 7, 0}}, {{5, 6}});
    return philox_uniform(words.word[element % 4]) >= c.rate ? 1 / (1 - double{c.rate}) : 0;
  }
};

struct AttentionResult {
  Numbers y, dq, dk, dv, of_scores;
};

AttentionResult attention_reference(const AttentionData& d) {
  const AttentionCase& c = d.c;
  const int64_t numbers = score_gradients(d.inputs().shape);
  AttentionResult all{Numbers(d.dy.size()), Numbers(d.q.size()), Numbers(d.k.size()), Numbers(d.v.size()),
                      Numbers(at(c.rows * c.heads * numbers))};
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t head = 0; head < c.heads; ++head)
      for (int64_t i = 0; i < c.queries; ++i) {
        const int64_t q = (row * c.queries + i) * d.q_stride + head * c.key_dim;
        const int64_t y = ((row * c.queries + i) * c.heads + head) * c.value_dim;
        const auto k = [&](int64_t j) { return (row * c.keys + j) * d.k_stride + head * c.key_dim; };
        const auto v = [&](int64_t j) { return (row * c.keys + j) * d.v_stride + head * c.value_dim; };
        Numbers weight(at(c.keys)), slope(at(c.keys));
        bool fully_masked = true;
        double sum = 0;
        for (int64_t j = 0; j < c.keys; ++j) {
          if (!d.is_visible(row, i, j)) continue;
          fully_masked = false;
          sum += weight[at(j)] = std::exp(d.score(q, k(j)));
        }
        for (int64_t j = 0; j < c.keys; ++j)
          weight[at(j)] = fully_masked ? 1.0 / static_cast<double>(c.keys) : weight[at(j)] / sum;
        double delta = 0;
        for (int64_t j = 0; j < c.keys; ++j) {
          const double dropped = weight[at(j)] * d.factor(row, head, i, j);
          for (int64_t e = 0; e < c.value_dim; ++e) {
            all.y[at(y + e)] += dropped * test::at(d.v, v(j) + e);
            all.dv[at(v(j) + e)] += dropped * test::at(d.dy, y + e);
            slope[at(j)] += test::at(d.dy, y + e) * test::at(d.v, v(j) + e) * d.factor(row, head, i, j);
          }
          delta += weight[at(j)] * slope[at(j)];
        }
        if (fully_masked && !c.fully_masked_scores_count) continue;
        for (int64_t j = 0; j < c.keys; ++j)
          for (int64_t e = 0; e < c.key_dim; ++e) {
            const double of_score = weight[at(j)] * (slope[at(j)] - delta);
            const double a = test::at(d.q, q + e), b = test::at(d.k, k(j) + e), value = std::tanh(0.5 * (a + b));
            const double inner = of_score * d.weight(e) * (1 - value * value);
            double* const of_weights = all.of_scores.data() + (row * c.heads + head) * numbers;
            all.dq[at(q + e)] += c.additive ? 0.5 * inner : 0.5 * of_score * b;
            all.dk[at(k(j) + e)] += c.additive ? 0.5 * inner : 0.5 * of_score * a;
            of_weights[numbers - 1] += c.additive ? inner * (a + b) : of_score * a * b;
            if (c.additive) of_weights[e] += of_score * value;
          }
      }
  return all;
}

class AttentionKernel : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(AttentionKernel, FollowsItsEquations) {
  const AttentionData d(GetParam());
  const AttentionResult expected = attention_reference(d);
  const AttentionInputs of = d.inputs();
  std::vector<float> saved_tensors(at(attention_saved_floats(of.shape, of.rows)));
  std::vector<float> y(d.dy.size());
  const auto forward = [&](float* to) {
    std::vector<float> workspace(at(attention_forward_workspace(of.shape, 3)), std::nanf(""));
    attention_forward({.of = of, .y = to, .saved_tensors = saved_tensors.data()}, workspace.data());
  };
  test::agrees(expected.y, 1e-5, 1e-5,
               [&] { return test::written_floats(static_cast<int64_t>(d.dy.size()), forward); });
  // The gradients replace q, k and v.
  const auto gradient = [&](int which) {
    forward(y.data());
    std::vector<float> q = d.q, k = d.k, v = d.v;
    AttentionInputs moved = of;
    moved.q.data = q.data(), moved.k.data = k.data(), moved.v.data = v.data();
    std::vector<float> workspace(at(attention_backward_workspace(of.shape, 3)), std::nanf(""));
    std::vector<float> of_scores(expected.of_scores.size());
    attention_backward({.of = moved,
                        .y = y.data(),
                        .dy = d.dy.data(),
                        .saved_tensors = saved_tensors.data(),
                        .dq = {q.data(), d.q_stride},
                        .dk = {k.data(), d.k_stride},
                        .dv = {v.data(), d.v_stride},
                        .of_scores = of_scores.data()},
                       workspace.data());
    return which == 0 ? q : which == 1 ? k : which == 2 ? v : of_scores;
  };
  const auto gaps = [](const std::vector<float>& inputs, Numbers values, int64_t stride, int64_t width) {
    for (size_t i = 0; i < values.size(); ++i)
      if (static_cast<int64_t>(i) % stride >= width) values[i] = double{inputs[i]};
    return values;
  };
  const int64_t keys = d.c.heads * d.c.key_dim, values = d.c.heads * d.c.value_dim;
  test::agrees(gaps(d.q, expected.dq, d.q_stride, keys), 2e-5, 5e-5, [&] { return gradient(0); });
  test::agrees(gaps(d.k, expected.dk, d.k_stride, keys), 2e-5, 5e-5, [&] { return gradient(1); });
  test::agrees(gaps(d.v, expected.dv, d.v_stride, values), 2e-5, 5e-5, [&] { return gradient(2); });
  test::agrees(expected.of_scores, 2e-5, 5e-4, [&] { return gradient(3); });
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionKernel, ::testing::ValuesIn(kAttentionCases),
                         [](const auto& test) { return test.param.name; });

TEST(AttentionKernel, ScoresMayBeLarge) {
  AttentionData d({"large", 1, 1, 4, 260, 2, 2});
  for (float& x : d.q) x *= 200;
  const AttentionResult expected = attention_reference(d);
  const AttentionInputs of = d.inputs();
  std::vector<float> workspace(at(attention_forward_workspace(of.shape, 3)));
  Numbers finite = expected.y;
  test::agrees(finite, 1e-4, 1e-4, [&] {
    return test::written_floats(static_cast<int64_t>(d.dy.size()),
                                [&](float* to) { attention_forward({.of = of, .y = to}, workspace.data()); });
  });
}

}  // namespace
}  // namespace dptrain::kernels::cpu
