#include "cli/judged_values.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/judgement_files.h"
#include "session/evaluation.h"

namespace dptrain::cli {

std::vector<std::string> judged_names(const plan::Plan& plan, const std::vector<Classes>& classes) {
  std::vector<std::string> known = session::sum_names(plan);
  for (const plan::LossStep& loss : plan.losses)
    for (const std::string& score : score_names())
      if (classes[static_cast<std::size_t>(loss.output)].known()) known.push_back(score_name(loss.name, score));
  return known;
}

std::vector<std::pair<std::string, double>> judged_values(const Judgement& judgement) {
  std::vector<std::pair<std::string, double>> values = judgement.values;
  for (const OutputJudgement& output : judgement.outputs) {
    if (!output.confusion) continue;
    const ClassScore mean = macro_average(output.scores);
    const std::array averages{mean.precision, mean.recall, mean.f1};
    for (std::size_t i = 0; i < averages.size(); ++i) {
      const std::string name = score_name(output.name, score_names()[i]);
      if (std::ranges::none_of(values, [&](const auto& value) { return value.first == name; }))
        values.emplace_back(name, averages[i].value_or(std::nan("")));
    }
  }
  return values;
}

std::vector<std::string> sample_shares(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const plan::LossStep& loss : plan.losses)
    for (const nn::ResolvedMetric& metric : loss.metrics)
      if (!metric.masked && metric.type().is_share(metric.subject))
        names.push_back(score_name(loss.name, metric.names.front()));
  return names;
}

}  // namespace dptrain::cli
