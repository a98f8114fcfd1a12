#include "kernels/cpu/optimizer.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

void sgd_piece(const SgdPass& pass, const UpdateState& state, const float* g, int64_t begin, int64_t end, float* w,
               float* m) {
  const Vec rate = rounded(state.learning_rate), momentum = rounded(pass.momentum);
  const Vec decay = rounded(state.learning_rate * pass.weight_decay);
  sweep(end - begin, [&](int64_t offset, auto io) HWY_ATTR {
    const int64_t i = begin + offset;
    const Vec gradient = io.load(g + i);
    Vec move = hn::Neg(hn::Mul(rate, gradient));
    if (m != nullptr) {
      const Vec velocity = hn::MulAdd(momentum, io.load(m + i), move);
      io.store(velocity, m + i);
      move = pass.nesterov ? hn::MulAdd(momentum, velocity, move) : velocity;
    }
    io.store(hn::Add(decayed(decay, io.load(w + i)), move), w + i);
  });
}

void rmsprop_piece(const RmspropPass& pass, const UpdateState& state, const float* g, int64_t begin, int64_t end,
                   float* w, float* v, float* m, float* mean) {
  const Vec rate = rounded(state.learning_rate), rho = rounded(pass.rho), share = rounded(1.0 - pass.rho);
  const Vec momentum = rounded(pass.momentum), epsilon = rounded(pass.epsilon);
  const Vec decay = rounded(state.learning_rate * pass.weight_decay);
  sweep(end - begin, [&](int64_t offset, auto io) HWY_ATTR {
    const int64_t i = begin + offset;
    const Vec gradient = io.load(g + i);
    const Vec square = hn::MulAdd(rho, io.load(v + i), hn::Mul(share, hn::Mul(gradient, gradient)));
    io.store(square, v + i);
    Vec variance = square;
    if (mean != nullptr) {
      const Vec average = hn::MulAdd(rho, io.load(mean + i), hn::Mul(share, gradient));
      io.store(average, mean + i);
      variance = hn::NegMulAdd(average, average, square);
    }
    Vec move = hn::Div(hn::Mul(rate, gradient), hn::Sqrt(hn::Add(variance, epsilon)));
    if (m != nullptr) {
      move = hn::MulAdd(momentum, io.load(m + i), move);
      io.store(move, m + i);
    }
    io.store(hn::Sub(decayed(decay, io.load(w + i)), move), w + i);
  });
}

void adagrad_piece(const AdagradPass& pass, const UpdateState& state, const float* g, int64_t begin, int64_t end,
                   float* w, float* accumulator) {
  const Vec rate = rounded(state.learning_rate), epsilon = rounded(pass.epsilon);
  const Vec decay = rounded(state.learning_rate * pass.weight_decay);
  sweep(end - begin, [&](int64_t offset, auto io) HWY_ATTR {
    const int64_t i = begin + offset;
    const Vec gradient = io.load(g + i), sum = hn::MulAdd(gradient, gradient, io.load(accumulator + i));
    io.store(sum, accumulator + i);
    const Vec move = hn::Div(hn::Mul(rate, gradient), hn::Sqrt(hn::Add(sum, epsilon)));
    io.store(hn::Sub(decayed(decay, io.load(w + i)), move), w + i);
  });
}

void adadelta_piece(const AdadeltaPass& pass, const UpdateState& state, const float* g, int64_t begin, int64_t end,
                    float* w, float* v, float* d) {
  const Vec rate = rounded(state.learning_rate), rho = rounded(pass.rho), share = rounded(1.0 - pass.rho);
  const Vec epsilon = rounded(pass.epsilon), decay = rounded(state.learning_rate * pass.weight_decay);
  sweep(end - begin, [&](int64_t offset, auto io) HWY_ATTR {
    const int64_t i = begin + offset;
    const Vec gradient = io.load(g + i), old_d = io.load(d + i);
    const Vec square = hn::MulAdd(rho, io.load(v + i), hn::Mul(share, hn::Mul(gradient, gradient)));
    io.store(square, v + i);
    const Vec move = hn::Div(hn::Mul(hn::Sqrt(hn::Add(old_d, epsilon)), gradient), hn::Sqrt(hn::Add(square, epsilon)));
    io.store(hn::MulAdd(rho, old_d, hn::Mul(share, hn::Mul(move, move))), d + i);
    io.store(hn::NegMulAdd(rate, move, decayed(decay, io.load(w + i))), w + i);
  });
}

