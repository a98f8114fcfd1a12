// Softmax cross-entropy of groups of rows. With t = z - max z and smoothed targets y': loss = sum(y') ln(sum e^t) -
// sum(y' t), accurate for large logits; d loss / d z = softmax(z) sum(y') - y'.

#if defined(DPTRAIN_KERNELS_CPU_CROSS_ENTROPY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_CROSS_ENTROPY_INL_H
#undef DPTRAIN_KERNELS_CPU_CROSS_ENTROPY_INL_H
#else
#define DPTRAIN_KERNELS_CPU_CROSS_ENTROPY_INL_H
#endif

#include <cmath>

#include "kernels/cpu/loss.h"
#include "kernels/cpu/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// y' t, but zero where y' is zero, even for a logit of -inf.
HWY_INLINE Vec weigh(Vec target, Vec t) {
  return hn::IfThenElseZero(hn::Ne(target, hn::Zero(kFloats)), hn::Mul(target, t));
}

/// Label smoothing: y' = y keep + spread.
struct Smoothing {
  float keep, spread;
  Smoothing(float amount, int64_t classes) : keep(1.0F - amount), spread(amount / static_cast<float>(classes)) {}
};

// ---- few classes: one row per lane

/// The smoothed targets of a group; `at` receives the target class of each row.
HWY_INLINE void read_targets(const LossTargets& targets, int64_t row, int64_t rows, int64_t classes, RowGroup& smoothed,
                             IntVec& at) {
  const Smoothing smoothing(targets.label_smoothing, classes);
  const Vec keep = splat(smoothing.keep), spread = splat(smoothing.spread);
  if (targets.dense != nullptr) {
    smoothed.read(targets.dense + row * classes, rows, classes);
    at = smoothed.first_largest(classes);
    for (int64_t c = 0; c < classes; ++c) smoothed.set(c, hn::MulAdd(smoothed.get(c), keep, spread));
    return;
  }
  HWY_ALIGN int32_t labels[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) labels[lane] = targets.labels[row + (lane < rows ? lane : 0)];
  at = hn::Load(kInts, labels);
  const auto inside =
      hn::And(hn::Gt(at, hn::Set(kInts, -1)), hn::Lt(at, hn::Set(kInts, static_cast<int32_t>(classes))));
  const Vec off = hn::IfThenElse(float_mask(inside), spread, splat(kNan));
  const Vec on = hn::Add(off, keep);
  for (int64_t c = 0; c < classes; ++c)
    smoothed.set(c, hn::IfThenElse(float_mask(hn::Eq(at, hn::Set(kInts, static_cast<int32_t>(c)))), on, off));
}

HWY_INLINE void cross_entropy_group(const float* logits, int64_t row, int64_t rows, int64_t classes,
                                    const LossTargets& targets, const LossOutputs& outputs) {
  RowGroup group, smoothed;
  IntVec at;
  group.read(logits + row * classes, rows, classes);
  read_targets(targets, row, rows, classes, smoothed, at);
  if (outputs.hit != nullptr) {
    const auto hit = hn::Eq(group.first_largest(classes), at);
    HWY_ALIGN int32_t hits[kLanes];
    hn::Store(hn::IfThenElseZero(hit, hn::Set(kInts, 1)), kInts, hits);
    for (int64_t lane = 0; lane < rows; ++lane) outputs.hit[row + lane] = static_cast<uint8_t>(hits[lane]);
  }

  const Vec most = group.largest(classes);
  Vec sum = hn::Zero(kFloats), mass = sum, dot = sum;
  for (int64_t c = 0; c < classes; ++c) {
    const Vec t = hn::Sub(group.get(c), most), target = smoothed.get(c), e = exp_of_negative(t);
    group.set(c, e);
    sum = hn::Add(sum, e);
    mass = hn::Add(mass, target);
    dot = hn::Add(dot, weigh(target, t));
  }
  if (outputs.loss != nullptr) {
    HWY_ALIGN float loss[kLanes];
    hn::Store(hn::Sub(hn::Mul(mass, log_of_positive(sum)), dot), kFloats, loss);
    for (int64_t lane = 0; lane < rows; ++lane) outputs.loss[row + lane] = loss[lane];
  }
  if (outputs.gradient != nullptr) {
    const Vec scale = splat(outputs.gradient_scale), share = hn::Div(hn::Mul(scale, mass), sum);
    for (int64_t c = 0; c < classes; ++c)
      group.set(c, hn::Sub(hn::Mul(group.get(c), share), hn::Mul(smoothed.get(c), scale)));
    group.write(outputs.gradient + row * classes, rows, classes);
  }
}

// ---- many classes: one class per lane

struct DenseTarget {
  const float* row;
  Vec keep, spread;
  HWY_INLINE DenseTarget(const float* values, const Smoothing& smoothing)
      : row(values), keep(splat(smoothing.keep)), spread(splat(smoothing.spread)) {}
  template <class Io>
  HWY_INLINE Vec get(int64_t c, Io io) const {
    return io.clear(hn::MulAdd(io.load(row + c), keep, spread));
  }
};

