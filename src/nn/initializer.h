#pragma once

// Initializers: specs only (Keras names, defaults and fans); drawing the numbers is graph/initialize.cpp. One closed
// family, built at first use.

#include "config/family.h"

namespace dptrain::nn {

config::Family& initializer_family();
using Initializer = config::Of<initializer_family>;

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
struct TruncatedNormal {
  double mean = 0, stddev = 0.05;
};
enum class FanMode { kFanIn, kFanOut, kFanAvg };
enum class Distribution { kTruncatedNormal, kUntruncatedNormal, kUniform };
struct VarianceScaling {
  double scale = 1;
  FanMode mode = FanMode::kFanIn;
  Distribution distribution = Distribution::kTruncatedNormal;
};
struct GlorotUniform {};
struct GlorotNormal {};
struct HeUniform {};
struct HeNormal {};
struct LecunUniform {};
struct LecunNormal {};
struct Orthogonal {
  double gain = 1;
};

}  // namespace dptrain::nn
