// Attention around the sizes of its tiles, compared with the CPU's kernel, which tests/kernels compares with the
// equations, and around the limit of shared memory with dropout, compared with the equations. Types and masks of
// queries: tests/backend.

#include "kernels/cuda/attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/dropout.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct AttentionCase {
  std::int64_t queries, keys;
  bool causal = false, additive = false;
  std::int64_t hidden = 0;  ///< number of masked values, the first
  std::int64_t key_dim = 3, value_dim = 2;
};

// Tiles of 32 queries and 32 keys, smaller for large dimensions.
const std::vector<AttentionCase> kAttentionCases{
    {31, 31},
    {32, 32},
    {33, 65},
    {65, 33},
    {33, 33, true},
    {65, 32, true},
    {32, 65, true},  // no query sees the last tiles of keys
    {3, 65, true},
    {3, 65, true, true},
    {33, 65, false, true},
    {33, 65, false, false, 33},  // no query sees the first tile
    {.queries = 15, .keys = 16, .key_dim = 130, .value_dim = 120},
    {.queries = 16, .keys = 17, .key_dim = 130, .value_dim = 120},
    {.queries = 17, .keys = 33, .causal = true, .key_dim = 130, .value_dim = 120},
};

void check_attention(const AttentionCase& c) {
  constexpr std::int64_t kHeads = 2;
  const AttentionShape shape{.heads = kHeads,
                             .queries = c.queries,
                             .keys = c.keys,
                             .key_dim = c.key_dim,
                             .value_dim = c.value_dim,
                             .additive = c.additive,
                             .scale = 0.25F,
                             .causal = c.causal};
  const std::int64_t keys = kHeads * c.key_dim, values = kHeads * c.value_dim, numbers = score_gradients(shape);
  const auto random = [](std::int64_t n, std::uint32_t seed) { return random_floats(n, seed, -1.0F, 1.0F); };
  std::vector<float> q = random(c.queries * keys, 1), k = random(c.keys * keys, 2), v = random(c.keys * values, 3),
                     dy = random(c.queries * values, 4), weights = random(c.key_dim, 5);
  std::vector<std::uint8_t> visible(static_cast<std::size_t>(c.keys), 1);
  std::fill_n(visible.begin(), c.hidden, std::uint8_t{0});

  const Array<float> q_memory(q), k_memory(k), v_memory(v), dy_memory(dy), weight_memory(weights);
  const Array<std::uint8_t> mask(visible);
  const auto rows_of = [](const Array<float>& x, std::int64_t stride) {
    return AttentionRows{const_cast<float*>(x.data()), stride};
  };
  const AttentionInputs here{.shape = shape,
                             .rows = 1,
                             .q = rows_of(q_memory, keys),
                             .k = rows_of(k_memory, keys),
                             .v = rows_of(v_memory, values),
                             .score_weights = weight_memory.data(),
                             .value_mask = mask.data()};
  Array<float> y(dy_memory.size()), dq(q_memory.size()), dk(k_memory.size()), dv(v_memory.size()),
      delta(kHeads * c.queries), saved(attention_saved_floats(shape, 1)), parts(attention_parts(shape, 1) * numbers);
  attention_forward(test_launch(), DType::kF32, here, y.data(), saved.data());
  attention_backward(
      test_launch(), DType::kF32, here, y.data(), dy_memory.data(), saved.data(), delta.data(),
      {.dq = rows_of(dq, keys), .dk = rows_of(dk, keys), .dv = rows_of(dv, values), .of_scores = parts.data()});

  const cpu::AttentionInputs there{.shape = shape,
                                   .rows = 1,
                                   .q = {q.data(), keys},
                                   .k = {k.data(), keys},
                                   .v = {v.data(), values},
                                   .score_weights = weights.data(),
                                   .value_mask = visible.data()};
  std::vector<float> expected_y(dy.size()), expected_dq(q.size()), expected_dk(k.size()), expected_dv(v.size()),
      of_scores(static_cast<std::size_t>(kHeads * numbers)),
      kept(static_cast<std::size_t>(cpu::attention_saved_floats(shape, 1))),
      workspace(static_cast<std::size_t>(
          std::max(cpu::attention_forward_workspace(shape, 1), cpu::attention_backward_workspace(shape, 1))));
  cpu::attention_forward({.of = there, .y = expected_y.data(), .saved_tensors = kept.data()}, workspace.data());
  cpu::attention_backward({.of = there,
                           .y = expected_y.data(),
                           .dy = dy.data(),
                           .saved_tensors = kept.data(),
                           .dq = {expected_dq.data(), keys},
                           .dk = {expected_dk.data(), keys},
                           .dv = {expected_dv.data(), values},
                           .of_scores = of_scores.data()},
                          workspace.data());
  // Both add up to 65 floats in other orders; the gradients of the scores add up to 65 x 65 numbers.
  const auto expect = [](const std::vector<float>& expected, const std::vector<float>& found, double absolute) {
    expect_near(DType::kF32, {expected.begin(), expected.end()}, found, 1e-5, absolute);
  };
  expect(expected_y, y.read(), 1e-5);
  expect(expected_dq, dq.read(), 5e-5);
  expect(expected_dk, dk.read(), 5e-5);
  expect(expected_dv, dv.read(), 5e-5);
  std::vector<float> sums(of_scores.size());
  const std::vector<float> by_part = parts.read();
  for (std::size_t i = 0; i < by_part.size(); ++i) {
    const std::size_t of_head = by_part.size() / kHeads, number = i % static_cast<std::size_t>(numbers);
    sums[i / of_head * static_cast<std::size_t>(numbers) + number] += by_part[i];
  }
  expect(of_scores, sums, 5e-4);
}

