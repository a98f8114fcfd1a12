// dptrain bench: measures how fast training is, where the time is spent, and which hardware limits bound it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <unistd.h>

#include "backend/kernel_bench.h"
#include "bench/prediction_report.h"
#include "bench/processes.h"
#include "bench/report.h"
#include "bench/scaling_chart.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/output.h"
#include "cli/prediction_flags.h"
#include "cli/processes.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/terminal.h"
#include "core/text.h"
#include "experiment/experiment.h"
#include "plot/file.h"
#include "session/conv_cache.h"
#include "session/devices.h"
#include "session/slots.h"

namespace dptrain::cli {
namespace {

std::string number(double value) { return value == 0 ? "" : fmt::format("{:.1f}", value); }

void require_cpu(const session::DeviceRequest& devices, const std::string& flag) {
  if (devices.on_gpus())
    throw Error(ErrorKind::kUsage,
                fmt::format("{} times kernels of the CPU; name it with --cpus 1xT or --gpus none", flag));
}

/// Prints a line for each kernel, for the convolutions of `experiment` (null: those of the bundled bench configs).
/// Throws Error{kUsage} for more than one CPU replica or GPUs.
void bench_kernels(const experiment::Experiment* experiment, const session::DeviceRequest& request,
                   const std::string& filter) {
  require_cpu(request, "--kernels");
  if (request.replicas != 1)
    throw Error(ErrorKind::kUsage,
                fmt::format("--kernels runs on one replica; give --cpus 1x{}", std::max(1, request.threads)));
  const session::DeviceRequest devices = session::with_threads(request);
  const auto convolutions = std::make_shared<backend::ConvChoices>();
  if (experiment != nullptr)
    session::collect_convolutions(*experiment, devices, convolutions);
  else
    session::collect_shipped_convolutions(devices, convolutions);

  const double peak = backend::list_cpu().front().peak_gflops * devices.threads;
  bool first = true;
  backend::bench_kernels(
      *convolutions, {.threads = devices.threads, .filter = filter}, [&](const backend::KernelTime& time) {
        if (first)
          print_fitted(fmt::format("{}, {}\n{:<56} {:>10} {:>9} {:>7} {:>8} {:>8}", backend::cpu_identity(),
                                   counted(devices.threads, "thread"), "kernel", "ms", "GFLOP/s", "of peak", "GB/s",
                                   "error"));
        first = false;
        print_fitted(fmt::format("{:<56} {:>10.3f} {:>9} {:>7} {:>8} {:>8}", time.name, time.milliseconds,
                                 number(time.gflops),
                                 time.gflops == 0 ? "" : fmt::format("{:.1f}%", 100 * time.gflops / peak),
                                 number(time.gbytes), time.error == 0 ? "" : fmt::format("{:.1e}", time.error)));
      });
}

/// Times the convolutions of the config's plan, prints the fastest, and stores them in the cache file. Throws
/// Error{kUsage} for GPUs and for `runtime.conv_cache: none`, Error{kWrite}.
void tune_convolutions(const experiment::Experiment& experiment, const session::DeviceRequest& request) {
  require_cpu(request, "--tune");
  const experiment::RuntimeSection& runtime = experiment.config.runtime;
  if (runtime.conv == backend::ConvChoice::kDirect)
    throw Error(ErrorKind::kUsage, "--tune times Winograd's convolutions too; runtime.conv must be auto (--conv auto)");
  const std::string file = session::conv_cache_file(runtime);
  if (file.empty())
    throw Error(ErrorKind::kUsage,
                "--tune cannot save its results: runtime.conv_cache must be auto, with HOME set, or a file");
  const session::DeviceRequest devices = session::with_threads(request);
  const auto asked = std::make_shared<backend::ConvChoices>();
  session::collect_convolutions(experiment, devices, asked);

  backend::ConvChoices::Names names;
  double by_rule = 0, best = 0;  // seconds per sample, over all passes
  backend::time_convolutions(*asked, runtime.conv, devices.threads, [&](const backend::ConvTiming& timing) {
    std::string line = fmt::format("{}\n ", timing.key);
    for (const auto& [name, seconds] : timing.seconds) {
      line += fmt::format(" {}{} {:.3f} ms", name == timing.best ? "*" : "", name, seconds * 1e3);
      if (name == timing.rule) by_rule += seconds / static_cast<double>(timing.rows);
      if (name == timing.best) best += seconds / static_cast<double>(timing.rows);
    }
    print_fitted(fmt::format("{}, {:.1f} GFLOP/s{}", line, timing.gflops(),
                             timing.best == timing.rule ? "" : "; by rule " + timing.rule));
    names[timing.key] = timing.best;
  });
  if (names.empty()) return print_fitted("the plan has no convolutions: nothing to tune");
  session::save_conv_choices(file, names);
  print_fitted(fmt::format("all passes, each shape once: by rule {:.3f} ms a sample, tuned {:.3f} ms", by_rule * 1e3,
                           best * 1e3));
  log::info(fmt::format("saved {} choices in {}", names.size(), file));
}

struct BenchFlags {
  std::optional<std::string> config, filter;
  ConfigFlags overrides;
  DeviceFlags devices;
  std::vector<std::string> sweeps;
  std::optional<std::int64_t> steps, warmup, repeats, samples;
  std::string data = "synthetic", mode = "strong";
  bool layers = false, kernels = false, tune = false;
  std::optional<std::string> baseline, max_regression, output, predict;
};

struct Point {
  session::DeviceRequest devices;
  std::int64_t batch = 0;
};

constexpr std::string_view kProcesses = "processes=";

std::int64_t whole(const std::string& text, const std::string& flag) {
  try {
    std::size_t used = 0;
    const long long value = std::stoll(text, &used);
    if (used == text.size() && value >= 1) return value;
  } catch (const std::logic_error&) {
  }
  throw Error(ErrorKind::kUsage, fmt::format("--sweep {}: '{}' is not a whole number >= 1", flag, text));
}

/// The values of --sweep processes=1,2,4.
std::vector<std::int64_t> swept_processes(const BenchFlags& flags) {
  std::vector<std::int64_t> counts;
  for (const std::string& sweep : flags.sweeps) {
    if (!sweep.starts_with(kProcesses)) continue;
    if (flags.sweeps.size() > 1 || flags.layers || flags.mode == "weak")
      throw Error(ErrorKind::kUsage,
                  "--sweep processes cannot be combined with another --sweep, --layers or --mode weak");
    for (const std::string& value : split(sweep.substr(kProcesses.size()), ','))
      counts.push_back(whole(value, "processes"));
  }
  return counts;
}

/// The command line of each measured process.
std::vector<std::string> process_arguments(const Context& context) {
  std::vector<std::string> words;
  for (std::size_t i = 1; i < context.arguments.size(); ++i) {
    const std::string& word = context.arguments[i];
    constexpr std::string_view kDropped[] = {"--sweep", "--output", "--baseline", "--max-regression", "--predict"};
    const bool dropped = std::ranges::find(kDropped, word) != std::end(kDropped);
    const bool dropped_whole = std::ranges::any_of(
        kDropped, [&](std::string_view flag) { return word.starts_with(flag) && word.substr(flag.size())[0] == '='; });
    if (dropped) ++i;
    if (!dropped && !dropped_whole) words.push_back(word);
  }
  return words;
}

/// Every combination of the swept values; with --mode weak the batch grows with the replicas.
std::vector<Point> points(const BenchFlags& flags, const experiment::Experiment& experiment,
                          const distributed::Processes* processes) {
  const int many = processes == nullptr ? 1 : processes->count();
  std::vector<session::DeviceRequest> devices;
  std::vector<std::int64_t> batches;
  std::set<std::string> swept_devices;
  for (const std::string& sweep : flags.sweeps) {
    const std::size_t equals = sweep.find('=');
    const std::string key = sweep.substr(0, equals);
    if (equals == std::string::npos || (key != "cpus" && key != "gpus" && key != "batch"))
      throw Error(ErrorKind::kUsage,
                  fmt::format("--sweep must be cpus=1,2, gpus=1,2, batch=64,128 or processes=1,2, found '{}'", sweep));
    if (key != "batch" && !swept_devices.insert(key).second)
      throw Error(ErrorKind::kUsage, fmt::format("--sweep {} is given twice; write one list", key));
    for (const std::string& value : split(sweep.substr(equals + 1), ',')) {
      if (key == "cpus")
        devices.push_back(parse_cpus(value));
      else if (key == "gpus")
        devices.push_back(flags.devices.first_gpus(whole(value, "gpus")));
      else
        batches.push_back(whole(value, "batch"));
    }
  }
  if (devices.empty()) devices.push_back(flags.devices.request());
  std::vector<Point> all;
  for (const session::DeviceRequest& asked : devices) {
    const session::DeviceRequest request = session::place_slots(asked, experiment.graph);
    const std::int64_t base =
        experiment::global_batch(experiment.config.train, flags.mode == "weak" ? 1 : request.replicas * many);
    for (const std::int64_t batch : batches.empty() ? std::vector<std::int64_t>{base} : batches)
      all.push_back({request, flags.mode == "weak" ? batch * request.replicas * many : batch});
  }
  return all;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write", path.string()));
}

double fraction(const std::string& text) {
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    const std::string unit = trim(text.substr(used));
    if (unit == "%") return value / 100;
    if (unit.empty()) return value;
  } catch (const std::logic_error&) {
  }
  throw Error(ErrorKind::kUsage, fmt::format("--max-regression must be a share such as 3% or 0.03, found '{}'", text));
}

bench::BenchData data_of(const std::string& name) {
  if (name == "real") return bench::BenchData::kReal;
  return name == "synthetic" ? bench::BenchData::kSynthetic : bench::BenchData::kLoaderOnly;
}

int run_kernels(const BenchFlags& flags) {
  std::optional<experiment::Experiment> experiment;
  if (flags.config) experiment = experiment::load_with_warnings(*flags.config, flags.overrides.overrides());
  const bool on_gpus = flags.devices.gpus || flags.devices.num_gpus;
  const session::DeviceRequest devices =
      flags.devices.cpus || on_gpus ? flags.devices.request() : session::DeviceRequest{};
  if (flags.kernels)
    bench_kernels(experiment ? &*experiment : nullptr, devices, flags.filter.value_or(""));
  else
    tune_convolutions(*experiment, devices);
  return 0;
}

int compare(const BenchFlags& flags, const std::vector<bench::BenchRow>& rows) {
  if (!flags.baseline) return 0;
  const std::vector<std::string> slower =
      bench::regressions(*flags.baseline, rows, fraction(flags.max_regression.value_or("3%")));
  for (const std::string& line : slower) log::error("slower than " + *flags.baseline + ": " + line);
  return slower.empty() ? 0 : static_cast<int>(ErrorKind::kCheck);
}

/// Warns that replicas with different numbers of threads do not show how replicas scale.
void note_different_threads(const std::vector<bench::BenchRow>& rows) {
  std::set<int> threads;
  for (const bench::BenchRow& row : rows)
    if (!row.devices.on_gpus()) threads.insert(session::with_threads(row.devices).threads);
  if (threads.size() > 1)
    log::info("replicas of different numbers of threads are compared; write 1x1, 2x1 for replicas of one thread each");
}

std::filesystem::path output_folder(const BenchFlags& flags) {
  const std::filesystem::path directory = flags.output.value_or("bench");
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) throw Error(ErrorKind::kWrite, fmt::format("{}: {}", directory.string(), failed.message()));
  return directory;
}

