#include "session/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "replica/batch_queue.h"
#include "session/session.h"

namespace dptrain::session {

namespace {

std::string prefix_of(const plan::LossStep& loss) { return loss.name.empty() ? "" : loss.name + "_"; }

/// f(name, place in StepSums::outputs) for all that is reported beside the whole loss.
template <class F>
void for_each_value(const plan::Plan& plan, const F& f) {
  for (const plan::LossStep& loss : plan.losses)
    if (!loss.name.empty()) f(prefix_of(loss) + "loss", loss.first_sum);
  for (const plan::LossStep& loss : plan.losses)
    for (std::size_t i = 0; i < loss.metrics.size(); ++i)
      f(prefix_of(loss) + loss.metrics[i].name, loss.first_sum + 1 + i);
}

}  // namespace

std::vector<std::string> sum_names(const plan::Plan& plan) {
  std::vector<std::string> names{"loss"};
  for_each_value(plan, [&](const std::string& name, std::size_t) { names.push_back(name); });
  return names;
}

std::vector<std::pair<std::string, double>> means(const plan::Plan& plan, const replica::StepSums& sums) {
  const double n = static_cast<double>(std::max<std::int64_t>(1, sums.samples));
  // A NaN may have a sign, which says nothing and would be shown.
  const auto shown = [](double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; };
  std::vector<std::pair<std::string, double>> out{{"loss", shown(sums.loss / n + sums.penalty)}};
  for_each_value(plan, [&](const std::string& name, std::size_t place) {
    out.emplace_back(name, shown(sums.outputs[place] / n));
  });
  return out;
}

replica::StepSums evaluate(Session& session, data::Loader& loader) {
  return *evaluate(session, loader, [] { return true; });
}

std::optional<replica::StepSums> evaluate(Session& session, data::Loader& loader, const std::function<bool()>& go_on) {
  replica::StepSums total;
  total.outputs.assign(session.plan().sums(), 0.0);
  replica::BatchQueue ahead(session.replicas());
  const auto collect = [&] {
    const replica::StepSums sums = ahead.collect().sums;
    total.loss += sums.loss;
    total.samples += sums.samples;
    total.penalty = sums.penalty;  // of the same weights every time
    for (std::size_t i = 0; i < total.outputs.size(); ++i) total.outputs[i] += sums.outputs[i];
  };
  bool whole = true;
  for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
    whole = go_on();
    if (!whole) break;
    ahead.evaluate(std::make_shared<const data::Batch>(std::move(batch)));
    while (ahead.is_due()) collect();
  }
  while (!ahead.empty()) collect();
  if (!whole) return std::nullopt;
  loader.next_epoch();  // its first batches are made while training goes on
  return total;
}

}  // namespace dptrain::session
