// Winograd's transforms of one line, one channel per lane. With the element-wise product o (first equation: Lavin and
// Gray, "Fast algorithms for convolutional neural networks", 2015; the others are its transposes):
//   output             Y  = A' [ (G g G') o (B' d B) ] A       d: (m + r - 1)^2 inputs, g: r^2 weights, Y: m^2 outputs
//   gradient of input  dd = B  [ (G g G') o (A dY A') ] B'     overlapping tiles are added
//   gradient of g      dg = G' [ sum over tiles (B' d B) o (A dY A') ] G
//
// Interpolation points: 0, 1, -1, 2 and infinity; six points add -2; eight points add -2, 1/2 and -1/2.

#if defined(DPTRAIN_KERNELS_CPU_WINOGRAD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_WINOGRAD_MATH_INL_H
#undef DPTRAIN_KERNELS_CPU_WINOGRAD_MATH_INL_H
#else
#define DPTRAIN_KERNELS_CPU_WINOGRAD_MATH_INL_H
#endif

#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// B' and B for six points: the same for every m and r with m + r = 7.
struct SixPoints {
  static constexpr int kPoints = 6;
  // [4, 0, -5, 0, 1, 0] [0, -4, -4, 1, 1, 0] [0, 4, -4, -1, 1, 0]
  // [0, -2, -1, 2, 1, 0] [0, 2, -1, -2, 1, 0] [0, 4, 0, -5, 0, 1]
  static HWY_INLINE void bt(const Vec* d, Vec* v) {
    const Vec four = splat(4), two = splat(2);
    const Vec p = hn::NegMulAdd(four, d[2], d[4]), q = hn::NegMulAdd(four, d[1], d[3]);
    const Vec r = hn::Sub(d[4], d[2]), t = hn::Sub(d[3], d[1]);
    v[0] = hn::MulAdd(four, hn::Sub(d[0], d[2]), r);
    v[1] = hn::Add(p, q);
    v[2] = hn::Sub(p, q);
    v[3] = hn::MulAdd(two, t, r);
    v[4] = hn::NegMulAdd(two, t, r);
    v[5] = hn::NegMulAdd(four, t, hn::Sub(d[5], d[3]));
  }
  static HWY_INLINE void b(const Vec* v, Vec* d) {
    const Vec four = splat(4), five = splat(5);
    const Vec s = hn::Add(v[1], v[2]), f = hn::Sub(v[1], v[2]), s2 = hn::Add(v[3], v[4]), f2 = hn::Sub(v[3], v[4]);
    const Vec t = hn::Add(f2, f2);
    d[0] = hn::Mul(four, v[0]);
    d[1] = hn::MulSub(four, hn::Sub(v[5], f), t);
    d[2] = hn::NegMulAdd(five, v[0], hn::NegMulAdd(four, s, hn::Neg(s2)));
    d[3] = hn::NegMulAdd(five, v[5], hn::Add(f, t));
    d[4] = hn::Add(v[0], hn::Add(s, s2));
    d[5] = v[5];
  }
};

