#include "bench/device_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/link_speed.h"
#include "bench/step_comparison.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/floats.h"
#include "core/format.h"
#include "core/text.h"
#include "session/session.h"

namespace dptrain::bench {
namespace {

constexpr std::int64_t kSteps = 2, kTrainingSteps = 4, kRecordedSteps = 7;
constexpr std::size_t kMemoryBytes = std::size_t{1} << 22;
constexpr std::uint64_t kSummedBytes = 16U << 20, kEmulatedBytes = 64U << 10;
/// Limit of a first step and of the watchdog: these networks take milliseconds, but a first step loads kernels.
constexpr double kTimeoutSeconds = 45;

struct Worst {
  double value = 0;
  std::string of;

  void add_difference(double difference, const std::string& what) {
    if (difference > value) value = difference, of = what;
  }
  void add_difference(const Differences& differences, const std::string& what) {
    for (const auto& [layer, difference] : differences) add_difference(difference, what + " of layer " + layer);
  }
};

struct Outcome {
  bool passed = false;
  std::string found;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string names_of(const session::DeviceRequest& devices) {
  std::vector<std::string> names;
  for (const session::GpuId& gpu : devices.gpus) names.push_back(gpu.name());
  return join(names, ", ");
}

experiment::Experiment experiment_of(const std::string& text, const std::string& name) {
  experiment::Experiment experiment = experiment::load_experiment_text(text, name, {});
  experiment.config.parallel.watchdog = {kTimeoutSeconds, config::Duration::Unit::kSeconds};
  return experiment;
}

experiment::Experiment in_float32(experiment::Experiment experiment) {
  experiment.config.train.dtype_policy = experiment::DtypePolicy::kFloat32;
  return experiment;
}

/// Compares steps from the reference's weights, as verify does, and an evaluation.
Outcome compare_steps(const experiment::Experiment& experiment, const session::DeviceRequest& devices,
                      const DeviceCheck& check) {
  ComparedSession reference(in_float32(comparable(experiment, 1)), {.devices = {}});
  experiment::Experiment own = comparable(experiment, experiment.config.train.accumulate_steps.value_or(1));
  own.config.runtime.tf32 = check.tf32;
  ComparedSession tested(own, {.devices = devices, .first_step_seconds = kTimeoutSeconds});
  data::Loader& loader = reference.session.train_loader();
  loader.seek(0, 0);
  Worst of_loss, of_layers;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const graph::Model start = reference.pulled();
    const data::Batch batch = session::next_batch(loader);
    const runtime::StepSums a = tested.step_from(start, batch, step), b = reference.step_from(start, batch, step);
    of_loss.add_difference(loss_difference(a, b), "the loss");
    of_layers.add_difference(gradient_differences(tested, reference), "the gradient");
    of_layers.add_difference(weight_differences(tested.pulled(), reference.pulled()), "the weights after a step");
    tested.session.replicas().push(reference.pulled());
    const runtime::StepSums c = tested.evaluate(batch), d = reference.evaluate(batch);
    of_loss.add_difference(loss_difference(c, d), "the loss of an evaluation");
    const auto found = session::values_of(tested.session.plan(), c),
               expected = session::values_of(reference.session.plan(), d);
    for (std::size_t m = 0; m < found.size(); ++m)
      if (!std::isnan(found[m].second) || !std::isnan(expected[m].second))
        of_loss.add_difference(relative_difference(std::abs(found[m].second - expected[m].second),
                                                   std::max(1.0, std::abs(expected[m].second))),
                               found[m].first + " of an evaluation");
  }
  const auto too_far = [](const Worst& worst, double allowed) {
    return fmt::format("{} differs by {:.1e} from the CPU's, allowed {:.0e}", worst.of, worst.value, allowed);
  };
  if (of_layers.value > check.layers) return {false, too_far(of_layers, check.layers)};
  if (of_loss.value > check.loss) return {false, too_far(of_loss, check.loss)};
  return {true, fmt::format("within {:.1e} of the CPU, the loss within {:.1e}", of_layers.value, of_loss.value)};
}

graph::Model trained(ComparedSession& side, ComparedSession& source, std::int64_t steps) {
  data::Loader& loader = source.session.train_loader();
  loader.seek(0, 0);
  for (std::int64_t step = 0; step < steps; ++step) side.step(session::next_batch(loader), step);
  return side.pulled();
}

experiment::Experiment in_full_products(experiment::Experiment experiment) {
  experiment.config.runtime.tf32 = false;
  return experiment;
}

Outcome compare_training(const experiment::Experiment& experiment, const session::DeviceRequest& devices,
                         double allowed) {
  ComparedSession reference(experiment, {.devices = {}});
  ComparedSession tested(in_full_products(experiment), {.devices = devices, .first_step_seconds = kTimeoutSeconds});
  tested.session.replicas().push(reference.pulled());
  const graph::Model found = trained(tested, reference, kTrainingSteps);
  Worst worst;
  worst.add_difference(weight_differences(found, trained(reference, reference, kTrainingSteps)), "the weights");
  if (worst.value > allowed)
    return {false, fmt::format("after {} steps {} differ by {:.1e} from the CPU's, allowed {:.0e}", kTrainingSteps,
                               worst.of, worst.value, allowed)};
  return {true, fmt::format("weights within {:.1e} of the CPU's after {} steps", worst.value, kTrainingSteps)};
}

bool same_bits(const graph::Model& a, const graph::Model& b) {
  for (std::size_t w = 0; w < a.weights.size(); ++w) {
    const std::vector<float>&one = a.weights[w].values, &other = b.weights[w].values;
    if (std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

Outcome compare_recorded(experiment::Experiment experiment, const session::DeviceRequest& devices) {
  experiment.config.runtime.cuda_graphs = backend::Graphs::kOn;
  ComparedSession recorded(experiment, {.devices = devices, .first_step_seconds = kTimeoutSeconds});
  experiment.config.runtime.cuda_graphs = backend::Graphs::kOff;
  ComparedSession eager(experiment, {.devices = devices, .first_step_seconds = kTimeoutSeconds});
  eager.session.replicas().push(recorded.pulled());
  const graph::Model one = trained(recorded, recorded, kRecordedSteps), other = trained(eager, eager, kRecordedSteps);
  if (same_bits(one, other)) return {true, fmt::format("{} steps: the same bits as piece by piece", kRecordedSteps)};
  Worst worst;
  worst.add_difference(weight_differences(one, other), "the weights");
  return {false, fmt::format("{} differ by {:.1e} from those of the same steps piece by piece, expected the same bits",
                             worst.of, worst.value)};
}

Outcome compare_input(const experiment::Experiment& experiment, const session::DeviceRequest& devices, double allowed) {
  ComparedSession device(in_full_products(experiment), {.devices = devices,
                                                        .data = session::DataMode::kReal,
                                                        .device_datasets = true,
                                                        .first_step_seconds = kTimeoutSeconds});
  ComparedSession host(in_full_products(experiment),
                       {.devices = devices, .data = session::DataMode::kReal, .first_step_seconds = kTimeoutSeconds});
  host.session.replicas().push(device.pulled());
  if (device.session.device_datasets().empty()) return {false, "no batch was made on the device"};
  Worst worst;
  worst.add_difference(weight_differences(trained(device, device, kTrainingSteps), trained(host, host, kTrainingSteps)),
                       "the weights");
  if (worst.value > allowed)
    return {false, fmt::format("{} differ by {:.1e} from those after batches of the host, allowed {:.0e}", worst.of,
                               worst.value, allowed)};
  return {true, fmt::format("{}: weights within {:.1e} of those after batches of the host",
                            device.session.device_datasets().front(), worst.value)};
}

Outcome outcome_of(const DeviceCheck& check, int only, const session::DeviceRequest& devices) try {
  const experiment::Experiment experiment =
      experiment_of(check.config(only), check.names[static_cast<std::size_t>(std::max(0, only))]);
  switch (check.kind) {
    case DeviceCheck::Kind::kSteps: return compare_steps(experiment, devices, check);
    case DeviceCheck::Kind::kTraining: return compare_training(experiment, devices, check.layers);
    case DeviceCheck::Kind::kRecorded: return compare_recorded(experiment, devices);
    case DeviceCheck::Kind::kInput: return compare_input(experiment, devices, check.layers);
  }
  return {};
} catch (const Error& error) {
  return {false, first_line(error.what())};
}

/// Copies bytes there and back, through page-locked memory and the stream.
Outcome check_memory(const session::DeviceRequest& devices) try {
  const auto device = session::make_device(devices, 0, {});
  device->enter();
  const auto stream = device->make_stream();
  const auto memory = device->allocate(kMemoryBytes), copy = device->allocate(kMemoryBytes);
  const auto given = device->allocate_host(kMemoryBytes);
  std::vector<std::uint8_t> back(kMemoryBytes);
  device->copy_to_host(back.data(), memory->data(), kMemoryBytes, *stream);
  if (std::ranges::any_of(back, [](std::uint8_t byte) { return byte != 0; })) return {false, "new memory is not zero"};
  auto* const bytes = given->as<std::uint8_t>();
  for (std::size_t i = 0; i < kMemoryBytes; ++i) bytes[i] = static_cast<std::uint8_t>(i * 2654435761U >> 13);
  device->copy_to_device(memory->data(), bytes, kMemoryBytes, *stream);
  device->copy_to_host(back.data(), memory->data(), kMemoryBytes, *stream);
  if (std::memcmp(back.data(), bytes, kMemoryBytes) != 0) return {false, "bytes came back changed"};
  return {true, fmt::format("{} there and back, {} free", human_bytes(kMemoryBytes),
                            human_bytes(device->memory_available()))};
} catch (const Error& error) {
  return {false, first_line(error.what())};
}

Outcome check_sums(const session::DeviceRequest& devices) try {
  const LinkSpeed speed = measure_all_reduce(devices, devices.on_real_gpus() ? kSummedBytes : kEmulatedBytes, 10);
  return {true, fmt::format("sums of {} right, {:.3f} ms, {:.1f} GB/s", human_bytes(speed.bytes), speed.seconds * 1e3,
                            speed.algorithm_gbps())};
} catch (const Error& error) {
  return {false, first_line(error.what())};
}

class Checker {
 public:
  Checker(const std::vector<DeviceCheck>& checks, const std::function<void(const DeviceCheckLine&)>& on_line)
      : checks_(checks), on_line_(on_line) {}

  bool passed() const { return passed_; }

  void check_one(const session::DeviceRequest& device) {
    line(device, "memory and copies", [&] { return check_memory(device); });
    for (const DeviceCheck& check : checks_) run_check(device, check);
  }

  void check_all(const session::DeviceRequest& devices) {
    line(devices, fmt::format("all-reduce over {} replicas", devices.replicas), [&] { return check_sums(devices); });
    for (DeviceCheck check : checks_) {
      if (std::ranges::find(check.names, "BatchNormalization") == check.names.end()) continue;
      for (std::string& name : check.names) name += fmt::format(" over {} replicas", devices.replicas);
      run_check(devices, check);
    }
  }

 private:
  template <class Check>
  void line(const session::DeviceRequest& devices, const std::string& name, const Check& check) {
    const Stopwatch watch;
    const Outcome outcome = check();
    report(devices, name, outcome, watch.seconds());
  }

  void run_check(const session::DeviceRequest& devices, const DeviceCheck& check) {
    const Stopwatch watch;
    const Outcome outcome = outcome_of(check, -1, devices);
    const double seconds = watch.seconds() / static_cast<double>(check.names.size());
    for (std::size_t i = 0; i < check.names.size(); ++i) {
      if (outcome.passed || check.names.size() == 1)
        report(devices, check.names[i], outcome, seconds);
      else
        line(devices, check.names[i], [&] { return outcome_of(check, static_cast<int>(i), devices); });
    }
  }

  void report(const session::DeviceRequest& devices, const std::string& name, const Outcome& outcome, double seconds) {
    passed_ = passed_ && outcome.passed;
    on_line_({names_of(devices), name, outcome.passed, outcome.found, seconds});
  }

  const std::vector<DeviceCheck>& checks_;
  const std::function<void(const DeviceCheckLine&)>& on_line_;
  bool passed_ = true;
};

}  // namespace

bool check_devices(const session::DeviceRequest& devices, const std::vector<DeviceCheck>& checks,
                   const std::function<void(const DeviceCheckLine&)>& on_line) {
  Checker checker(checks, on_line);
  std::vector<session::GpuId> different;
  for (const session::GpuId& gpu : devices.gpus)
    if (std::ranges::find(different, gpu) == different.end()) different.push_back(gpu);
  for (const session::GpuId& gpu : different) checker.check_one(session::request_of({gpu}));
  checker.check_all(devices.replicas > 1 ? devices : session::request_of({devices.gpus.front(), devices.gpus.front()}));
  return checker.passed();
}

}  // namespace dptrain::bench