void lion_piece(const LionPass& pass, const UpdateState& state, const float* g, int64_t begin, int64_t end, float* w,
                float* m) {
  const Vec rate = rounded(state.learning_rate), decay = rounded(state.learning_rate * pass.weight_decay);
  const Vec keep_1 = rounded(pass.beta_1), share_1 = rounded(1.0 - pass.beta_1);
  const Vec keep_2 = rounded(pass.beta_2), share_2 = rounded(1.0 - pass.beta_2), zero = hn::Zero(kFloats);
  sweep(end - begin, [&](int64_t offset, auto io) HWY_ATTR {
    const int64_t i = begin + offset;
    const Vec gradient = io.load(g + i), mean = io.load(m + i);
    const Vec ahead = hn::MulAdd(keep_1, mean, hn::Mul(share_1, gradient));
    const Vec sized = hn::IfThenZeroElse(hn::Eq(ahead, zero), hn::CopySign(rate, ahead));
    const Vec move = hn::IfThenElse(hn::IsNaN(ahead), ahead, sized);
    io.store(hn::MulAdd(keep_2, mean, hn::Mul(share_2, gradient)), m + i);
    io.store(hn::Sub(decayed(decay, io.load(w + i)), move), w + i);
  });
}

void ema_piece(double momentum, const float* w, int64_t n, float* average) {
  const Vec keep = rounded(momentum), share = rounded(1.0 - momentum);
  map(
      n, average, [=](Vec old, Vec v) HWY_ATTR { return hn::MulAdd(keep, old, hn::Mul(share, v)); }, average, w);
}

void clip_piece(float limit, int64_t n, float* x) {
  const Vec high = splat(limit), low = splat(-limit);
  map(
      n, x,
      [=](Vec v) HWY_ATTR {
        return hn::IfThenElse(hn::Gt(v, high), high, hn::IfThenElse(hn::Lt(v, low), low, v));  // keeps NaN
      },
      x);
}

void scale_piece(float factor, int64_t n, float* x) {
  const Vec by = splat(factor);
  map(
      n, x, [=](Vec v) HWY_ATTR { return hn::Mul(v, by); }, x);
}

void absolute_and_square_sums_piece(const float* x, int64_t n, double* absolute, double* square) {
  const hn::ScalableTag<double> doubles;
  const hn::Rebind<float, decltype(doubles)> halves;
  constexpr int64_t kDoubles = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  auto absolutes = hn::Zero(doubles), squares = absolutes;
  int64_t i = 0;
  for (; i + kDoubles <= n; i += kDoubles) {
    const auto v = hn::PromoteTo(doubles, hn::LoadU(halves, x + i));
    absolutes = hn::Add(absolutes, hn::Abs(v));
    squares = hn::MulAdd(v, v, squares);
  }
  *absolute = hn::GetLane(hn::SumOfLanes(doubles, absolutes));
  *square = hn::GetLane(hn::SumOfLanes(doubles, squares));
  for (; i < n; ++i) {
    const double v = static_cast<double>(x[i]);
    *absolute += std::abs(v);
    *square += v * v;
  }
}

bool all_finite_piece(const float* x, int64_t n) {
  const IntVec exponent = hn::Set(kInts, 0x7F800000);
  IntVec special = hn::Zero(kInts);
  sweep(n, [&](int64_t i, auto io) HWY_ATTR {
    const IntVec bits = hn::And(hn::BitCast(kInts, io.load(x + i)), exponent);
    special = hn::Or(special, hn::VecFromMask(kInts, hn::Eq(bits, exponent)));
  });
  return hn::AllFalse(kInts, hn::Ne(special, hn::Zero(kInts)));
}

