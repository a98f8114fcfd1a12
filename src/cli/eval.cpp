// dptrain eval: evaluates a checkpoint on a data set.

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/processes.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "evaluation/assertion.h"
#include "evaluation/evaluation.h"
#include "evaluation/evaluation_files.h"
#include "evaluation/evaluation_result.h"
#include "evaluation/gates.h"
#include "session/session.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct EvalFlags {
  evaluation::EvaluationRequest request;
  DeviceFlags devices;
  ConfigFlags overrides;
  std::optional<std::string> output;
  std::vector<std::string> assertions;
  evaluation::GateOptions gates;
  std::string data = "real";
};

/// --output, else the checkpoint's run, else the current folder. Created if it is missing.
fs::path output_folder(const EvalFlags& flags, const train::ModelSource& source) {
  const fs::path folder = flags.output ? *flags.output : train::run_of(source.checkpoint);
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error)
    throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write: {}; choose another folder with --output",
                                               folder.string(), error.message()));
  return folder;
}

void print_values(const evaluation::EvaluationResult& evaluation_result) {
  for (const auto& [name, value] : evaluation_result.values) log::print(fmt::format("{}: {:.6g}", name, value));
  log::print(fmt::format("n: {}", evaluation_result.samples));
}

int run(const EvalFlags& flags, const Context& context, distributed::Processes* processes) {
  const std::vector<evaluation::Assertion> assertions = evaluation::parse_assertions(flags.assertions);
  evaluation::EvaluationRequest request = flags.request;
  request.devices = flags.devices.request();
  request.overrides = flags.overrides.overrides();
  request.synthetic = flags.data == "synthetic";
  evaluation::Evaluation evaluation(request, processes);
  const fs::path folder = output_folder(flags, evaluation.source());
  std::optional<evaluation::Gates> gates;
  if (processes == nullptr || processes->is_first())
    gates.emplace(flags.gates, evaluation.source().experiment, evaluation.on());
  session::Session& session = evaluation.open();
  evaluation::check_names(assertions, evaluation::result_names(session.plan(), evaluation.classes()),
                          evaluation::class_score_names(session.plan(), evaluation.classes()));
  if (gates) gates->check(session.plan(), evaluation.classes());
  evaluation.load_weights();

  const bool shows = session.world().is_first() && !context.quiet && !context.json;
  const evaluation::EvaluationResult evaluation_result =
      *evaluate(session, evaluation.classes(), evaluation.on(),
                shows ? train::ProgressMode::kAuto : train::ProgressMode::kOff, [] { return true; });
  if (!log::is_json()) print_values(evaluation_result);
  session.warn_about_bad_samples();
  if (!session.world().is_first()) return 0;

  for (const evaluation::OutputResult& output : evaluation_result.outputs)
    if (output.confusion && !log::is_json())
      log::info((output.name.empty() ? "" : output.name + ":\n") + trim(evaluation::scores_table(output.scores)));
  const evaluation::EvaluatedModel evaluated = evaluation.evaluated(evaluation_result);
  if (log::is_json()) log::print(evaluation::evaluation_json(evaluated));
  log::info("wrote " + join(evaluation::write_numbers(evaluated, folder), ", "));
  if (const std::vector<std::string> drawn = evaluation::write_pictures(evaluated, folder); !drawn.empty())
    log::info("drew " + join(drawn, ", "));
  std::vector<std::pair<std::string, double>> values = evaluation::result_values(evaluation_result);
  std::ranges::move(evaluation::class_score_values(evaluation_result), std::back_inserter(values));
  std::vector<evaluation::Verdict> verdicts = evaluation::verdicts_of(assertions, values);
  if (gates->present())
    std::ranges::move(gates->verdicts(evaluated, session.plan(), session.model().parameters()),
                      std::back_inserter(verdicts));
  gates->conclude(verdicts, evaluation.source().experiment, folder.string());
  return 0;
}

}  // namespace

void add_eval(App& app) {
  const auto flags = std::make_shared<EvalFlags>();
  Command& command = app.command("eval", "loss and metrics of a checkpoint on a data set");
  command.describe(
      "Prints one `name: value` line per metric, and writes eval.json into the checkpoint's run directory, or into the "
      "current one; of classes also confusion.csv, answers.csv, confusion.svg and scores.svg, of a regression "
      "predicted.csv, predicted.svg and residuals.svg, of images worst.svg (with --on train eval-train.json ...).");
  command.example("runs/fashion-mnist/001/checkpoints/best.h5")
      .example("runs/fashion-mnist/001 --on test --assert 'accuracy>=0.90'")
      .example("configs/fashion_mnist.yaml --weights model.h5 --cpus 2");
  command.positional("CONFIG|CKPT", flags->request.source,
                     "a checkpoint, a run's folder (its best.h5, else model.h5 if it completed, else last.h5) or its "
                     "model.h5; or a config, with --weights");
  flags->devices.add(command);
  command.section("Evaluation")
      .option("--weights", "FILE", flags->request.weights,
              "a checkpoint or a file of Keras, when the first argument is a config")
      .choice("--on", {"test", "validation", "train"}, flags->request.on,
              "the data set (default test, else validation)")
      .choice("--data", {"real", "synthetic"}, flags->data, "synthetic: generated data in place of the data set")
      .flag("--ema", flags->request.ema, "use the exponential moving averages of the weights")
      .option("--output", "DIR", flags->output, "folder for eval.json, confusion.csv and the pictures")
      .option("--assert", "EXPR", flags->assertions,
              "exit 7 unless this holds, as in 'accuracy>=0.90' or 'recall of cat>=0.9'");
  add_gate_flags(command, flags->gates);
  flags->overrides.add_batch(command);
  flags->overrides.add(command);
  command.run([flags](const Context& context) {
    return run_processes([&](distributed::Processes* processes) { return run(*flags, context, processes); });
  });
}

}  // namespace dptrain::cli
