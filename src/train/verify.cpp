#include "train/verify.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "layers/batch_normalization.h"
#include "plan/weight_order.h"

namespace dptrain::train {
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
  double relative() const {
    if (difference == 0) return 0;
    return norm == 0 ? INFINITY : std::sqrt(difference / norm);
  }
};

/// Plain SGD with the config's first rate: adaptive optimizers amplify rounding where gradients vanish, clipping hides it.
Experiment with_plain_sgd(Experiment experiment, std::int64_t accumulate) {
  TrainSection& train = experiment.config.train;
  const optim::LearningRate& rate = optim::common(train.optimizer).learning_rate;
  optim::SGDSpec sgd;
  sgd.learning_rate.constant = rate.is_schedule() ? 0.01 : rate.constant;
  train.optimizer = optim::Optimizer(sgd);
  train.accumulate_steps = accumulate;
  experiment.config.runtime.tf32 = false;  // its rounding would hide what is compared
  experiment.config.runtime.conv_cache.kind = ConvCache::Kind::kNone;  // choices are timed for a number of threads, the sides may differ
  return experiment;
}

struct Side {
  Side(const Experiment& experiment, const VerifyOptions& options, const DeviceRequest& devices, std::optional<std::int64_t> batch)
      : session(experiment, {.devices = devices, .data = options.data, .wants_validation = false, .force_sync_batchnorm = true, .global_batch = batch, .device_input = false}) {}

  replica::StepSums step(const data::Batch& batch, std::int64_t number) {
    return session.replicas().step(host_batch(batch, session.plan().inputs.size()),
                                   {number, session.scheduled_rate(number), batch.rows()});
  }
  /// A step from these weights. In mixed_float16 the loss scale may still be too large and the step be left out: again then.
  replica::StepSums step_from(const graph::Model& weights, const data::Batch& batch, std::int64_t number) {
    constexpr int kMostHalvings = 40;
    for (int halvings = 0;; ++halvings) {
      session.replicas().push(weights);
      const std::int64_t before = skipped();
      const replica::StepSums sums = step(batch, number);
      if (skipped() == before || halvings == kMostHalvings) return sums;
    }
  }
  std::int64_t skipped() {
    const auto scale = session.replicas().pull_loss_scale();
    return scale ? scale->skipped : 0;
  }
  /// Per weight of the model, Keras's axes; empty for what is not trained.
  std::vector<std::vector<float>> gradients() {
    std::vector<float> arena;
    session.replicas().on_each([&](int rank, replica::Replica& replica) {
      if (rank == 0) arena = replica.pull_gradients();
    });
    std::vector<std::vector<float>> out(session.model().weights.size());
    for (const plan::Parameter& parameter : session.plan().parameters) {
      if (parameter.kind != plan::ParameterKind::kTrainable) continue;
      std::vector<float>& values = out[static_cast<std::size_t>(parameter.weight)];
      values.resize(static_cast<std::size_t>(parameter.elements()));
      plan::to_keras_order(parameter, arena.data() + parameter.offset, values.data());
    }
    return out;
  }

  const graph::Model& pulled() {
    session.replicas().pull(session.model());
    return session.model();
  }

  Session session;
};

/// The batch of a step, one epoch after another.
data::Batch next_batch(data::Loader& loader) {
  data::Batch batch = loader.next();
  if (batch.rows() > 0) return batch;
  loader.next_epoch();
  return loader.next();
}

/// |a - b| / |b| of each layer, over arrays that there are one of per weight.
template <class ValuesOf>
std::map<std::string, double> layer_differences(const graph::Model& model, const ValuesOf& values_of) {
  std::map<std::string, Difference> sums;
  for (std::size_t w = 0; w < model.weights.size(); ++w) {
    const auto [a, b] = values_of(w);
    sums[model.graph.layers[static_cast<std::size_t>(model.weights[w].layer)].name].add(a->data(), b->data(), static_cast<std::int64_t>(b->size()));
  }
  std::map<std::string, double> out;
  for (const auto& [layer, sum] : sums) out[layer] = sum.relative();
  return out;
}

std::map<std::string, double> weight_differences(const graph::Model& a, const graph::Model& b) {
  return layer_differences(b, [&](std::size_t w) { return std::pair{&a.weights[w].values, &b.weights[w].values}; });
}

std::map<std::string, double> gradient_differences(Side& tested, Side& reference) {
  const auto a = tested.gradients(), b = reference.gradients();
  return layer_differences(reference.session.model(), [&](std::size_t w) { return std::pair{&a[w], &b[w]}; });
}

double loss_difference(const replica::StepSums& a, const replica::StepSums& b) { return std::abs(a.loss - b.loss) / std::abs(b.loss); }

/// Each step from the reference's weights of that step: what is judged.
void compare_steps(Side& reference, Side& tested, const VerifyOptions& options, VerifyResult& result) {
  data::Loader& loader = reference.session.train_loader();
  loader.seek(0, 0);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const graph::Model start = reference.pulled();
    const data::Batch batch = next_batch(loader);
    const replica::StepSums a = tested.step_from(start, batch, step), b = reference.step_from(start, batch, step);
    result.losses.push_back(b.loss / static_cast<double>(b.samples) + b.penalty);
    result.loss = std::max(result.loss, loss_difference(a, b));
    std::map<std::string, double> gradients = gradient_differences(tested, reference);
    std::map<std::string, double> parameters = weight_differences(tested.pulled(), reference.pulled());
    for (VerifyRow& row : result.rows) {
      row.gradient = std::max(row.gradient, gradients[row.layer]);
      row.parameter = std::max(row.parameter, parameters[row.layer]);
    }
  }
}

