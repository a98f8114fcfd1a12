#pragma once

// Checks that every convolution of a model has an engine on a GPU, which need not be present. Any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/gpu/convolution.h"

namespace dptrain::backend::cuda {

struct PlanCase {
  std::string where;  ///< the layer's name in the output
  gpu::ConvProblem problem;
  gpu::ConvPasses passes;
};

struct PlanLine {
  std::string where, pass, problem;
  std::string engine;  ///< "eng57 k13=2 (A0, 12.0 MiB)", or empty
  std::string error;   ///< why there is none
  std::uint64_t workspace = 0;
  bool runtime_compiled = false;
  bool finished = false;    ///< taken from an equal GPU as a finished plan, not by the engine's name
  bool bias_apart = false;  ///< a step of its own after the convolution, as the ReLU always is
};

struct PlanCheck {
  std::vector<PlanLine> lines;
  int convolutions = 0;  ///< different ones
  int missing = 0;       ///< passes without an engine
  int runtime_compiled = 0;
  int apart = 0;  ///< forward passes whose bias is a step of its own
  std::uint64_t largest_workspace = 0;
  int taken = 0;      ///< plans that replicas took from one another, over all replicas
  int finished = 0;   ///< of these, as finished plans
  int different = 0;  ///< lines that differ on another replica
  double seconds = 0;
};

/// How the plans are made.
struct PlanCrew {
  int threads = 1;   ///< total of all replicas
  int replicas = 1;  ///< on equal GPUs, which share engines
};

/// Cases with equal problems are planned once, under the name of the first, with all passes that any of them has.
PlanCheck check_plans(const std::vector<PlanCase>& cases, std::string_view device_json, const gpu::ConvOptions& options,
                      const PlanCrew& crew = {});

}  // namespace dptrain::backend::cuda