TEST(GpuAttention, EqualsTheCpuAroundATile) {
  for (const AttentionCase& c : kAttentionCases) {
    SCOPED_TRACE(std::to_string(c.queries) + " queries, " + std::to_string(c.keys) + " keys of " +
                 std::to_string(c.key_dim) + (c.causal ? ", causal" : "") + (c.additive ? ", additive" : ""));
    check_attention(c);
  }
}

constexpr float kAttentionRate = 0.4F;

/// One head of two rows, its inputs, and by the formula in double its output and gradients.
struct HeadCase {
  AttentionShape shape;
  std::int64_t rows = 2;
  std::vector<float> q, k, v, dy, factors;
  std::vector<double> y, dq, dk, dv;

  explicit HeadCase(const AttentionShape& of)
      : shape(of),
        q(random_floats(rows * of.queries * of.key_dim, 1, -1.0F, 1.0F)),
        k(random_floats(rows * of.keys * of.key_dim, 2, -1.0F, 1.0F)),
        v(random_floats(rows * of.keys * of.value_dim, 3, -1.0F, 1.0F)),
        dy(random_floats(rows * of.queries * of.value_dim, 4, -1.0F, 1.0F)),
        factors(static_cast<std::size_t>(rows * of.queries * stride()), 1.0F),
        y(dy.size(), 0.0),
        dq(q.size(), 0.0),
        dk(k.size(), 0.0),
        dv(v.size(), 0.0) {
    const std::vector<float> ones = factors;
    cpu::dropout_forward({}, DType::kF32, {.rate = kAttentionRate, .seed = 5, .layer = 6, .step = 0, .first_row = 7},
                         ones.data(), rows, of.queries * stride(), factors.data());
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < of.queries; ++i) add_query(row, row * of.queries + i);
  }
  /// Keys of a query in the numbering of dropout: draws are of four keys.
  std::int64_t stride() const { return (shape.keys + 3) / 4 * 4; }

 private:
  void add_query(std::int64_t row, std::int64_t query) {
    const std::int64_t first = row * shape.keys, width = shape.value_dim;
    std::vector<double> weights;
    double total = 0, delta = 0;
    for (std::int64_t j = 0; j < shape.keys; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < shape.key_dim; ++d)
        score += at(q, query * shape.key_dim + d) * at(k, (first + j) * shape.key_dim + d);
      total += weights.emplace_back(std::exp(static_cast<double>(shape.scale) * score));
    }
    std::vector<double> slopes;
    for (std::int64_t j = 0; j < shape.keys; ++j) {
      double& weight = weights[static_cast<std::size_t>(j)];
      weight /= total;
      const double factor = at(factors, query * stride() + j);
      double slope = 0;
      for (std::int64_t c = 0; c < width; ++c) {
        const double gradient = at(dy, query * width + c), value = at(v, (first + j) * width + c);
        y[static_cast<std::size_t>(query * width + c)] += weight * factor * value;
        dv[static_cast<std::size_t>((first + j) * width + c)] += weight * factor * gradient;
        slope += gradient * value * factor;
      }
      delta += weight * slopes.emplace_back(slope);
    }
    for (std::int64_t j = 0; j < shape.keys; ++j) {
      const auto s = static_cast<std::size_t>(j);
      const double gradient = static_cast<double>(shape.scale) * weights[s] * (slopes[s] - delta);
      for (std::int64_t d = 0; d < shape.key_dim; ++d) {
        const std::int64_t of_query = query * shape.key_dim + d, of_key = (first + j) * shape.key_dim + d;
        dq[static_cast<std::size_t>(of_query)] += gradient * at(k, of_key);
        dk[static_cast<std::size_t>(of_key)] += gradient * at(q, of_query);
      }
    }
  }
};

