// Attention around the sizes of its tiles and around the limit of shared memory, compared with the CPU's kernel, which
// tests/kernels compares with the equations. Types and masks of queries: tests/backend.

#include "kernels/cuda/attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct AttentionCase {
  std::int64_t queries, keys;
  bool causal = false, additive = false;
  std::int64_t hidden = 0;  ///< number of masked values, the first
  std::int64_t key_dim = 3, value_dim = 2;
  float dropout = 0;
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

// The widest heads for tiles of 32, 16 and 8 in kMaxSharedBytes, and wider ones. Tiles of two keys for 1000.
constexpr std::int64_t kWidths[][2]{{118, 118}, {119, 119}, {64, 174},  {64, 175},  {64, 176},   {128, 109},
                                    {128, 110}, {252, 252}, {253, 253}, {254, 254}, {1000, 1000}};

void check_attention(const AttentionCase& c) {
  constexpr std::int64_t kHeads = 2;
  const AttentionShape shape{.heads = kHeads,
                             .queries = c.queries,
                             .keys = c.keys,
                             .key_dim = c.key_dim,
                             .value_dim = c.value_dim,
                             .additive = c.additive,
                             .scale = 1.0F / std::sqrt(static_cast<float>(c.key_dim)),
                             .causal = c.causal};
  const std::int64_t keys = kHeads * c.key_dim, values = kHeads * c.value_dim, numbers = score_gradients(shape);
  const auto random = [](std::int64_t n, std::uint32_t seed) { return random_floats(n, seed, -1.0F, 1.0F); };
  std::vector<float> q = random(c.queries * keys, 1), k = random(c.keys * keys, 2), v = random(c.keys * values, 3),
                     dy = random(c.queries * values, 4), weights = random(c.key_dim, 5);
  std::vector<std::uint8_t> visible(static_cast<std::size_t>(c.keys), 1);
  std::fill_n(visible.begin(), c.hidden, std::uint8_t{0});

  const Array<float> q_memory(q), k_memory(k), v_memory(v), dy_memory(dy), weight_memory(weights);
  const Array<std::uint8_t> mask(visible);
  const Array<StepState> state(std::vector<StepState>(1));
  const auto rows_of = [](const Array<float>& x, std::int64_t stride) {
    return AttentionRows{const_cast<float*>(x.data()), stride};
  };
  const AttentionInputs here{.shape = shape,
                             .rows = 1,
                             .q = rows_of(q_memory, keys),
                             .k = rows_of(k_memory, keys),
                             .v = rows_of(v_memory, values),
                             .score_weights = weight_memory.data(),
                             .value_mask = mask.data(),
                             .dropout = {.rate = c.dropout, .seed = 5, .layer = 6, .first_row = 7},
                             .state = state.data()};
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
                                   .value_mask = visible.data(),
                                   .dropout = {.rate = c.dropout, .seed = 5, .layer = 6, .step = 0, .first_row = 7}};
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
  // Both add up to 1000 floats in other orders; the gradients of the scores add up to 65 x 65 numbers.
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

TEST(GpuAttention, EqualsTheCpuAroundTheLimitOfSharedMemory) {
  for (const auto& [key_dim, value_dim] : kWidths) {
    SCOPED_TRACE(std::to_string(key_dim) + " and " + std::to_string(value_dim));
    check_attention({.queries = 3, .keys = 9, .key_dim = key_dim, .value_dim = value_dim, .dropout = 0.4F});
  }
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
