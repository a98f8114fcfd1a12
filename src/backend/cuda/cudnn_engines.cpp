#include "backend/cuda/cudnn_engines.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::backend::cuda {
namespace {

bool is_strict(const EngineQuery& query) { return product_type(query.type, query.options) == ProductType::kStrict; }

// Found by tests/cuda/engine_survey_test.cpp on an H100 with cuDNN 9.14.
constexpr std::array<KnownFault, 2> kKnownFaults{{
    {.engine = 1, .only_uneven = true, .seen = 91400, .reason = "wrong where padding is uneven"},
    // Error 5e-4 of the gradient's norm; other float32 engines: 1e-6.
    {.engine = 17, .only_strict = true, .seen = 91400, .reason = "loses digits"},
}};

// No engine for dense layers was measured yet.
constexpr std::array<PreferredEngine, 0> kPreferredEngines{};

// More than cuDNN 9 defines of either.
constexpr std::size_t kManyNotes = 32, kManyKnobs = 64;

/// An engine that the heuristics propose and the device supports.
struct Candidate {
  EnginePlan plan;
  std::vector<cudnnBackendNumericalNote_t> notes;

  std::string label() const { return plan.rank + " eng" + std::to_string(plan.name.engine); }
};

Candidate read_candidate(CudnnDescriptor config, std::string rank) {
  Candidate candidate;
  candidate.plan.rank = std::move(rank);
  const std::vector<CudnnDescriptor> engines =
      config.get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engines.size() != 1) throw Error(ErrorKind::kDevice, "cuDNN returned an engine configuration without its engine");
  candidate.plan.name.engine = engines.front().get_int64(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  candidate.notes = engines.front().get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, kManyNotes);
  for (const auto note :
       engines.front().get_all<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, kManyNotes))
    candidate.plan.runtime_compiled |= note == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
  for (const CudnnDescriptor& knob :
       config.get_descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, kManyKnobs))
    for (const auto kind : knob.get_all<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, 1))
      candidate.plan.name.knobs.emplace_back(kind, knob.get_int64(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  std::ranges::sort(candidate.plan.name.knobs);
  candidate.plan.config = std::move(config);
  return candidate;
}

std::vector<Candidate> list_candidates(const CudnnGraph& graph, const DeviceProperties& device,
                                       cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode)
      .set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device.descriptor())
      .finalize();
  std::vector<Candidate> candidates;
  constexpr auto kResults = CUDNN_ATTR_ENGINEHEUR_RESULTS;
  const std::size_t count = heuristics.count(kResults, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  for (CudnnDescriptor& config : heuristics.get_descriptors(kResults, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count))
    candidates.push_back(read_candidate(
        std::move(config), fmt::format("{}{}", mode == CUDNN_HEUR_MODE_FALLBACK ? 'F' : 'A', candidates.size())));
  return candidates;
}

/// Empty if cuDNN refuses to list any; the reason is recorded.
std::vector<Candidate> propose(const CudnnGraph& graph, const DeviceProperties& device, cudnnBackendHeurMode_t mode,
                               Rejections& rejections) {
  try {
    return list_candidates(graph, device, mode);
  } catch (const Error& error) {
    rejections.add(error.what(), mode == CUDNN_HEUR_MODE_A ? "mode A" : "mode FALLBACK");
    return {};
  }
}

/// The requirement that an engine with this note violates, or "".
std::string rejection_reason(cudnnBackendNumericalNote_t note, const EngineQuery& query) {
  const bool strict = is_strict(query);
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC: return query.options.deterministic ? "not deterministic" : "";
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return strict ? "rounds to TF32, which is off" : "";
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS: return strict ? "rounds its inputs, and TF32 is off" : "";
    // Sums in 16 bits and transforms that lose precision are unsuitable for training.
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: return "sums in 16 bits";
    case CUDNN_NUMERICAL_NOTE_FFT: return "by FFT";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: return "by Winograd";
    default: return "";
  }
}

/// Makes the plan and reads its workspace; only the workspace if the engine needs a compiler and the GPU is deviceless.
void make_plan(EnginePlan& chosen, const DeviceProperties& device) {
  if (chosen.runtime_compiled && device.deviceless()) {
    chosen.workspace = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, chosen.config.get_int64(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE)));
    return;
  }
  chosen.plan = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  chosen.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, chosen.config)
      .set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device.descriptor())
      .finalize();
  chosen.workspace = static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, chosen.plan.get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)));
}