struct F4x3 : SixPoints {
  static constexpr int kTile = 4, kKernel = 3;
  // A: powers 0 to 3 of 0, 1, -1, 2, -2, and infinity
  static HWY_INLINE void at(const Vec* v, Vec* y) {
    const Vec s = hn::Add(v[1], v[2]), f = hn::Sub(v[1], v[2]), s2 = hn::Add(v[3], v[4]), f2 = hn::Sub(v[3], v[4]);
    y[0] = hn::Add(v[0], hn::Add(s, s2));
    y[1] = hn::MulAdd(splat(2), f2, f);
    y[2] = hn::MulAdd(splat(4), s2, s);
    y[3] = hn::MulAdd(splat(8), f2, hn::Add(f, v[5]));
  }
  static HWY_INLINE void a(const Vec* y, Vec* v) {
    const Vec e = hn::Add(y[0], y[2]), o = hn::Add(y[1], y[3]);
    const Vec e2 = hn::MulAdd(splat(4), y[2], y[0]), o2 = hn::MulAdd(splat(8), y[3], hn::Add(y[1], y[1]));
    v[0] = y[0];
    v[1] = hn::Add(e, o);
    v[2] = hn::Sub(e, o);
    v[3] = hn::Add(e2, o2);
    v[4] = hn::Sub(e2, o2);
    v[5] = y[3];
  }
  // G: powers 0 to 2, rows times 1/4, -1/6, -1/6, 1/24, 1/24, 1
  static HWY_INLINE void g(const Vec* g, Vec* u) {
    const Vec sixth = splat(1.F / 6);
    const Vec e = hn::Mul(splat(-1.F / 6), hn::Add(g[0], g[2])), o = hn::Mul(sixth, g[1]);
    const Vec e2 = hn::MulAdd(splat(1.F / 24), g[0], hn::Mul(sixth, g[2])), o2 = hn::Mul(splat(1.F / 12), g[1]);
    u[0] = hn::Mul(splat(0.25F), g[0]);
    u[1] = hn::Sub(e, o);
    u[2] = hn::Add(e, o);
    u[3] = hn::Add(e2, o2);
    u[4] = hn::Sub(e2, o2);
    u[5] = g[2];
  }
  static HWY_INLINE void gt(const Vec* u, Vec* g) {
    const Vec sixth = splat(1.F / 6);
    const Vec s = hn::Mul(splat(-1.F / 6), hn::Add(u[1], u[2])), f = hn::Mul(sixth, hn::Sub(u[2], u[1]));
    const Vec s2 = hn::Add(u[3], u[4]), f2 = hn::Sub(u[3], u[4]);
    g[0] = hn::MulAdd(splat(0.25F), u[0], hn::MulAdd(splat(1.F / 24), s2, s));
    g[1] = hn::MulAdd(splat(1.F / 12), f2, f);
    g[2] = hn::Add(hn::MulAdd(sixth, s2, s), u[5]);
  }
};

struct F2x5 : SixPoints {
  static constexpr int kTile = 2, kKernel = 5;
  static HWY_INLINE void at(const Vec* v, Vec* y) {
    const Vec s = hn::Add(v[1], v[2]), f = hn::Sub(v[1], v[2]), s2 = hn::Add(v[3], v[4]), f2 = hn::Sub(v[3], v[4]);
    y[0] = hn::Add(v[0], hn::Add(s, s2));
    y[1] = hn::MulAdd(splat(2), f2, hn::Add(f, v[5]));
  }
  static HWY_INLINE void a(const Vec* y, Vec* v) {
    const Vec o2 = hn::Add(y[1], y[1]);
    v[0] = y[0];
    v[1] = hn::Add(y[0], y[1]);
    v[2] = hn::Sub(y[0], y[1]);
    v[3] = hn::Add(y[0], o2);
    v[4] = hn::Sub(y[0], o2);
    v[5] = y[1];
  }
  // G: powers 0 to 4, rows scaled as those of F(4x4,3x3)
  static HWY_INLINE void g(const Vec* g, Vec* u) {
    const Vec sixth = splat(1.F / 6), quarter = splat(0.25F);
    const Vec e = hn::Mul(splat(-1.F / 6), hn::Add(hn::Add(g[0], g[2]), g[4])), o = hn::Mul(sixth, hn::Add(g[1], g[3]));
    // (g0 + 4 g2 + 16 g4) / 24 and (2 g1 + 8 g3) / 24
    const Vec e2 = hn::Mul(sixth, hn::MulAdd(quarter, g[0], hn::MulAdd(splat(4), g[4], g[2])));
    const Vec o2 = hn::Mul(splat(1.F / 3), hn::MulAdd(quarter, g[1], g[3]));
    u[0] = hn::Mul(quarter, g[0]);
    u[1] = hn::Sub(e, o);
    u[2] = hn::Add(e, o);
    u[3] = hn::Add(e2, o2);
    u[4] = hn::Sub(e2, o2);
    u[5] = g[4];
  }
  static HWY_INLINE void gt(const Vec* u, Vec* g) {
    const Vec s = hn::Mul(splat(-1.F / 6), hn::Add(u[1], u[2])), f = hn::Mul(splat(1.F / 6), hn::Sub(u[2], u[1]));
    const Vec s2 = hn::Add(u[3], u[4]), f2 = hn::Sub(u[3], u[4]);
    g[0] = hn::MulAdd(splat(0.25F), u[0], hn::MulAdd(splat(1.F / 24), s2, s));
    g[1] = hn::MulAdd(splat(1.F / 12), f2, f);
    g[2] = hn::MulAdd(splat(1.F / 6), s2, s);
    g[3] = hn::MulAdd(splat(1.F / 3), f2, f);
    g[4] = hn::Add(hn::MulAdd(splat(2.F / 3), s2, s), u[5]);
  }
};

