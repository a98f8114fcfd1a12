#include "device/cuda/cudnn_planner.h"

#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::device::cuda {
namespace {

constexpr std::size_t kTried = 32;

/// What to try forward, the most in one graph first.
std::vector<FusedOps> fusions(const gpu::ConvProblem& problem, ConvPass pass) {
  if (pass != ConvPass::kForward || !problem.bias) return {{}};
  return {{.bias = true}, {}};
}

}  // namespace

CudnnPlanner::CudnnPlanner(DeviceProperties device, const gpu::ConvOptions& options, std::unique_ptr<CudnnTuner> tuner)
    : device_(std::move(device)), options_(options), tuner_(std::move(tuner)) {}

CudnnPass CudnnPlanner::plan(const gpu::ConvProblem& problem, ConvPass pass) {
  gpu::ConvProblem key = problem;
  if (pass != ConvPass::kForward) key.bias = key.relu = false;
  std::promise<SharedPlan> found;
  std::shared_future<SharedPlan> plan;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    const auto place = plans_.try_emplace({key, pass});
    if ((first = place.second)) place.first->second = found.get_future().share();
    plan = place.first->second;
  }
  if (first) {
    try {
      found.set_value(choose(problem, pass));
    } catch (...) {
      found.set_exception(std::current_exception());
    }
  }
  return CudnnPass(plan.get());
}

CudnnPlanner::SharedPlan CudnnPlanner::choose(const gpu::ConvProblem& problem, ConvPass pass) {
  Rejections rejections;
  for (const FusedOps& fused : fusions(problem, pass)) {
    rejections = {};
    if (auto found = find(problem, pass, fused, rejections))
      return std::make_shared<const EnginePlan>(std::move(*found));
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
  // An engine may take such addresses when it is planned and refuse them when it runs.
  const bool tries = tuner_ && problem.alignment != kFullAlignment;
  const EngineQuery query{.type = problem.type,
                          .options = options_,
                          .pass = pass,
                          .uneven_padding = problem.uneven_padding(),
                          .wanted = tries ? kTried : 1};
  try {
    const auto graph = make_conv_graph(problem, pass, fused);
    if (tuner_ && options_.autotune && tuner_->remembers())
      return tuner_->choose(graph, plan_cache_key(problem, pass, fused, options_), problem, device_, query, rejections);
    auto plans = find_engines(graph, device_, query, rejections);
    if (plans.empty()) return std::nullopt;
    if (tries) return tuner_->first_that_runs(std::move(plans), problem, rejections);
    return std::move(plans.front());
  } catch (const Error& error) {
    throw error.within(fmt::format("{} pass of the convolution {}", name_of(pass), describe(problem)));
  }
}

}  // namespace dptrain::device::cuda
