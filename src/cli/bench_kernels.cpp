#include "cli/bench_kernels.h"

#include <algorithm>

#include "backend/kernel_bench.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "session/conv_cache.h"

namespace dptrain::cli {
namespace {

std::string number(double value) { return value == 0 ? "" : fmt::format("{:.1f}", value); }

void require_cpu(const session::DeviceRequest& devices, const std::string& flag) {
  if (devices.on_gpus())
    throw Error(ErrorKind::kUsage,
                fmt::format("{} times kernels of the CPU; name it with --cpus 1xT or --gpus none", flag));
}

}  // namespace

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

void tune_convolutions(const experiment::Experiment& experiment, const session::DeviceRequest& request) {
  require_cpu(request, "--tune");
  const experiment::RuntimeSection& runtime = experiment.config.runtime;
  if (runtime.conv == backend::ConvChoice::kDirect)
    throw Error(ErrorKind::kUsage, "--tune times Winograd's convolutions too; runtime.conv must be auto (--conv auto)");
  const std::string file = session::conv_cache_file(runtime);
  if (file.empty())
    throw Error(ErrorKind::kUsage,
                "--tune has nowhere to keep what it finds: runtime.conv_cache must be auto, with HOME set, or a file");
  const session::DeviceRequest devices = session::with_threads(request);
  const auto asked = std::make_shared<backend::ConvChoices>();
  session::collect_convolutions(experiment, devices, asked);

  backend::ConvChoices::Names names;
  double by_rule = 0, best = 0;  // seconds of all passes' samples
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
  session::keep_conv_choices(file, names);
  print_fitted(fmt::format("all passes, each shape once: by rule {:.3f} ms a sample, tuned {:.3f} ms", by_rule * 1e3,
                           best * 1e3));
  log::info(fmt::format("kept {} choices in {}", names.size(), file));
}

}  // namespace dptrain::cli