/// B' and B for eight points: the same for every m and r with m + r = 9.
struct EightPoints {
  static constexpr int kPoints = 8;
  // [1, 0, -21/4, 0, 21/4, 0, -1, 0] [0, 1, 1, -17/4, -17/4, 1, 1, 0] [0, -1, 1, 17/4, -17/4, -1, 1, 0]
  // [0, 1/2, 1/4, -5/2, -5/4, 2, 1, 0] [0, -1/2, 1/4, 5/2, -5/4, -2, 1, 0]
  // [0, 2, 4, -5/2, -5, 1/2, 1, 0] [0, -2, 4, 5/2, -5, -1/2, 1, 0] [0, -1, 0, 21/4, 0, -21/4, 0, 1]
  static HWY_INLINE void bt(const Vec* d, Vec* v) {
    const Vec four = splat(4), five = splat(5), quarter = splat(0.25F);
    const Vec c17 = splat(17.F / 4), c21 = splat(21.F / 4), c5 = splat(5.F / 4);
    const Vec e = hn::NegMulAdd(c17, d[4], hn::Add(d[2], d[6])), o = hn::NegMulAdd(c17, d[3], hn::Add(d[1], d[5]));
    const Vec e2 = hn::NegMulAdd(c5, d[4], hn::MulAdd(quarter, d[2], d[6]));
    const Vec o2 = hn::NegMulAdd(c5, d[3], hn::MulAdd(quarter, d[1], d[5]));
    const Vec e3 = hn::NegMulAdd(five, d[4], hn::MulAdd(four, d[2], d[6]));
    const Vec o3 = hn::NegMulAdd(five, d[3], hn::MulAdd(four, d[1], d[5]));
    put_points(e, o, e2, o2, e3, o3, v);
    v[0] = hn::MulAdd(c21, hn::Sub(d[4], d[2]), hn::Sub(d[0], d[6]));
    v[7] = hn::MulAdd(c21, hn::Sub(d[3], d[5]), hn::Sub(d[7], d[1]));
  }
  static HWY_INLINE void b(const Vec* v, Vec* d) {
    const Vec two = splat(2), four = splat(4), five = splat(5), half = splat(0.5F), quarter = splat(0.25F);
    const Vec c17 = splat(17.F / 4), c21 = splat(21.F / 4), c5 = splat(5.F / 4), c10 = splat(5.F / 2);
    const auto [s, f, s2, f2, s3, f3] = pairs_of(v);
    d[0] = v[0];
    d[1] = hn::MulAdd(half, f2, hn::MulAdd(two, f3, hn::Sub(f, v[7])));
    d[2] = hn::MulAdd(quarter, s2, hn::MulAdd(four, s3, hn::NegMulAdd(c21, v[0], s)));
    d[3] = hn::NegMulAdd(c10, hn::Add(f2, f3), hn::NegMulAdd(c17, f, hn::Mul(c21, v[7])));
    d[4] = hn::NegMulAdd(c5, s2, hn::NegMulAdd(five, s3, hn::NegMulAdd(c17, s, hn::Mul(c21, v[0]))));
    d[5] = hn::MulAdd(two, f2, hn::MulAdd(half, f3, hn::NegMulAdd(c21, v[7], f)));
    d[6] = hn::Add(hn::Add(s2, s3), hn::Sub(s, v[0]));
    d[7] = v[7];
  }