/// Writes the prediction of --predict; `measured` are the rows of --sweep processes.
void predict(const BenchFlags& flags, const experiment::Experiment& experiment, bench::BenchOptions options,
             std::vector<bench::BenchRow> measured) {
  options.devices = flags.devices.request();
  const bench::PredictionReport report = bench::predict_steps(experiment, {.request = parse_prediction(*flags.predict),
                                                                           .config = *flags.config,
                                                                           .weak = flags.mode == "weak",
                                                                           .options = options,
                                                                           .measured = std::move(measured)});
  log::print(bench::prediction_table(report, terminal::columns(STDOUT_FILENO)));
  const std::filesystem::path directory = output_folder(flags);
  write(directory / "prediction.csv", bench::prediction_csv(report));
  write(directory / "prediction.json", bench::prediction_json(report));
  log::info(fmt::format("wrote prediction.csv and prediction.json into {}", directory.string()));
}

/// Throws for flags that do not combine with --predict.
void check_predict(const BenchFlags& flags, const distributed::Processes* processes, bool sweeps_processes) {
  if (!flags.predict) return;
  if (processes != nullptr && processes->count() > 1)
    throw Error(ErrorKind::kUsage, "--predict starts the processes that it measures itself; run it without a launcher");
  if ((!flags.sweeps.empty() && !sweeps_processes) || flags.layers || flags.data != "synthetic")
    throw Error(ErrorKind::kUsage,
                "--predict needs synthetic data, and cannot be combined with --layers or a --sweep of anything but "
                "processes (as in processes=1,2)");
}

