#include "kernels/cpu/adam.h"

#include <cmath>

#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/nadam_momenta.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/adam.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

void adam_piece(const AdamPass& pass, const UpdateState& state, const float* g, int64_t begin, int64_t end, float* w,
                float* m, float* v, float* v_max) {
  const double t = static_cast<double>(state.step);
  const Vec rate =
      rounded(state.learning_rate * std::sqrt(1.0 - std::pow(pass.beta_2, t)) / (1.0 - std::pow(pass.beta_1, t)));
  const Vec share_1 = rounded(1.0 - pass.beta_1), share_2 = rounded(1.0 - pass.beta_2), epsilon = rounded(pass.epsilon);
  const Vec decay = rounded(state.learning_rate * pass.weight_decay);
  sweep(end - begin, [&](int64_t offset, auto io) HWY_ATTR {
    const int64_t i = begin + offset;
    const Vec gradient = io.load(g + i), old_w = io.load(w + i);
    const Vec mean = moved(io.load(m + i), gradient, share_1);
    Vec square = moved_square(io.load(v + i), gradient, share_2);
    io.store(mean, m + i);
    io.store(square, v + i);
    if (v_max != nullptr) {
      square = hn::Max(io.load(v_max + i), square);
      io.store(square, v_max + i);
    }
    const Vec move = hn::Div(hn::Mul(rate, mean), hn::Add(hn::Sqrt(square), epsilon));
    io.store(hn::Sub(decayed(decay, old_w), move), w + i);
  });
}

void nadam_piece(const AdamPass& pass, const UpdateState& state, const NadamFactors& factors, const float* g,
                 int64_t begin, int64_t end, float* w, float* m, float* v) {
  const Vec of_mean = rounded(state.learning_rate * factors.average), of_square = rounded(factors.square);
  const Vec of_gradient = rounded(state.learning_rate * factors.gradient), epsilon = rounded(pass.epsilon);
  const Vec share_1 = rounded(1.0 - pass.beta_1), share_2 = rounded(1.0 - pass.beta_2);
  const Vec decay = rounded(state.learning_rate * pass.weight_decay);
  sweep(end - begin, [&](int64_t offset, auto io) HWY_ATTR {
    const int64_t i = begin + offset;
    const Vec gradient = io.load(g + i);
    const Vec mean = moved(io.load(m + i), gradient, share_1);
    const Vec square = moved_square(io.load(v + i), gradient, share_2);
    io.store(mean, m + i);
    io.store(square, v + i);
    const Vec ahead = hn::MulAdd(of_mean, mean, hn::Mul(of_gradient, gradient));
    const Vec move = hn::Div(ahead, hn::Add(hn::Sqrt(hn::Mul(of_square, square)), epsilon));
    io.store(hn::Sub(decayed(decay, io.load(w + i)), move), w + i);
  });
}

void adamax_piece(const AdamPass& pass, const UpdateState& state, const float* g, int64_t begin, int64_t end, float* w,
                  float* m, float* u) {
  const Vec rate = rounded(state.learning_rate / (1.0 - std::pow(pass.beta_1, static_cast<double>(state.step))));
  const Vec share = rounded(1.0 - pass.beta_1), keep = rounded(pass.beta_2), epsilon = rounded(pass.epsilon);
  const Vec decay = rounded(state.learning_rate * pass.weight_decay);
  sweep(end - begin, [&](int64_t offset, auto io) HWY_ATTR {
    const int64_t i = begin + offset;
    const Vec gradient = io.load(g + i);
    const Vec mean = moved(io.load(m + i), gradient, share);
    const Vec largest = hn::Max(hn::Mul(keep, io.load(u + i)), hn::Abs(gradient));
    io.store(mean, m + i);
    io.store(largest, u + i);
    const Vec move = hn::Div(hn::Mul(rate, mean), hn::Add(largest, epsilon));
    io.store(hn::Sub(decayed(decay, io.load(w + i)), move), w + i);
  });
}

void lamb_step_piece(const AdamPass& pass, const UpdateState& state, float* g, int64_t begin, int64_t end, float* w,
                     float* m, float* v) {
  const double t = static_cast<double>(state.step);
  const Vec of_mean = rounded(1.0 / (1.0 - std::pow(pass.beta_1, t))), epsilon = rounded(pass.epsilon);
  const Vec of_square = rounded(1.0 / (1.0 - std::pow(pass.beta_2, t)));
  const Vec share_1 = rounded(1.0 - pass.beta_1), share_2 = rounded(1.0 - pass.beta_2);
  const Vec decay = rounded(state.learning_rate * pass.weight_decay);
  sweep(end - begin, [&](int64_t offset, auto io) HWY_ATTR {
    const int64_t i = begin + offset;
    const Vec gradient = io.load(g + i);
    const Vec mean = moved(io.load(m + i), gradient, share_1);
    const Vec square = moved_square(io.load(v + i), gradient, share_2);
    io.store(mean, m + i);
    io.store(square, v + i);
    io.store(decayed(decay, io.load(w + i)), w + i);
    io.store(hn::Div(hn::Mul(of_mean, mean), hn::Add(hn::Sqrt(hn::Mul(of_square, square)), epsilon)), g + i);
  });
}

void lamb_move_piece(float rate, const float* g, int64_t n, float* w) {
  const Vec factor = splat(rate);
  map(
      n, w, [=](Vec weight, Vec move) HWY_ATTR { return hn::NegMulAdd(factor, move, weight); }, w, g);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(adam_piece);
HWY_EXPORT(nadam_piece);
HWY_EXPORT(adamax_piece);
HWY_EXPORT(lamb_step_piece);
HWY_EXPORT(lamb_move_piece);

void adam_update(const Launch&, const AdamPass& pass, const UpdateState& state, const float* g, int64_t n, float* w,
                 float* m, float* v, float* v_max) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adam_piece)(pass, state, g, begin, end, w, m, v, v_max);
  });
}

void nadam_update(const Launch&, const AdamPass& pass, const UpdateState& state, const float* g, int64_t n, float* w,
                  float* m, float* v) {
  const NadamFactors factors = nadam_factors(pass.beta_1, pass.beta_2, state.step);
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(nadam_piece)(pass, state, factors, g, begin, end, w, m, v);
  });
}

void adamax_update(const Launch&, const AdamPass& pass, const UpdateState& state, const float* g, int64_t n, float* w,
                   float* m, float* u) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adamax_piece)(pass, state, g, begin, end, w, m, u);
  });
}

void lamb_step(const AdamPass& pass, const UpdateState& state, float* g, int64_t n, float* w, float* m, float* v) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(lamb_step_piece)(pass, state, g, begin, end, w, m, v);
  });
}

void lamb_update(double learning_rate, const float* g, int64_t n, float* w) {
  const double of_weights = std::sqrt(sum_of_squares(w, n)), of_move = std::sqrt(sum_of_squares(g, n));
  const double trust = of_weights > 0 && of_move > 0 ? of_weights / of_move : 1.0;
  const auto rate = static_cast<float>(learning_rate * trust);
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(lamb_move_piece)(rate, g + begin, end - begin, w + begin);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