 protected:
  /// v[1] to v[6] from the even and odd parts of polynomials at the points 1, 2 and 1/2 and their negatives.
  static HWY_INLINE void put_points(Vec e, Vec o, Vec e2, Vec o2, Vec e3, Vec o3, Vec* v) {
    v[1] = hn::Add(e, o);
    v[2] = hn::Sub(e, o);
    v[3] = hn::MulAdd(splat(2), o2, e2);
    v[4] = hn::NegMulAdd(splat(2), o2, e2);
    v[5] = hn::MulAdd(splat(0.5F), o3, e3);
    v[6] = hn::NegMulAdd(splat(0.5F), o3, e3);
  }
  /// As put_points, with the factors of G.
  static HWY_INLINE void put_filter_points(Vec e, Vec o, Vec e2, Vec o2, Vec e3, Vec o3, Vec* u) {
    const Vec c = splat(-2.F / 9), c2 = splat(1.F / 90), c3 = splat(32.F / 45);
    put_points(hn::Mul(c, e), hn::Mul(c, o), hn::Mul(c2, e2), hn::Mul(c2, o2), hn::Mul(c3, e3), hn::Mul(c3, o3), u);
  }
  /// Sums and differences of the values at a point and at its negative, v[1] to v[6].
  struct Pairs {
    Vec s, f, s2, f2, s3, f3;
  };
  static HWY_INLINE Pairs pairs_of(const Vec* v) {
    return {hn::Add(v[1], v[2]), hn::Sub(v[1], v[2]), hn::Add(v[3], v[4]),
            hn::Sub(v[3], v[4]), hn::Add(v[5], v[6]), hn::Sub(v[5], v[6])};
  }
  /// As pairs_of, with the factors of G.
  static HWY_INLINE Pairs filter_pairs_of(const Vec* u) {
    const Vec c = splat(-2.F / 9), c2 = splat(1.F / 90), c3 = splat(32.F / 45);
    const Pairs p = pairs_of(u);
    return {hn::Mul(c, p.s),   hn::Mul(c, p.f),   hn::Mul(c2, p.s2),
            hn::Mul(c2, p.f2), hn::Mul(c3, p.s3), hn::Mul(c3, p.f3)};
  }
};

