#pragma once

// Chooses cuDNN's engine for a graph. The heuristics list candidates, best first, in mode A and then FALLBACK. The
// first one is chosen that satisfies ConvOptions (determinism, no TF32, workspace) and can be planned. For dense layers
// an engine that was measured as faster comes first (preferred_engines()). Rejections are recorded for the error
// message. Several threads may call at once, each with its own query.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/cuda/cudnn_graph.h"

namespace dptrain::backend::cuda {

/// An engine and its settings; text() identifies them: "eng57 k13=2 k24=0".
struct EngineName {
  std::int64_t engine = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> knobs;  ///< kind and value, ordered by kind

  std::string text() const;
};

struct EnginePlan {
  std::shared_ptr<const CudnnGraph> graph;  ///< the graph that the engine computes
  EngineName name;
  std::string rank;               ///< position in the heuristics' list: "A0", "F3"
  bool runtime_compiled = false;  ///< compiled by NVRTC in half a second
  std::uint64_t workspace = 0;    ///< in bytes
  CudnnDescriptor config;         ///< empty if the plan is recreated from cuDNN's text
  std::string taken;              ///< cuDNN's text of a plan of an equal GPU; may be empty
  CudnnDescriptor plan;           ///< empty if it needs a driver and there is none (DeviceProperties::deviceless)
};

/// Engines that were rejected, by reason.
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
  bool uneven_padding = false;              ///< ConvProblem::uneven_padding()
  std::size_t wanted = 1;                   ///< stop after this many plans; FALLBACK is queried only if there are fewer
  std::string only{};                       ///< if not empty, accept only the engine with this EngineName::text()
  std::optional<std::int64_t> preferred{};  ///< this engine, wherever it is listed, before all others
};

/// A fault of an engine that no note of cuDNN mentions.
struct KnownFault {
  std::int64_t engine = 0;
  ConvPass pass = ConvPass::kWeights;
  bool only_uneven = false;  ///< only problems with uneven padding
  bool only_strict = false;  ///< only float32 without TF32
  std::size_t seen = 0;      ///< cudnnGetVersion() of the library that has it; other versions were not examined
  std::size_t fixed = 0;     ///< first version that was found right; 0: none, every version counts as faulty
  std::string_view reason;
};
std::span<const KnownFault> known_faults() noexcept;

/// The reason to reject the engine with this version of cuDNN, or "".
std::string_view find_fault(std::span<const KnownFault> faults, std::int64_t engine, const EngineQuery& query,
                            std::size_t version);

/// The type to which a dense layer rounds its products. It decides which engines are suitable.
enum class ProductType { kStrict, kTf32, k16Bits };
ProductType product_type(DType type, const gpu::ConvOptions& options) noexcept;

/// The engine for dense layers that was measured as the fastest on GPUs of an architecture.
struct PreferredEngine {
  ConvPass pass = ConvPass::kForward;
  ProductType products = ProductType::kStrict;
  int architecture = 0;  ///< DeviceProperties::architecture()
  // Versions of cuDNN to which the measurement applies, as cudnnGetVersion() returns them.
  std::size_t first_version = 0, last_version = 0;
  std::int64_t engine = 0;
};

/// Written from the output of `check.sh performance --only mlp,engines` (docs/reference/gpus.md).
std::span<const PreferredEngine> preferred_engines() noexcept;

/// The engine that the table prefers for the pass; nullopt for convolutions of more than one pixel.
std::optional<std::int64_t> find_preferred(std::span<const PreferredEngine> table, const gpu::ConvProblem& problem,
                                           ConvPass pass, const gpu::ConvOptions& options, int architecture,
                                           std::size_t version);

/// Plans of the preferred engine, then in the heuristics' order; empty if no engine is left.
std::vector<EnginePlan> find_engines(std::shared_ptr<const CudnnGraph> graph, const DeviceProperties& device,
                                     const EngineQuery& query, Rejections& rejections);

}  // namespace dptrain::backend::cuda
