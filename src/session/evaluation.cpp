#include "session/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "runtime/batch_queue.h"
#include "session/session.h"

namespace dptrain::session {

namespace {

std::string prefix_of(const plan::LossStep& loss) { return loss.name.empty() ? "" : loss.name + "_"; }

/// Removes the sign of a NaN, which would be printed.
double shown(double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; }

}  // namespace

std::vector<std::string> sum_names(const plan::Plan& plan) {
  std::vector<std::string> names{"loss"};
  for (const plan::LossStep& loss : plan.losses)
    if (!loss.name.empty()) names.push_back(prefix_of(loss) + "loss");
  for (const plan::LossStep& loss : plan.losses)
    for (const nn::ResolvedMetric& metric : loss.metrics)
      for (const std::string& name : metric.names) names.push_back(prefix_of(loss) + name);
  return names;
}

std::vector<std::pair<std::string, double>> values_of(const plan::Plan& plan, const runtime::StepSums& sums) {
  const std::int64_t samples = std::max<std::int64_t>(1, sums.samples);
  const double n = static_cast<double>(samples);
  std::vector<std::pair<std::string, double>> out{{"loss", shown(sums.loss / n + sums.penalty)}};
  for (const plan::LossStep& loss : plan.losses)
    if (!loss.name.empty()) out.emplace_back(prefix_of(loss) + "loss", shown(sums.outputs[loss.first_sum] / n));
  const std::span<const double> states(sums.outputs);
  for (const plan::LossStep& loss : plan.losses)
    for (const nn::ResolvedMetric& metric : loss.metrics) {
      const double weight = metric.masked ? plan::weight_of(loss, sums.outputs, samples) : n;
      const auto values = metric.values(states.subspan(loss.first_sum + metric.offset, metric.state), weight);
      for (std::size_t i = 0; i < values.size(); ++i)
        out.emplace_back(prefix_of(loss) + metric.names[i], shown(values[i]));
    }
  return out;
}

data::Batch next_batch(data::Loader& loader) {
  data::Batch batch = loader.next();
  if (batch.rows() > 0) return batch;
  loader.next_epoch();
  return loader.next();
}

runtime::StepSums evaluate(Session& session, data::Loader& loader) {
  return *evaluate(session, loader, [] { return true; });
}

std::optional<runtime::StepSums> evaluate(Session& session, data::Loader& loader,
                                          const std::function<bool()>& should_continue) {
  runtime::StepSums total;
  total.outputs.assign(session.plan().sums(), 0.0);
  runtime::BatchQueue ahead(session.replicas());
  const auto collect = [&] {
    const runtime::StepSums sums = ahead.collect().sums;
    total.loss += sums.loss;
    total.samples += sums.samples;
    total.penalty = sums.penalty;  // equal in all batches
    for (std::size_t i = 0; i < total.outputs.size(); ++i) total.outputs[i] += sums.outputs[i];
  };
  bool whole = true;
  for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
    whole = should_continue();
    if (!whole) break;
    ahead.evaluate(std::make_shared<const data::Batch>(std::move(batch)));
    while (ahead.is_due()) collect();
  }
  while (!ahead.empty()) collect();
  if (!whole) return std::nullopt;
  loader.next_epoch();  // so that its first batches are made during training
  return total;
}

}  // namespace dptrain::session