struct F6x3 : EightPoints {
  static constexpr int kTile = 6, kKernel = 3;
  // A: powers 0 to 5 of 0, 1, -1, 2, -2, 1/2, -1/2, and infinity
  static HWY_INLINE void at(const Vec* v, Vec* y) {
    const auto [s, f, s2, f2, s3, f3] = pairs_of(v);
    y[0] = hn::Add(hn::Add(v[0], s), hn::Add(s2, s3));
    y[1] = hn::MulAdd(splat(2), f2, hn::MulAdd(splat(1.F / 2), f3, f));
    y[2] = hn::MulAdd(splat(4), s2, hn::MulAdd(splat(1.F / 4), s3, s));
    y[3] = hn::MulAdd(splat(8), f2, hn::MulAdd(splat(1.F / 8), f3, f));
    y[4] = hn::MulAdd(splat(16), s2, hn::MulAdd(splat(1.F / 16), s3, s));
    y[5] = hn::MulAdd(splat(32), f2, hn::MulAdd(splat(1.F / 32), f3, hn::Add(f, v[7])));
  }
  static HWY_INLINE void a(const Vec* y, Vec* v) {
    const auto even = [&](float p)
                          HWY_ATTR { return hn::MulAdd(splat(p * p), y[4], hn::MulAdd(splat(p), y[2], y[0])); };
    const auto odd = [&](float p) HWY_ATTR { return hn::MulAdd(splat(p * p), y[5], hn::MulAdd(splat(p), y[3], y[1])); };
    put_points(even(1), odd(1), even(4), odd(4), even(0.25F), odd(0.25F), v);
    v[0] = y[0];
    v[7] = y[5];
  }
  // G: powers 0 to 2, rows times 1, -2/9, -2/9, 1/90, 1/90, 32/45, 32/45, 1
  static HWY_INLINE void g(const Vec* g, Vec* u) {
    u[0] = g[0];
    put_filter_points(hn::Add(g[0], g[2]), g[1], hn::MulAdd(splat(4), g[2], g[0]), g[1],
                      hn::MulAdd(splat(0.25F), g[2], g[0]), g[1], u);
    u[7] = g[2];
  }
  static HWY_INLINE void gt(const Vec* u, Vec* g) {
    const auto [s, f, s2, f2, s3, f3] = filter_pairs_of(u);
    g[0] = hn::Add(u[0], hn::Add(s, hn::Add(s2, s3)));
    g[1] = hn::MulAdd(splat(2), f2, hn::MulAdd(splat(0.5F), f3, f));
    g[2] = hn::MulAdd(splat(4), s2, hn::MulAdd(splat(0.25F), s3, hn::Add(s, u[7])));
  }
};

struct F4x5 : EightPoints {
  static constexpr int kTile = 4, kKernel = 5;
  static HWY_INLINE void at(const Vec* v, Vec* y) {
    const auto [s, f, s2, f2, s3, f3] = pairs_of(v);
    y[0] = hn::Add(hn::Add(v[0], s), hn::Add(s2, s3));
    y[1] = hn::MulAdd(splat(2), f2, hn::MulAdd(splat(1.F / 2), f3, f));
    y[2] = hn::MulAdd(splat(4), s2, hn::MulAdd(splat(1.F / 4), s3, s));
    y[3] = hn::MulAdd(splat(8), f2, hn::MulAdd(splat(1.F / 8), f3, hn::Add(f, v[7])));
  }
  static HWY_INLINE void a(const Vec* y, Vec* v) {
    const auto even = [&](float p) HWY_ATTR { return hn::MulAdd(splat(p), y[2], y[0]); };
    const auto odd = [&](float p) HWY_ATTR { return hn::MulAdd(splat(p), y[3], y[1]); };
    put_points(even(1), odd(1), even(4), odd(4), even(0.25F), odd(0.25F), v);
    v[0] = y[0];
    v[7] = y[3];
  }
  // G: powers 0 to 4, rows scaled as those of F(6x6,3x3)
  static HWY_INLINE void g(const Vec* g, Vec* u) {
    const auto even = [&](float p)
                          HWY_ATTR { return hn::MulAdd(splat(p * p), g[4], hn::MulAdd(splat(p), g[2], g[0])); };
    const auto odd = [&](float p) HWY_ATTR { return hn::MulAdd(splat(p), g[3], g[1]); };
    u[0] = g[0];
    put_filter_points(even(1), odd(1), even(4), odd(4), even(0.25F), odd(0.25F), u);
    u[7] = g[4];
  }
  static HWY_INLINE void gt(const Vec* u, Vec* g) {
    const auto [s, f, s2, f2, s3, f3] = filter_pairs_of(u);
    g[0] = hn::Add(hn::Add(u[0], s), hn::Add(s2, s3));
    g[1] = hn::MulAdd(splat(2), f2, hn::MulAdd(splat(1.F / 2), f3, f));
    g[2] = hn::MulAdd(splat(4), s2, hn::MulAdd(splat(1.F / 4), s3, s));
    g[3] = hn::MulAdd(splat(8), f2, hn::MulAdd(splat(1.F / 8), f3, f));
    g[4] = hn::MulAdd(splat(16), s2, hn::MulAdd(splat(1.F / 16), s3, hn::Add(s, u[7])));
  }
};

