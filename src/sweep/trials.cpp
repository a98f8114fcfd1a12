#include "sweep/trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"

namespace dptrain::sweep {
namespace {

constexpr std::array kStrategies{std::pair{Strategy::kGrid, "grid"}, std::pair{Strategy::kRandom, "random"},
                                 std::pair{Strategy::kHalving, "halving"}};
constexpr std::array kStatuses{"waiting", "running", "done", "failed"};

}  // namespace

std::string name_of(Strategy strategy) { return kStrategies[static_cast<std::size_t>(strategy)].second; }

Strategy strategy_of(const std::string& name) {
  for (const auto& [strategy, its_name] : kStrategies)
    if (name == its_name) return strategy;
  throw Error(ErrorKind::kUsage, fmt::format("--strategy must be grid, random or halving, found '{}'", name));
}

std::string name_of(Status status) { return kStatuses[static_cast<std::size_t>(status)]; }

std::vector<SweepParameter> Plan::space() const {
  std::vector<SweepParameter> all;
  for (const std::string& text : vary) all.push_back(parse_parameter(text));
  return all;
}

std::vector<std::int64_t> rungs_of(std::int64_t least, std::int64_t most, std::int64_t eta) {
  std::vector<std::int64_t> rungs{most};
  for (double epochs = static_cast<double>(most) / static_cast<double>(eta);; epochs /= static_cast<double>(eta)) {
    const std::int64_t whole = std::llround(epochs);
    if (whole < std::max<std::int64_t>(1, least) || whole >= rungs.back()) break;
    rungs.push_back(whole);
  }
  std::ranges::reverse(rungs);
  return rungs;
}

std::string Trial::folder() const { return fmt::format("{:03}", number); }

std::vector<Trial> trials_of(const Plan& plan) {
  const std::vector<SweepParameter> space = plan.space();
  std::vector<Trial> trials;
  for (std::int64_t number = 1; number <= plan.trials; ++number)
    trials.push_back(
        {.number = number,
         .values = plan.strategy == Strategy::kGrid ? grid_point(space, number) : draw(space, plan.seed, number)});
  return trials;
}

std::vector<std::string> assignments(const Plan& plan, const Trial& trial) {
  std::vector<std::string> all;
  const std::vector<SweepParameter> space = plan.space();
  for (std::size_t i = 0; i < space.size(); ++i) all.push_back(space[i].key + "=" + trial.values[i]);
  return all;
}

std::vector<std::string> sets_of(const Plan& plan, const Trial& trial) {
  std::vector<std::string> all = plan.sets;
  for (const std::string& one : assignments(plan, trial)) {
    const std::string above = one.substr(0, one.find('=')) + ".";
    const auto is_below = [&](const std::string& other) { return other.starts_with(above); };
    all.insert(std::ranges::find_if(all, is_below), one);
  }
  return all;
}

std::vector<std::size_t> ranking(const Sweep& sweep) {
  std::vector<std::size_t> order(sweep.trials.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
    const Trial &a = sweep.trials[left], &b = sweep.trials[right];
    const bool a_failed = a.status == Status::kFailed, b_failed = b.status == Status::kFailed;
    if (a_failed != b_failed) return b_failed;
    if (a.outcome.objective.has_value() != b.outcome.objective.has_value()) return a.outcome.objective.has_value();
    if (a.rung != b.rung) return a.rung > b.rung;
    return a.outcome.objective && better(sweep.plan, *a.outcome.objective, *b.outcome.objective);
  });
  return order;
}

}  // namespace dptrain::sweep
