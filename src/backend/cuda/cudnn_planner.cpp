#include "backend/cuda/cudnn_planner.h"

#include <utility>

#include "backend/cuda/cudnn_attention.h"
#include "backend/cuda/engine_share.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::cuda {
namespace {

constexpr std::size_t kTried = 32;

/// Fusions to try, largest first.
std::vector<FusedOps> fusions(const gpu::ConvProblem& problem, ConvPass pass) {
  if (pass != ConvPass::kForward || !problem.bias) return {{}};
  return {{.bias = true}, {}};
}

std::shared_ptr<const SharedEngine> share_plan(const CudnnPlanner::SharedPlan& plan, bool with_text) {
  return shared_engine(*plan, with_text);
}

std::string where(const gpu::ConvProblem& problem, ConvPass pass) {
  return fmt::format("{} pass of the convolution {}", name_of(pass), describe(problem));
}

}  // namespace

CudnnPlanner::CudnnPlanner(DeviceProperties device, const gpu::ConvOptions& options, std::unique_ptr<CudnnTuner> tuner,
                           std::shared_ptr<EngineShare> share, std::span<const PreferredEngine> preferred)
    : device_(std::make_shared<const DeviceProperties>(std::move(device))),
      options_(options),
      tuner_(std::move(tuner)),
      preferred_(preferred),
      plans_(std::move(share)) {}

std::shared_future<CudnnPlanner::SharedPlan> CudnnPlanner::begin(const gpu::ConvProblem& problem, ConvPass pass) {
  const bool bias = pass == ConvPass::kForward && problem.bias;
  const std::string words =
      plan_cache_key(problem, pass, {.bias = bias}, options_) + (tuner_ && options_.autotune ? " measured" : "");
  const auto make = [&] { return SharedPlan(std::make_shared<const EnginePlan>(choose(problem, pass))); };
  const auto take = [problem, pass, device = device_, query = query_of(problem, pass),
                     taken = taken_](const SharedEngine& engine) -> SharedPlan {
    try {
      ++*taken;
      return std::make_shared<const EnginePlan>(
          recreate_engine(engine, make_conv_graph(problem, pass, engine.fused), *device, query));
    } catch (const Error& error) {
      throw error.within(where(problem, pass));
    }
  };
  return plans_.begin(words, words, make, share_plan, take);
}

std::shared_future<CudnnPlanner::SharedPlan> CudnnPlanner::begin(const gpu::AttentionProblem& problem, bool backward) {
  const EngineQuery query{.type = problem.type, .options = options_};
  const std::string words =
      fmt::format("attention {} {}, strides {} {} {}{}, workspace {}", backward ? "backward" : "forward",
                  describe(problem), problem.q_stride, problem.k_stride, problem.v_stride,
                  problem.backward ? ", stats" : "", options_.workspace_limit);
  const auto make = [&] {
    Rejections rejections;
    auto plans = find_engines(make_attention_graph(problem, backward), *device_, query, rejections);
    if (plans.empty())
      throw Error(ErrorKind::kDevice, fmt::format("cuDNN {} has no engine: {}", cudnn().version(), rejections.text()));
    return SharedPlan(std::make_shared<const EnginePlan>(std::move(plans.front())));
  };
  const auto take = [problem, backward, query, device = device_,
                     taken = taken_](const SharedEngine& engine) -> SharedPlan {
    ++*taken;
    return std::make_shared<const EnginePlan>(
        recreate_engine(engine, make_attention_graph(problem, backward), *device, query));
  };
  return plans_.begin(words, words, make, share_plan, take);
}

EnginePlan CudnnPlanner::choose(const gpu::ConvProblem& problem, ConvPass pass) {
  Rejections rejections;
  for (const FusedOps& fused : fusions(problem, pass)) {
    rejections = {};
    if (auto found = find(problem, pass, fused, rejections)) return std::move(*found);
  }
  throw Error(
      ErrorKind::kDevice,
      fmt::format(
          "cuDNN {} has no engine for the {} pass of the convolution {} ({}, {}, workspace up to {} bytes): {}; try "
          "a larger runtime.workspace_limit or a smaller batch_size",
          cudnn().version(), name_of(pass), describe(problem), options_.tf32 ? "tf32" : "no tf32",
          options_.deterministic ? "deterministic" : "not deterministic", options_.workspace_limit, rejections.text()));
}

std::optional<EnginePlan> CudnnPlanner::find(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused,
                                             Rejections& rejections) {
  // Engines may accept less aligned addresses when planned and reject them when run.
  const bool tries = tuner_ && problem.alignment != kFullAlignment;
  EngineQuery query = query_of(problem, pass);
  if (tries) query.wanted = kTried;
  try {
    const auto graph = make_conv_graph(problem, pass, fused);
    if (tuner_ && options_.autotune && tuner_->stores_measurements())
      return tuner_->choose(graph, plan_cache_key(problem, pass, fused, options_), problem, *device_, query,
                            rejections);
    auto plans = find_engines(graph, *device_, query, rejections);
    if (plans.empty()) return std::nullopt;
    if (tries) return tuner_->first_that_runs(std::move(plans), problem, rejections);
    return std::move(plans.front());
  } catch (const Error& error) {
    throw error.within(where(problem, pass));
  }
}

EngineQuery CudnnPlanner::query_of(const gpu::ConvProblem& problem, ConvPass pass) const {
  return {
      .type = problem.type,
      .options = options_,
      .pass = pass,
      .uneven_padding = problem.uneven_padding(),
      .wanted = 1,
      .preferred = find_preferred(preferred_, problem, pass, options_, device_->architecture(), cudnn().get_version())};
}

}  // namespace dptrain::backend::cuda
