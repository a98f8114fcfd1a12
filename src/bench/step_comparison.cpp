#include "bench/step_comparison.h"

#include <cmath>

#include "core/floats.h"
#include "nn/optimizer.h"
#include "nn/optimizers.h"
#include "plan/weight_order.h"
#include "runtime/arenas.h"
#include "session/session.h"

namespace dptrain::bench {
namespace {

/// Sums for |a - b| / |b| over any number of arrays.
struct Difference {
  double difference = 0, norm = 0;

  void add(const float* a, const float* b, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
      difference += d * d;
      norm += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
  }
  double relative() const { return std::sqrt(relative_difference(difference, norm)); }
};

/// |a - b| / |b| of each layer over arrays, one per weight.
template <class ValuesOf>
Differences layer_differences(const graph::Model& model, const ValuesOf& values_of) {
  std::map<std::string, Difference> sums;
  for (std::size_t w = 0; w < model.weights.size(); ++w) {
    const auto [a, b] = values_of(w);
    const graph::Layer& layer = model.graph.layers[static_cast<std::size_t>(model.weights[w].layer)];
    sums[layer.name].add(a->data(), b->data(), static_cast<std::int64_t>(b->size()));
  }
  Differences out;
  for (const auto& [layer, sum] : sums) out[layer] = sum.relative();
  return out;
}

}  // namespace

experiment::Experiment comparable(experiment::Experiment experiment, std::optional<std::int64_t> accumulate) {
  experiment::TrainSection& train = experiment.config.train;
  const nn::LearningRate& rate = nn::common(train.optimizer).learning_rate;
  nn::SGDSpec sgd;
  sgd.learning_rate.constant = rate.is_schedule() ? 0.01 : rate.constant;
  train.optimizer = nn::Optimizer(sgd);
  train.accumulate_steps = accumulate;
  experiment.config.runtime.tf32 = false;
  experiment.config.runtime.conv_cache.kind = experiment::ConvCache::Kind::kNone;  // depends on the number of threads
  return experiment;
}

ComparedSession::ComparedSession(const experiment::Experiment& experiment, const ComparedSessionOptions& options)
    : session(experiment, {.devices = options.devices,
                           .data = options.data,
                           .wants_validation = false,
                           .force_sync_batchnorm = true,
                           .global_batch = options.batch,
                           .first_step_seconds = options.first_step_seconds,
                           .processes = options.processes,
                           .device_datasets = options.device_datasets}) {}

runtime::StepSums ComparedSession::step(const data::Batch& batch, std::int64_t number) {
  return session.replicas().step(batch.view(),
                                 {number, session.scheduled_rate(nn::Progress::at_step(number)), batch.rows()});
}

runtime::StepSums ComparedSession::step_from(const graph::Model& weights, const data::Batch& batch,
                                             std::int64_t number) {
  constexpr int kMaxHalvings = 40;
  for (int halvings = 0;; ++halvings) {
    session.replicas().push(weights);
    const std::int64_t before = skipped();
    const runtime::StepSums sums = step(batch, number);
    if (skipped() == before || halvings == kMaxHalvings) return sums;
  }
}

runtime::StepSums ComparedSession::evaluate(const data::Batch& batch) {
  return session.replicas().evaluate(batch.view());
}

std::int64_t ComparedSession::skipped() {
  const auto scale = session.replicas().pull_loss_scale();
  return scale ? scale->skipped : 0;
}

std::vector<std::vector<float>> ComparedSession::gradients() {
  std::vector<float> arena;
  session.replicas().on_each([&](int rank, runtime::Replica& replica) {
    if (rank == 0) arena = replica.arenas().pull_gradients();
  });
  std::vector<std::vector<float>> out(session.model().weights.size());
  for (const plan::Parameter& parameter : session.plan().parameters) {
    if (!plan::is_trained(parameter.kind)) continue;
    std::vector<float>& values = out[static_cast<std::size_t>(parameter.weight)];
    values.resize(static_cast<std::size_t>(parameter.elements()));
    plan::to_keras_order(parameter, arena.data() + parameter.offset, values.data());
  }
  return out;
}

const graph::Model& ComparedSession::pulled() {
  session.replicas().pull(session.model());
  return session.model();
}

Differences weight_differences(const graph::Model& a, const graph::Model& b) {
  return layer_differences(b, [&](std::size_t w) { return std::pair{&a.weights[w].values, &b.weights[w].values}; });
}

Differences gradient_differences(ComparedSession& tested, ComparedSession& reference) {
  const auto a = tested.gradients(), b = reference.gradients();
  return layer_differences(reference.session.model(), [&](std::size_t w) { return std::pair{&a[w], &b[w]}; });
}

double loss_difference(const runtime::StepSums& a, const runtime::StepSums& b) {
  return relative_difference(std::abs(a.loss - b.loss), std::abs(b.loss));
}

}  // namespace dptrain::bench
