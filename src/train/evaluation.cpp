#include "train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "train/session.h"

namespace dptrain::train {

std::vector<std::string> sum_names(const plan::Plan& plan) {
  std::vector<std::string> names{"loss"};
  for (const optim::ResolvedMetric& metric : plan.loss.metrics) names.push_back(metric.name);
  return names;
}

std::vector<std::pair<std::string, double>> means(const plan::Plan& plan, const replica::StepSums& sums) {
  const double n = static_cast<double>(std::max<std::int64_t>(1, sums.samples));
  // A NaN may have a sign, which says nothing and would be shown.
  const auto shown = [](double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; };
  std::vector<std::pair<std::string, double>> out{{"loss", shown(sums.loss / n + sums.penalty)}};
  for (std::size_t i = 0; i < plan.loss.metrics.size(); ++i)
    out.emplace_back(plan.loss.metrics[i].name, shown(sums.metrics[i] / n));
  return out;
}

replica::HostBatch host_batch(const data::Batch& batch, std::size_t inputs) {
  replica::HostBatch host{.rows = batch.rows(),
                          .labels = batch.labels(),
                          .feed = batch.feed(),
                          .epoch = batch.epoch(),
                          .samples = batch.samples()};
  for (std::size_t i = 0; i < inputs; ++i) {
    const int input = static_cast<int>(i);
    if (batch.feed() < 0) {
      host.inputs.push_back(batch.input(input));
    } else if (batch.row_bytes(input) > 0) {
      host.raw.push_back(batch.row(input));
      host.raw_row_bytes.push_back(batch.row_bytes(input));
    }
  }
  return host;
}

replica::StepSums evaluate(Session& session, data::Loader& loader) {
  return *evaluate(session, loader, [] { return true; });
}

std::optional<replica::StepSums> evaluate(Session& session, data::Loader& loader, const std::function<bool()>& go_on) {
  replica::StepSums total;
  total.metrics.assign(session.plan().loss.metrics.size(), 0.0);
  const std::size_t inputs = session.plan().inputs.size();
  replica::ReplicaSet& replicas = session.replicas();
  std::deque<data::Batch> ahead;  // queued: devices that run behind the host are not kept waiting for the next batch
  const auto collect = [&] {
    const replica::StepSums sums = replicas.collect();
    ahead.pop_front();
    total.loss += sums.loss;
    total.samples += sums.samples;
    total.penalty = sums.penalty;  // of the same weights every time
    for (std::size_t i = 0; i < total.metrics.size(); ++i) total.metrics[i] += sums.metrics[i];
  };
  bool whole = true;
  for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
    whole = go_on();
    if (!whole) break;
    replicas.queue_evaluation(host_batch(batch, inputs));
    ahead.push_back(std::move(batch));
    while (!ahead.empty() && (ahead.size() == replica::Replica::kMostQueued || replicas.done())) collect();
  }
  while (!ahead.empty()) collect();
  if (!whole) return std::nullopt;
  loader.next_epoch();  // its first batches are made while training goes on
  return total;
}

}  // namespace dptrain::train