void add_l1l2_piece(const float* w, int64_t n, float l1, float twice_l2, float* g) {
  const Vec step = splat(l1), slope = splat(twice_l2), zero = hn::Zero(kFloats);
  map(
      n, g,
      [=](Vec gradient, Vec v) HWY_ATTR {
        const Vec sign = hn::IfThenZeroElse(hn::Eq(v, zero), hn::CopySign(step, v));
        return hn::Add(gradient, hn::MulAdd(slope, v, sign));
      },
      g, w);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(sgd_piece);
HWY_EXPORT(rmsprop_piece);
HWY_EXPORT(adagrad_piece);
HWY_EXPORT(adadelta_piece);
HWY_EXPORT(lion_piece);
HWY_EXPORT(ema_piece);
HWY_EXPORT(clip_piece);
HWY_EXPORT(scale_piece);
HWY_EXPORT(absolute_and_square_sums_piece);
HWY_EXPORT(all_finite_piece);
HWY_EXPORT(add_l1l2_piece);

void sgd_update(const Launch&, const SgdPass& pass, const UpdateState& state, const float* g, int64_t n, float* w,
                float* m) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(sgd_piece)(pass, state, g, begin, end, w, m);
  });
}

void rmsprop_update(const Launch&, const RmspropPass& pass, const UpdateState& state, const float* g, int64_t n,
                    float* w, float* v, float* m, float* mean) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(rmsprop_piece)(pass, state, g, begin, end, w, v, m, mean);
  });
}

void adagrad_update(const Launch&, const AdagradPass& pass, const UpdateState& state, const float* g, int64_t n,
                    float* w, float* accumulator) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adagrad_piece)(pass, state, g, begin, end, w, accumulator);
  });
}

void adadelta_update(const Launch&, const AdadeltaPass& pass, const UpdateState& state, const float* g, int64_t n,
                     float* w, float* v, float* d) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(adadelta_piece)(pass, state, g, begin, end, w, v, d);
  });
}

void lion_update(const Launch&, const LionPass& pass, const UpdateState& state, const float* g, int64_t n, float* w,
                 float* m) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(lion_piece)(pass, state, g, begin, end, w, m);
  });
}

void ema_update(double momentum, const float* w, int64_t n, float* average) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(ema_piece)(momentum, w + begin, end - begin, average + begin);
  });
}

void clip_by_value(float limit, int64_t n, float* x) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(clip_piece)(limit, end - begin, x + begin);
  });
}

void scale(float factor, int64_t n, float* x) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(scale_piece)(factor, end - begin, x + begin);
  });
}

namespace {

struct Sums {
  double absolute = 0.0, square = 0.0;
};

Sums absolute_and_square_sums(const float* x, int64_t n) {
  Sums partial[kMaxPartials];
  const int64_t size = rows_per_partial(n, 1);
  parallel_ranges(n, size, [&](int64_t begin, int64_t end) {
    Sums& sums = partial[begin / size];
    HWY_DYNAMIC_DISPATCH(absolute_and_square_sums_piece)(x + begin, end - begin, &sums.absolute, &sums.square);
  });
  Sums total;
  for (const Sums& sums : partial) {
    total.absolute += sums.absolute;
    total.square += sums.square;
  }
  return total;
}

}  // namespace

double sum_of_squares(const float* x, int64_t n) { return absolute_and_square_sums(x, n).square; }

double l1l2_value(const float* w, int64_t n, float l1, float l2) {
  const Sums sums = absolute_and_square_sums(w, n);
  return static_cast<double>(l1) * sums.absolute + static_cast<double>(l2) * sums.square;
}

bool all_finite(const float* x, int64_t n) {
  bool finite[kMaxPartials];
  std::fill_n(finite, kMaxPartials, true);
  const int64_t size = rows_per_partial(n, 1);
  parallel_ranges(n, size, [&](int64_t begin, int64_t end) {
    finite[begin / size] = HWY_DYNAMIC_DISPATCH(all_finite_piece)(x + begin, end - begin);
  });
  return std::all_of(finite, finite + kMaxPartials, [](bool piece) { return piece; });
}

void add_l1l2_gradient(const float* w, int64_t n, float l1, float l2, float factor, float* g) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_l1l2_piece)(w + begin, end - begin, factor * l1, factor * 2.0F * l2, g + begin);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