HWY_INLINE bool holds(const float* x, int64_t n, float value) {
  const Vec wanted = splat(value);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    if (!hn::AllFalse(kFloats, hn::Eq(hn::LoadU(kFloats, x + i), wanted))) return true;
  for (; i < n; ++i)
    if (x[i] == value) return true;
  return false;
}

/// Index of the first element equal to `most`, or -1 if there is none (`most` is NaN).
inline int64_t first_largest_of(const float* x, int64_t n, float most) {
  for (int64_t i = 0; i < n; ++i)
    if (x[i] == most) return i;
  return -1;
}

/// Results of one row. Either pointer may be null.
struct RowOutputs {
  float *loss, *gradient;
  float scale;
};

HWY_INLINE void cross_entropy_row(const float* logits, int64_t classes, float most, const DenseTarget& target,
                                  const RowOutputs& to) {
  const Vec shift = splat(most);
  Vec sums = hn::Zero(kFloats), masses = sums, dots = sums;
  sweep(classes, [&](int64_t c, auto io) HWY_ATTR {
    const Vec t = hn::Sub(io.load(logits + c), shift), wanted = target.get(c, io), e = exp_of_negative(t);
    if (to.gradient != nullptr) io.store(e, to.gradient + c);
    sums = hn::Add(sums, io.clear(e));
    masses = hn::Add(masses, wanted);
    dots = hn::Add(dots, weigh(wanted, t));
  });
  const float sum = sum_lanes(sums), mass = sum_lanes(masses);
  if (to.loss != nullptr) *to.loss = mass * std::log(sum) - sum_lanes(dots);
  if (to.gradient == nullptr) return;
  const Vec factor = splat(to.scale), share = splat(to.scale * mass / sum);
  sweep(classes, [&](int64_t c, auto io) HWY_ATTR {
    const Vec e = io.load(to.gradient + c);
    io.store(hn::Sub(hn::Mul(e, share), hn::Mul(target.get(c, io), factor)), to.gradient + c);
  });
}

/// The target is `off` + `keep` at the label and `off` elsewhere; sums of targets follow from these two numbers.
HWY_INLINE void cross_entropy_row(const float* logits, int64_t classes, float most, int32_t label,
                                  const Smoothing& smoothing, const RowOutputs& to) {
  const bool inside = label >= 0 && label < classes;
  const float off = inside ? smoothing.spread : kNan;
  const float at_label = inside ? logits[label] - most : 0.0F;
  const Vec shift = splat(most);
  Vec sums = hn::Zero(kFloats), distances = sums;
  sweep(classes, [&](int64_t c, auto io) HWY_ATTR {
    const Vec t = hn::Sub(io.load(logits + c), shift), e = exp_of_negative(t);
    if (to.gradient != nullptr) io.store(e, to.gradient + c);
    sums = hn::Add(sums, io.clear(e));
    distances = hn::Add(distances, io.clear(t));
  });
  const float sum = sum_lanes(sums), mass = smoothing.keep + off * static_cast<float>(classes);
  if (to.loss != nullptr) {
    const float dot = smoothing.keep != 0.0F ? smoothing.keep * at_label : 0.0F;
    *to.loss = mass * std::log(sum) - (off != 0.0F ? dot + off * sum_lanes(distances) : dot);
  }
  if (to.gradient == nullptr) return;
  const float share = to.scale * mass / sum, less = to.scale * off;
  const float own = inside ? to.gradient[label] * share - to.scale * (off + smoothing.keep) : 0.0F;
  const Vec shares = splat(share), lesses = splat(less);
  map(
      classes, to.gradient, [=](Vec e) HWY_ATTR { return hn::MulSub(e, shares, lesses); }, to.gradient);
  if (inside) to.gradient[label] = own;
}

/// Whether `at` is the class of the first largest logit; `most` is the largest logit.
HWY_INLINE bool row_hits(const float* logits, int64_t classes, float most, int64_t at) {
  return at >= 0 && at < classes && logits[at] == most && !holds(logits, at, most);
}

HWY_INLINE void cross_entropy_row(const float* logits, int64_t row, int64_t classes, const LossTargets& targets,
                                  const LossOutputs& outputs) {
  const float* z = logits + row * classes;
  const float* dense = targets.dense == nullptr ? nullptr : targets.dense + row * classes;
  const float most = largest_of(z, classes);
  if (outputs.hit != nullptr) {
    const int64_t at =
        dense == nullptr ? targets.labels[row] : first_largest_of(dense, classes, largest_of(dense, classes));
    outputs.hit[row] = row_hits(z, classes, most, at) ? 1 : 0;
  }
  const RowOutputs to{.loss = outputs.loss == nullptr ? nullptr : outputs.loss + row,
                      .gradient = outputs.gradient == nullptr ? nullptr : outputs.gradient + row * classes,
                      .scale = outputs.gradient_scale};
  const Smoothing smoothing(targets.label_smoothing, classes);
  if (dense == nullptr)
    cross_entropy_row(z, classes, most, targets.labels[row], smoothing, to);
  else
    cross_entropy_row(z, classes, most, DenseTarget(dense, smoothing), to);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
