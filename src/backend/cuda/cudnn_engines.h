#pragma once

// Which of cuDNN's engines computes a graph. The heuristics list candidates, best first, mode A and then FALLBACK;
// taken is the first that keeps the promises of ConvOptions (determinism, no TF32, workspace) and makes a plan. Every
// rejection is kept with its reason for the message of the case that none is left. Several threads at once, each with
// its own query.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/cudnn_graph.h"

namespace dptrain::backend::cuda {

/// An engine with its settings, in words that find it again: "eng57 k13=2 k24=0".
struct EngineName {
  std::int64_t engine = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> knobs;  ///< kind and value, in order of kind

  std::string text() const;
};

struct EnginePlan {
  std::shared_ptr<const ConvGraph> graph;  ///< what it computes
  EngineName name;
  std::string rank;               ///< place in the heuristics' list: "A0", "F3"
  bool runtime_compiled = false;  ///< by NVRTC, half a second each at the start
  std::uint64_t workspace = 0;    ///< bytes
  CudnnDescriptor config;         ///< empty where the plan was taken from an equal GPU
  std::string taken;              ///< of such a plan cuDNN's text; else empty
  CudnnDescriptor plan;           ///< empty where it needs a driver and there is none (DeviceProperties::deviceless)
};

/// Why engines were not taken: reason -> engines.
class Rejections {
 public:
  void add(const std::string& reason, const std::string& engine) { engines_[reason].push_back(engine); }
  /// "needs tensor cores, and tf32 is off: A0 eng57, A1 eng30; ..."
  std::string text() const;

 private:
  std::map<std::string, std::vector<std::string>> engines_;
};

struct EngineQuery {
  DType type = DType::kF32;
  gpu::ConvOptions options;
  ConvPass pass = ConvPass::kForward;
  bool uneven_padding = false;  ///< ConvProblem::uneven_padding()
  std::size_t wanted = 1;       ///< stop after so many plans; FALLBACK is asked only while there are fewer
  std::string only{};           ///< if not empty, the one engine of this EngineName::text()
};

/// Plans in the heuristics' order; empty if no engine is left.
std::vector<EnginePlan> find_engines(std::shared_ptr<const ConvGraph> graph, const DeviceProperties& device,
                                     const EngineQuery& query, Rejections& rejections);

}  // namespace dptrain::backend::cuda
