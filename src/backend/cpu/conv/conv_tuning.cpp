// Times the algorithms of convolution passes: `dptrain bench --tune`.

#include <algorithm>
#include <limits>

#include "backend/conv_choices.h"
#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/conv/conv_key.h"
#include "backend/cpu/conv/conv_trial.h"
#include "backend/cpu/dnnl_support.h"
#include "core/clock.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::backend {
namespace {

constexpr double kMaxFlops = 8e9;     // in a run; larger batches are cut
constexpr double kMinSeconds = 0.03;  // per algorithm, on average
constexpr int kMinRounds = 5;
constexpr double kMargin = 0.97;  // smaller gains are within the timing error

ConvTiming time_pass(const ConvChoices::Pass& pass, ConvChoice choice, cpu::Dnnl& dnnl) {
  cpu::ConvTrial trial(pass.kind, cpu::with_rows_for(pass.shape, kMaxFlops));
  const cpu::ConvShape& shape = trial.shape();
  std::vector<cpu::ChosenConv> algorithms = cpu::conv_candidates(pass.kind, shape, choice, dnnl);
  ConvTiming timing{.key = cpu::conv_key(pass.kind, shape), .rows = shape.rows, .flops = trial.flops()};
  timing.rule = cpu::choose_by_rule(pass.kind, shape, choice, dnnl).name;
  for (const cpu::ChosenConv& algorithm : algorithms) {
    trial.allocate_scratch(*algorithm.pass);
    trial.run(*algorithm.pass);  // warms up
    timing.seconds.emplace_back(algorithm.name, std::numeric_limits<double>::infinity());
  }
  double spent = 0;
  for (int round = 0; round < kMinRounds || spent < kMinSeconds * static_cast<double>(algorithms.size()); ++round)
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      const Stopwatch watch;
      trial.run(*algorithms[i].pass);
      const double seconds = watch.seconds();
      spent += seconds;
      timing.seconds[i].second = std::min(timing.seconds[i].second, seconds);
    }
  const auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto& fastest = *std::min_element(timing.seconds.begin(), timing.seconds.end(), by_time);
  const auto ruled = std::find_if(timing.seconds.begin(), timing.seconds.end(),
                                  [&](const auto& algorithm) { return algorithm.first == timing.rule; });
  const bool rule_stands = ruled != timing.seconds.end() && fastest.second > kMargin * ruled->second;
  timing.best = rule_stands ? timing.rule : fastest.first;
  return timing;
}

}  // namespace

double ConvTiming::gflops() const {
  for (const auto& [name, time] : seconds)
    if (name == best) return flops / time / 1e9;
  return 0;
}

void time_convolutions(const ConvChoices& asked, ConvChoice choice, int threads,
                       const std::function<void(const ConvTiming&)>& done) {
  kernels::cpu::set_thread_count(threads);
  cpu::Dnnl dnnl;
  for (const ConvChoices::Pass& pass : asked.passes()) done(time_pass(pass, choice, dnnl));
}

}  // namespace dptrain::backend
