#pragma once

// Initializers with Keras's names, defaults and fans, and regularizers of weights. The distributions are Keras's; the
// random streams are our own. The families are built at first use and read-only afterwards: any thread may read them.

#include <span>

#include "core/random.h"
#include "core/shape.h"
#include "nn/layer_signature.h"

namespace dptrain::nn {

/// Fills the values of a weight of this shape, with zeros if there is no initializer.
void fill(const Initializer& initializer, const Shape& shape, RandomStream& stream, std::span<float> values);

struct Zeros {};
struct Ones {};
struct Constant {
  double value = 0;
};
struct RandomNormal {
  double mean = 0, stddev = 0.05;
};
struct RandomUniform {
  double minval = -0.05, maxval = 0.05;
};
/// Redraws numbers farther than 2 stddev from the mean.
struct TruncatedNormal {
  double mean = 0, stddev = 0.05;
};
enum class FanMode { kFanIn, kFanOut, kFanAvg };
enum class Distribution { kTruncatedNormal, kUntruncatedNormal, kUniform };
/// Numbers of variance scale / n; n is fan-in, fan-out or their mean, as `mode` selects.
struct VarianceScaling {
  double scale = 1;
  FanMode mode = FanMode::kFanIn;
  Distribution distribution = Distribution::kTruncatedNormal;
};
// Special cases of VarianceScaling.
struct GlorotUniform {};
struct GlorotNormal {};
struct HeUniform {};
struct HeNormal {};
struct LecunUniform {};
struct LecunNormal {};
struct Orthogonal {
  double gain = 1;
};

// Regularizers: penalty = l1 * sum |w| + l2 * sum w^2, without a factor of one half. It is added to the loss once, for
// any number of replicas.

struct L1Spec : Penalty {
  L1Spec() { l1 = 0.01; }
};
struct L2Spec : Penalty {
  L2Spec() { l2 = 0.01; }
};
struct L1L2Spec : Penalty {};

/// Zero penalty for an absent regularizer.
Penalty penalty(const Regularizer& regularizer);

}  // namespace dptrain::nn
