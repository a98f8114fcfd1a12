#include "backend/cuda/plan_check.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include "backend/cuda/cudnn_planner.h"
#include "core/error.h"
#include "core/threads.h"

namespace dptrain::backend::cuda {
namespace {

std::vector<PlanCase> without_repeats(const std::vector<PlanCase>& cases) {
  std::vector<PlanCase> different;
  for (const PlanCase& one : cases) {
    const auto same = std::ranges::find(different, one.problem, &PlanCase::problem);
    if (same == different.end()) {
      different.push_back(one);
      continue;
    }
    same->passes.forward |= one.passes.forward;
    same->passes.data |= one.passes.data;
    same->passes.weights |= one.passes.weights;
  }
  return different;
}

PlanLine plan_line(CudnnPlanner& planner, const PlanCase& one, ConvPass pass) {
  PlanLine line;
  line.where = one.where;
  line.pass = name_of(pass);
  line.problem = describe(one.problem);
  try {
    const CudnnPass planned = planner.plan(one.problem, pass);
    line.engine = planned.name();
    line.workspace = planned.workspace();
    line.runtime_compiled = planned.plan()->runtime_compiled;
    line.finished = !planned.plan()->taken.empty();
    line.bias_apart = pass == ConvPass::kForward && one.problem.bias && !planned.fused().bias;
  } catch (const Error& error) {
    line.error = error.what();
  }
  return line;
}

}  // namespace

PlanCheck check_plans(const std::vector<PlanCase>& cases, std::string_view device_json, const gpu::ConvOptions& options,
                      const PlanCrew& crew) {
  const auto begin = std::chrono::steady_clock::now();
  const auto share = crew.replicas > 1 ? std::make_shared<EngineShare>() : nullptr;
  std::deque<CudnnPlanner> planners;
  while (std::ssize(planners) < crew.replicas)
    planners.emplace_back(DeviceProperties::from_json(device_json), options, nullptr, share);
  PlanCheck check;
  const std::vector<PlanCase> different = without_repeats(cases);
  check.convolutions = static_cast<int>(different.size());
  std::vector<std::vector<std::future<PlanLine>>> lines(planners.size());
  TaskPool pool(crew.threads);
  const auto plan = [&](const PlanCase& one, ConvPass pass) {
    for (std::size_t r = 0; r < planners.size(); ++r)
      lines[r].push_back(pool.send([&planner = planners[r], &one, pass] { return plan_line(planner, one, pass); }));
  };
  for (const PlanCase& one : different) {
    if (one.passes.forward) plan(one, ConvPass::kForward);
    if (one.passes.data) plan(one, ConvPass::kData);
    if (one.passes.weights) plan(one, ConvPass::kWeights);
  }
  for (auto& line : lines.front()) check.lines.push_back(line.get());
  for (const PlanLine& line : check.lines) check.finished += line.finished;
  for (std::size_t r = 1; r < lines.size(); ++r)
    for (std::size_t i = 0; i < lines[r].size(); ++i) {
      const PlanLine line = lines[r][i].get();
      check.finished += line.finished;
      check.different += line.engine != check.lines[i].engine || line.error != check.lines[i].error;
    }
  for (const CudnnPlanner& planner : planners) check.taken += planner.taken();
  for (const PlanLine& line : check.lines) {
    check.missing += line.engine.empty();
    check.runtime_compiled += line.runtime_compiled;
    check.apart += line.bias_apart;
    check.largest_workspace = std::max(check.largest_workspace, line.workspace);
  }
  check.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return check;
}

}  // namespace dptrain::backend::cuda
