// dptrain check: finds the mistakes in a config without training.

#include <memory>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/output.h"
#include "cli/run_header.h"
#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "formats/checkpoint/weights.h"
#include "session/conv_cache.h"
#include "session/dry_plan.h"
#include "session/session.h"
#include "session/slots.h"

namespace dptrain::cli {
namespace {

struct CheckFlags {
  std::vector<std::string> configs;
  DeviceFlags devices;
  ConfigFlags overrides;
  std::string data = "real";
  bool with_data = false;
};

/// Opens the data sets as fit does and reads one batch from each.
void check_data(const CheckFlags& flags, const experiment::Experiment& experiment) {
  session::SessionOptions options;
  options.devices = flags.devices.request();
  options.data = flags.data == "synthetic" ? session::DataMode::kSynthetic : session::DataMode::kReal;
  options.wants_test = true;
  session::Session session(experiment, options);
  const auto check_loader = [](const char* name, data::Loader* loader) {
    if (loader == nullptr) return;
    loader->seek(0, 0);
    const data::Batch batch = loader->next();
    print_fitted(
        fmt::format("data.{:<11}{}, first batch of {} read", name, counted(loader->samples(), "sample"), batch.rows()));
  };
  check_loader("train", &session.train_loader());
  warn_of_large_batch(session);
  check_loader("validation", session.validation_loader());
  check_loader("test", session.test_loader());
  session.warn_about_bad_samples();
  if (!session.class_names().empty()) print_fitted("classes         " + session.class_names().text());
}

/// Checks that the files exist, without opening them.
void require_files(const experiment::DataSection& data) {
  config::Diagnostics missing;
  data::find_missing({data.train, data.validation, data.test}, {}, missing);
  missing.throw_if_errors(ErrorKind::kData);
}

/// Checks the memory of CPUs only.
void require_memory(const experiment::Experiment& experiment, const session::DeviceRequest& devices,
                    const session::DryPlan& plan) {
  if (devices.on_gpus()) return;
  const std::uint64_t share = backend::cpu_memory_available() / static_cast<std::uint64_t>(devices.replicas);
  if (share == 0 || plan.replica_bytes <= share) return;
  const bool trains = static_cast<bool>(experiment.config.train.loss);
  const std::int64_t batch =
      trains ? experiment::global_batch(experiment.config.train, devices.replicas) : session::kDefaultRows;
  throw Error(ErrorKind::kMemory,
              fmt::format("{}: a replica needs {}, {} are free for it", experiment.file,
                          human_bytes(plan.replica_bytes), human_bytes(share)) +
                  session::memory_advice(experiment, devices, {.global_batch = batch, .training = trains}));
}

void check_config(const std::string& config, const CheckFlags& flags) {
  const experiment::Experiment experiment = experiment::load_with_warnings(config, flags.overrides.overrides());
  session::require_weights_file(experiment);
  if (flags.data == "real") require_files(experiment.config.data);
  const session::DeviceRequest devices = session::place_slots(flags.devices.plan_request(), experiment.graph);
  session::DryPlan plan;
  session::make_dry_plan(experiment, devices,
                         {.conv_choices = session::open_conv_choices(experiment.config.runtime, devices)}, plan);
  print_fitted(fmt::format("model           {}, {} trainable, {}", counted(plan.model.parameters(), "parameter"),
                           with_commas(plan.model.trainable_parameters()), counted(plan.plan.steps.size(), "step")));
  print_fitted(fmt::format("memory          {} per replica at {}, {} of it activations and scratch",
                           human_bytes(plan.replica_bytes), counted(plan.memory.rows, "row"),
                           human_bytes(plan.batch_bytes)));
  require_memory(experiment, devices, plan);
  if (experiment.graph.weights) print_fitted(formats::load_weights(*experiment.graph.weights, plan.model).table());
  if (flags.with_data) {
    if (!experiment.config.train.loss)
      throw Error(ErrorKind::kUsage, fmt::format("{}: --with-data needs a section 'train'", experiment.file));
    check_data(flags, experiment);
  }
  const bool trains = static_cast<bool>(experiment.config.train.loss);
  print_fitted(fmt::format("{}: ok{}", config,
                           !trains           ? ", but it cannot be trained: there is no section 'train'"
                           : flags.with_data ? ""
                                             : " (data not opened; --with-data does)"));
}

/// Returns the exit code of the first config with an error.
int run(const CheckFlags& flags) {
  int code = 0;
  for (const std::string& config : flags.configs) try {
      check_config(config, flags);
    } catch (const Error& error) {
      const int own = print_error(error);
      if (code == 0) code = own;
    }
  return code;
}

}  // namespace

void add_check(App& app) {
  const auto flags = std::make_shared<CheckFlags>();
  Command& command = app.command("check", "find every mistake in a config; trains nothing");
  command.describe(
      "Reads the config, builds the graph with all shapes, plans steps and memory for the device, and checks that the "
      "files of the data sets exist (except with --data synthetic). Every mistake is shown with file, line and "
      "column.");
  command.example("configs/fashion_mnist.yaml").example("configs/fashion_mnist.yaml --with-data --cpus 2");
  command.positionals("CONFIG", flags->configs, "experiments, YAML files");
  command.section("Check")
      .flag("--with-data", flags->with_data, "open the data sets too and read one batch of each")
      .choice("--data", {"real", "synthetic"}, flags->data, "synthetic: generated data in place of every data set");
  flags->devices.add(command);
  flags->overrides.add_batch(command);
  flags->overrides.add(command);
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