/// Makes the plan of the candidate. Returns false if it is rejected, and records the reason.
bool accept(Candidate& candidate, const DeviceProperties& device, const EngineQuery& query, Rejections& rejections) {
  if (!query.only.empty() && candidate.plan.name.text() != query.only) return false;
  std::string why(find_fault(kKnownFaults, candidate.plan.name.engine, query, cudnn().get_version()));
  for (const auto note : candidate.notes)
    if (why.empty()) why = rejection_reason(note, query);
  if (!why.empty()) {
    rejections.add(why, candidate.label());
    return false;
  }
  try {
    make_plan(candidate.plan, device);
  } catch (const Error& error) {
    rejections.add(error.what(), candidate.label());
    return false;
  }
  if (candidate.plan.workspace > query.options.workspace_limit) {
    rejections.add(fmt::format("workspace over {}", human_bytes(query.options.workspace_limit)),
                   fmt::format("{} ({})", candidate.label(), human_bytes(candidate.plan.workspace)));
    return false;
  }
  return true;
}

}  // namespace

std::span<const KnownFault> known_faults() noexcept { return kKnownFaults; }

std::string_view find_fault(std::span<const KnownFault> faults, std::int64_t engine, const EngineQuery& query,
                            std::size_t version) {
  const auto found = std::ranges::find_if(faults, [&](const KnownFault& fault) {
    return fault.engine == engine && fault.pass == query.pass && (!fault.only_uneven || query.uneven_padding) &&
           (!fault.only_strict || is_strict(query)) && (fault.fixed == 0 || version < fault.fixed);
  });
  return found == faults.end() ? std::string_view() : found->reason;
}

std::string EngineName::text() const {
  std::string words = "eng" + std::to_string(engine);
  for (const auto& [kind, value] : knobs) words += fmt::format(" k{}={}", kind, value);
  return words;
}

std::string Rejections::text() const {
  std::vector<std::string> reasons;
  for (const auto& [reason, engines] : engines_) reasons.push_back(reason + ": " + join(engines, ", "));
  return reasons.empty() ? "the heuristics name none" : join(reasons, "; ");
}

ProductType product_type(DType type, const gpu::ConvOptions& options) noexcept {
  if (type != DType::kF32) return ProductType::k16Bits;
  return options.tf32 ? ProductType::kTf32 : ProductType::kStrict;
}

std::span<const PreferredEngine> preferred_engines() noexcept { return kPreferredEngines; }

std::optional<std::int64_t> find_preferred(std::span<const PreferredEngine> table, const gpu::ConvProblem& problem,
                                           ConvPass pass, const gpu::ConvOptions& options, int architecture,
                                           std::size_t version) {
  if (!problem.is_dense()) return std::nullopt;
  const ProductType products = product_type(problem.type, options);
  const auto found = std::ranges::find_if(table, [&](const PreferredEngine& row) {
    return row.pass == pass && row.products == products && row.architecture == architecture &&
           row.first_version <= version && version <= row.last_version;
  });
  return found == table.end() ? std::nullopt : std::optional(found->engine);
}

std::vector<EnginePlan> find_engines(std::shared_ptr<const CudnnGraph> graph, const DeviceProperties& device,
                                     const EngineQuery& query, Rejections& rejections) {
  std::vector<EnginePlan> plans;
  const auto add = [&](std::vector<Candidate> candidates) {
    for (Candidate& candidate : candidates) {
      if (plans.size() == query.wanted) break;
      const bool named_before = std::ranges::any_of(
          plans, [&](const EnginePlan& plan) { return plan.name.text() == candidate.plan.name.text(); });
      if (named_before || !accept(candidate, device, query, rejections)) continue;
      candidate.plan.graph = graph;
      plans.push_back(std::move(candidate.plan));
    }
  };
  std::vector<Candidate> first = propose(*graph, device, CUDNN_HEUR_MODE_A, rejections);
  if (query.preferred && query.only.empty()) {
    const auto is_preferred = [&](const Candidate& one) { return one.plan.name.engine == *query.preferred; };
    std::ranges::move(propose(*graph, device, CUDNN_HEUR_MODE_FALLBACK, rejections), std::back_inserter(first));
    std::ranges::stable_partition(first, is_preferred);
    add(std::move(first));
    return plans;
  }
  add(std::move(first));
  if (plans.size() < query.wanted) add(propose(*graph, device, CUDNN_HEUR_MODE_FALLBACK, rejections));
  return plans;
}

}  // namespace dptrain::backend::cuda