int run(const BenchFlags& flags, const Context& context, distributed::Processes* processes) {
  if (flags.filter && !flags.kernels) throw Error(ErrorKind::kUsage, "bench: --filter needs --kernels");
  if (!flags.config && !flags.kernels) throw Error(ErrorKind::kUsage, "bench: CONFIG is missing");
  if (flags.predict && (flags.kernels || flags.tune))
    throw Error(ErrorKind::kUsage, "--predict cannot be combined with --kernels or --tune");
  if (flags.kernels || flags.tune) return run_kernels(flags);
  const experiment::Experiment experiment = experiment::load_with_warnings(*flags.config, flags.overrides.overrides());
  bench::BenchOptions options;
  options.data = data_of(flags.data);
  options.steps = flags.steps.value_or(options.steps);
  options.warmup = flags.warmup.value_or(options.warmup);
  options.repeats = flags.repeats.value_or(options.repeats);
  options.layers = flags.layers;

  options.processes = processes;

  std::vector<bench::BenchRow> rows;
  const std::optional<std::size_t> columns = terminal::columns(STDOUT_FILENO);
  const std::vector<std::int64_t> counts = swept_processes(flags);
  check_predict(flags, processes, !counts.empty());
  if (flags.predict && counts.empty()) return predict(flags, experiment, options, {}), 0;
  for (const std::int64_t count : counts)
    for (const bench::BenchRow& row :
         bench::bench_in_processes(count, process_arguments(context), flags.devices.request()))
      rows.push_back(row);
  for (const Point& point : counts.empty() ? points(flags, experiment, processes) : std::vector<Point>{}) {
    options.devices = point.devices;
    options.batch = point.batch;
    rows.push_back(bench::bench(experiment, options));
    if (flags.layers && !rows.back().layers.empty()) {
      log::print(bench::layer_table(rows.back(), columns));
      if (!rows.back().passes.empty()) log::print(bench::bounds_table(rows.back(), columns));
    }
  }
  if (processes != nullptr && !processes->is_first()) return 0;
  log::print(bench::bench_table(rows, options.data, columns));
  note_different_threads(rows);
  for (const bench::BenchRow& row : rows)
    if (row.virtual_shards > 0)
      print_fitted(fmt::format("{} batch {}: {}", bench::row_name(row), row.global_batch, bench::shard_overhead(row)));
  for (const bench::BenchRow& row : rows)
    log::info(fmt::format("{} batch {}{}: start to first step {:.3f} s, opening data {:.3f} s", bench::row_name(row),
                          row.global_batch,
                          row.micro_batches > 1 ? fmt::format(" in {} micro-batches", row.micro_batches) : "",
                          row.start_seconds, row.open_data_seconds));

  const std::filesystem::path directory = output_folder(flags);
  if (flags.layers) {  // separate files, because timing layers slows the steps
    write(directory / "bench-layers.csv", bench::bench_csv(rows));
    write(directory / "bench-layers.json", bench::bench_json(rows, *flags.config, options.data));
    log::info(fmt::format("wrote bench-layers.csv and bench-layers.json into {}", directory.string()));
    return compare(flags, rows);
  }
  write(directory / "bench.csv", bench::bench_csv(rows));
  write(directory / "bench.json", bench::bench_json(rows, *flags.config, options.data));
  constexpr std::int64_t kSamples = 60000;  // an epoch of the MNIST family
  plot::write((directory / "scaling.svg").string(),
              plot::draw(bench::scaling_chart(rows, experiment.config.name,
                                              static_cast<double>(flags.samples.value_or(kSamples)))));
  log::info(fmt::format("wrote bench.csv, bench.json and scaling.svg into {}", directory.string()));
  if (flags.predict) predict(flags, experiment, options, rows);
  return compare(flags, rows);
}

}  // namespace