/// Both sides train on their own: what is told.
void measure_drift(Side& reference, Side& tested, const VerifyOptions& options, VerifyResult& result) {
  data::Loader& loader = reference.session.train_loader();
  loader.seek(0, 0);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const data::Batch batch = next_batch(loader);
    result.loss_drift = std::max(result.loss_drift, loss_difference(tested.step(batch, step), reference.step(batch, step)));
  }
  std::map<std::string, double> drift = weight_differences(tested.pulled(), reference.pulled());
  for (VerifyRow& row : result.rows) row.drift = drift[row.layer];
}

bool has_batch_normalization(const graph::Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(),
                     [](const graph::Layer& layer) { return layer.spec.get_if<layers::BatchNormalizationSpec>() != nullptr; });
}

/// The first replica of a request, alone.
DeviceRequest one_of(const DeviceRequest& devices) {
  return devices.on_gpus() ? request_of({devices.gpus.front()}) : DeviceRequest{};
}

device::DeviceKind kind_of(const DeviceRequest& devices) {
  return devices.gpus.empty() ? device::DeviceKind::kCpu : devices.gpus.front().kind;
}

}  // namespace

Tolerance default_tolerance(const Experiment& experiment, const VerifyOptions& options) {
  const device::DeviceKind kind = kind_of(options.devices);
  const bool same_rows = kind != device::DeviceKind::kCuda && kind_of(options.against.value_or(options.devices)) == kind;
  switch (experiment.config.train.dtype_policy) {
    case DtypePolicy::kMixedBfloat16: return same_rows ? Tolerance{2e-2, 1e-3} : Tolerance{5e-1, 1e-2};
    case DtypePolicy::kMixedFloat16: return same_rows ? Tolerance{5e-3, 1e-4} : Tolerance{3e-1, 1e-3};
    case DtypePolicy::kFloat32: break;
  }
  return same_rows ? Tolerance{1e-5, 1e-5} : Tolerance{1e-2, 1e-4};
}

VerifyResult verify(const Experiment& experiment, const VerifyOptions& options) {
  // Only the side under test knows how many replicas `batch_size_per_replica` is multiplied by.
  const std::int64_t batch_size = global_batch(experiment.config.train, options.devices.replicas);
  Experiment whole = experiment;
  whole.config.parallel.split.weights.clear();
  const DeviceRequest one = options.against.value_or(one_of(options.devices));
  if (!one.on_gpus()) whole.config.train.dtype_policy = DtypePolicy::kFloat32;  // the CPU has no other
  Side reference(with_plain_sgd(whole, 1), options, one, batch_size);
  Side tested(with_plain_sgd(experiment, options.accumulate), options, options.devices, batch_size);
  const graph::Model start = reference.session.model();

  VerifyResult result;
  result.tolerance = options.tolerance ? Tolerance{*options.tolerance, *options.tolerance} : default_tolerance(experiment, options);
  result.tested_device = tested.session.device_lines().front();
  result.reference_device = reference.session.device_lines().front();
  result.full_float32 = experiment.config.runtime.tf32 && (options.devices.on_real_gpus() || one.on_real_gpus());
  result.normalisation_synchronised = has_batch_normalization(experiment.graph);
  for (const graph::Layer& layer : start.graph.layers)
    if (!layer.weights.empty()) result.rows.push_back({layer.name, 0, 0});
  compare_steps(reference, tested, options, result);
  reference.session.replicas().push(start);
  tested.session.replicas().push(start);
  measure_drift(reference, tested, options, result);
  std::sort(result.rows.begin(), result.rows.end(), [](const VerifyRow& a, const VerifyRow& b) { return a.gradient > b.gradient; });
  result.passed = result.loss <= result.tolerance.loss && std::all_of(result.rows.begin(), result.rows.end(), [&](const VerifyRow& row) {
    return row.gradient <= result.tolerance.layers && row.parameter <= result.tolerance.layers;
  });
  return result;
}

double dry_run(Session& session) {
  data::Loader& loader = session.train_loader();
  loader.seek(0, 0);
  const data::Batch batch = loader.next();
  const replica::HostBatch host = host_batch(batch, session.plan().inputs.size());
  const std::vector<std::int64_t> rows = replica::split_rows(batch.rows(), session.split_weights());
  std::vector<std::int64_t> first(rows.size(), 0);
  for (std::size_t r = 1; r < rows.size(); ++r) first[r] = first[r - 1] + rows[r - 1];
  std::vector<double> losses(rows.size(), 0);
  session.replicas().on_each([&](int rank, replica::Replica& replica) {
    const auto r = static_cast<std::size_t>(rank);
    losses[r] = replica.gradients(replica::slice_of(host, first[r], rows[r], session.plan()), batch.rows(), 0).loss;
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum / static_cast<double>(batch.rows());
}

}  // namespace dptrain::train