struct F3x3 {
  static constexpr int kPoints = 5, kTile = 3, kKernel = 3;
  // [2, -1, -2, 1, 0] [0, -2, -1, 1, 0] [0, 2, -3, 1, 0] [0, -1, 0, 1, 0] [0, 2, -1, -2, 1]
  static HWY_INLINE void bt(const Vec* d, Vec* v) {
    const Vec two = splat(2), t = hn::Sub(d[3], d[1]);
    v[0] = hn::MulAdd(two, hn::Sub(d[0], d[2]), t);
    v[1] = hn::Sub(hn::NegMulAdd(two, d[1], d[3]), d[2]);
    v[2] = hn::MulAdd(two, d[1], hn::NegMulAdd(splat(3), d[2], d[3]));
    v[3] = t;
    v[4] = hn::NegMulAdd(two, t, hn::Sub(d[4], d[2]));
  }
  static HWY_INLINE void b(const Vec* v, Vec* d) {
    const Vec two = splat(2), f = hn::Sub(v[2], v[1]);
    d[0] = hn::Add(v[0], v[0]);
    d[1] = hn::MulSub(two, hn::Add(f, v[4]), hn::Add(v[0], v[3]));
    d[2] = hn::NegMulAdd(two, v[0], hn::NegMulAdd(splat(3), v[2], hn::Neg(hn::Add(v[1], v[4]))));
    d[3] = hn::NegMulAdd(two, v[4], hn::Add(hn::Add(v[0], v[3]), hn::Add(v[1], v[2])));
    d[4] = v[4];
  }
  static HWY_INLINE void at(const Vec* v, Vec* y) {
    const Vec s = hn::Add(v[1], v[2]), f = hn::Sub(v[1], v[2]);
    y[0] = hn::Add(hn::Add(v[0], s), v[3]);
    y[1] = hn::MulAdd(splat(2), v[3], f);
    y[2] = hn::Add(hn::MulAdd(splat(4), v[3], s), v[4]);
  }
  static HWY_INLINE void a(const Vec* y, Vec* v) {
    const Vec e = hn::Add(y[0], y[2]);
    v[0] = y[0];
    v[1] = hn::Add(e, y[1]);
    v[2] = hn::Sub(e, y[1]);
    v[3] = hn::MulAdd(splat(4), y[2], hn::MulAdd(splat(2), y[1], y[0]));
    v[4] = y[2];
  }
  // G: powers 0 to 2, rows times 1/2, -1/2, -1/6, 1/6, 1
  static HWY_INLINE void g(const Vec* g, Vec* u) {
    const Vec e = hn::Add(g[0], g[2]);
    u[0] = hn::Mul(splat(0.5F), g[0]);
    u[1] = hn::Mul(splat(-0.5F), hn::Add(e, g[1]));
    u[2] = hn::Mul(splat(-1.F / 6), hn::Sub(e, g[1]));
    u[3] = hn::Mul(splat(1.F / 6), hn::MulAdd(splat(4), g[2], hn::MulAdd(splat(2), g[1], g[0])));
    u[4] = g[2];
  }
  static HWY_INLINE void gt(const Vec* u, Vec* g) {
    const Vec p = hn::Mul(splat(-0.5F), u[1]), q = hn::Mul(splat(-1.F / 6), u[2]), r = hn::Mul(splat(1.F / 6), u[3]);
    const Vec s = hn::Add(p, q);
    g[0] = hn::Add(hn::MulAdd(splat(0.5F), u[0], s), r);
    g[1] = hn::MulAdd(splat(2), r, hn::Sub(p, q));
    g[2] = hn::Add(hn::MulAdd(splat(4), r, s), u[4]);
  }
};

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