void expect_attention(std::int64_t key_dim, std::int64_t value_dim) {
  SCOPED_TRACE(std::to_string(key_dim) + " and " + std::to_string(value_dim));
  const HeadCase c({.queries = 3,
                    .keys = 9,
                    .key_dim = key_dim,
                    .value_dim = value_dim,
                    .scale = 1.0F / std::sqrt(static_cast<float>(key_dim))});
  Array<float> q(c.q), k(c.k), v(c.v), dy(c.dy), y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size());
  Array<float> saved(attention_saved_floats(c.shape, c.rows)), delta(c.rows * c.shape.queries);
  const Array<StepState> state(std::vector<StepState>(1));
  const AttentionInputs inputs{.shape = c.shape,
                               .rows = c.rows,
                               .q = {q.data(), key_dim},
                               .k = {k.data(), key_dim},
                               .v = {v.data(), value_dim},
                               .dropout = {.rate = kAttentionRate, .seed = 5, .layer = 6, .first_row = 7},
                               .state = state.data()};
  attention_forward(test_launch(), DType::kF32, inputs, y.data(), saved.data());
  attention_backward(test_launch(), DType::kF32, inputs, y.data(), dy.data(), saved.data(), delta.data(),
                     {.dq = {dq.data(), key_dim}, .dk = {dk.data(), key_dim}, .dv = {dv.data(), value_dim}});
  // A score of 1000 products of numbers up to 1 has an error of about 1e-6 after scaling.
  expect_near(DType::kF32, c.y, y.read(), 1e-5, 1e-5);
  expect_near(DType::kF32, c.dq, dq.read(), 1e-5, 1e-5);
  expect_near(DType::kF32, c.dk, dk.read(), 1e-5, 1e-5);
  expect_near(DType::kF32, c.dv, dv.read(), 1e-5, 1e-5);
}

/// The widest heads for tiles of 32, 16 and 8 in 99 KiB, the shared memory of the GPUs with the least, and wider ones.
TEST(GpuAttention, AroundTheSizeOfSharedMemory) {
  constexpr std::array<std::array<std::int64_t, 2>, 10> kDimensions{{{118, 118},
                                                                     {119, 119},
                                                                     {64, 174},
                                                                     {64, 175},
                                                                     {64, 176},
                                                                     {128, 109},
                                                                     {128, 110},
                                                                     {252, 252},
                                                                     {253, 253},
                                                                     {254, 254}}};
  for (const auto& [key_dim, value_dim] : kDimensions) expect_attention(key_dim, value_dim);
}

/// Tiles of two keys: half of a draw of dropout.
TEST(GpuAttention, OfVeryWideHeads) { expect_attention(1000, 1000); }

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
