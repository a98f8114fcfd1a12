#include "data/transforms/beta.h"

#include <cmath>

namespace dptrain::data {
namespace {

/// In (0, 1), 32 bits.
double open_uniform(RandomStream& stream) { return (stream.next_u32() + 0.5) * 0x1p-32; }

/// The logarithm of a draw from Gamma(alpha).
double draw_log_gamma(RandomStream& stream, double alpha) {
  if (alpha < 1) {  // Gamma(alpha + 1) times a uniform's root
    const double larger = draw_log_gamma(stream, alpha + 1);
    return larger + std::log(open_uniform(stream)) / alpha;
  }
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = stream.normal(), root = 1 + c * x;
    const double u = open_uniform(stream);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < x * x / 2 + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

}  // namespace

double draw_beta(RandomStream& stream, double alpha) {
  const double x = draw_log_gamma(stream, alpha), y = draw_log_gamma(stream, alpha);
  return 1 / (1 + std::exp(y - x));
}

}  // namespace dptrain::data