void add_bench(App& app) {
  const auto flags = std::make_shared<BenchFlags>();
  Command& command = app.command("bench", "measure steps per second and where the time goes");
  command.describe(
      "Warms up, then times --repeats of --steps steps and reports medians. Synthetic data is one batch in memory, so "
      "that only computing is measured. Writes bench.csv, bench.json and scaling.svg; with --layers bench-layers.csv "
      "and bench-layers.json.");
  command.example("configs/bench/fashion_cnn.yaml --sweep cpus=1x1,2x1")
      .example("configs/fashion_mnist.yaml --data real --cpus 2 --layers")
      .example("configs/fashion_mnist.yaml --tune --cpus 1x2")
      .example("configs/bench/resnet50.yaml --predict 'gpus=8,nodes=64,link=200Gbit,latency=3us,step=85ms'")
      .example("--kernels --cpus 1x1 --filter 'conv/.*/forward'");
  command.positional("CONFIG", flags->config, "config file; optional with --kernels");
  flags->devices.add(command);
  command.option(
      "--sweep", "WHAT=A,B", flags->sweeps,
      "cpus=1,2x1 or gpus=1,2 or batch=64,128; every combination is measured; or processes=1,2,4, by mpirun");
  command.choice("--mode", {"strong", "weak"}, flags->mode, "weak: the batch grows with the replicas");
  command.choice("--data", {"real", "synthetic", "loader-only"}, flags->data, "data of the steps (synthetic)");
  command.integer("--steps", "N", flags->steps, "steps of a repeat (100)");
  command.integer("--warmup", "N", flags->warmup, "steps before the first repeat (20)");
  command.integer("--repeats", "N", flags->repeats, "repeats; the medians are reported (3)");
  command.integer("--samples", "N", flags->samples, "samples of the total time in scaling.svg (60000)");
  command.flag("--layers", flags->layers,
               "time every layer, with its fraction of the FMA peak and its bound by operations and bytes");
  command.option("--baseline", "FILE", flags->baseline, "an earlier bench.json to compare with; exit 7 when slower");
  command.option("--max-regression", "SHARE", flags->max_regression, "largest loss of speed that passes (3%)");
  command.option("--output", "DIR", flags->output, "folder for the files (bench)");
  command.option(
      "--predict", "KEY=VALUE,...", flags->predict,
      "predict the time of a step on a cluster: gpus=8,nodes=64,link=200Gbit,latency=3us,step=85ms, or processes=4 "
      "(CPUs)");
  command.section("Kernels of the CPU")
      .flag("--kernels", flags->kernels,
            "time each kernel by itself, convolutions of CONFIG or of configs/bench/ with every algorithm, and compare "
            "with plain loops")
      .option("--filter", "REGEX", flags->filter, "only kernels whose names contain a match")
      .flag("--tune", flags->tune,
            "time every algorithm for CONFIG's convolutions, and save the fastest for later runs (runtime.conv_cache)")
      .exclusive({"--kernels", "--tune"});
  flags->overrides.add_batch(command);
  flags->overrides.add(command);
  command.run([flags](const Context& context) {
    return run_processes([&](distributed::Processes* processes) { return run(*flags, context, processes); });
  });
}

}  // namespace dptrain::cli
