// dptrain eval: the metrics of a checkpoint on a data set.

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/assertion.h"
#include "cli/class_scores.h"
#include "cli/classes.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/confusion.h"
#include "cli/device_flags.h"
#include "cli/eval_pictures.h"
#include "cli/model_source.h"
#include "cli/processes.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "picture/file.h"
#include "train/line_file.h"
#include "train/progress.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct EvalFlags {
  std::string source;
  std::optional<std::string> weights, on, output;
  DeviceFlags devices;
  ConfigFlags overrides;
  std::vector<std::string> assertions;
  std::string data = "real";
  bool ema = false;
};

/// The data set that is judged when nobody asks for one.
std::string usual(const experiment::Experiment& experiment) {
  const experiment::DataSection& data = experiment.config.data;
  if (data.test) return "test";
  return data.validation ? "validation" : "";
}

/// Which data set: as asked, else the usual one. Says why.
std::string choose(const EvalFlags& flags, const experiment::Experiment& experiment) {
  const experiment::DataSection& data = experiment.config.data;
  const bool synthetic = flags.data == "synthetic";
  if (flags.on) {
    const bool present = *flags.on == "train"  ? data.train || synthetic
                         : *flags.on == "test" ? static_cast<bool>(data.test)
                                               : static_cast<bool>(data.validation);
    if (!present)
      throw Error(ErrorKind::kUsage, fmt::format("--on {}: the config has no data.{}", *flags.on, *flags.on));
    return *flags.on;
  }
  if (const std::string on = usual(experiment); !on.empty()) return on;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("{}: there is neither data.test nor data.validation; add one, or give --on train", experiment.file));
}

session::SessionOptions session_options(const EvalFlags& flags, const std::string& on) {
  session::SessionOptions options;
  options.devices = flags.devices.request();
  options.data = flags.data == "synthetic" ? session::DataMode::kSynthetic : session::DataMode::kReal;
  options.training = false;
  options.wants_train = on == "train";
  options.wants_validation = on == "validation";
  options.wants_test = on == "test";
  return options;
}

data::Loader& loader_of(session::Session& session, const std::string& on) {
  if (on == "train") return session.train_loader();
  return on == "test" ? *session.test_loader() : *session.validation_loader();
}

/// --output, else the checkpoint's run, else here. Made when it is missing.
fs::path output_folder(const EvalFlags& flags, const ModelSource& source) {
  const fs::path folder = flags.output ? *flags.output : run_of(source.checkpoint);
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error)
    throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write: {}; choose another folder with --output",
                                               folder.string(), error.message()));
  return folder;
}

/// Labels are matched by name: a data set in another order would be judged wrongly without a word.
void check_class_names(const ModelSource& source, const std::vector<std::string>& data) {
  if (!source.state || source.state->class_names.empty() || data.empty() || source.state->class_names == data) return;
  throw Error(ErrorKind::kData,
              fmt::format("{} was trained on the classes {}, the data set has {}; give the data set class_names in the "
                          "checkpoint's order",
                          source.checkpoint, join(source.state->class_names, ", "), join(data, ", ")));
}

/// "eval.json"; of another set than the usual one "eval-train.json", so that neither replaces the other.
std::string file_name(const std::string& stem, const std::string& on, const experiment::Experiment& experiment,
                      const std::string& suffix) {
  return stem + (on == usual(experiment) ? "" : "-" + on) + suffix;
}

/// The averages over the classes that may be asserted, too.
const std::vector<std::string>& score_names() {
  static const std::vector<std::string> names{"precision", "recall", "f1"};
  return names;
}

/// What is known of the classes of one output.
struct OutputScores {
  std::string output;  ///< "" where the model has one
  std::vector<ClassScore> scores;
};

/// "f1"; of one output among several "kind_f1".
std::string score_name(const std::string& output, const std::string& score) {
  return output.empty() ? score : output + "_" + score;
}

/// Undefined averages count as not fulfilled: NaN. A metric of that name stays.
void add_averages(const OutputScores& of, std::vector<std::pair<std::string, double>>& values) {
  const ClassScore mean = macro_average(of.scores);
  const std::array averages{mean.precision, mean.recall, mean.f1};
  for (std::size_t i = 0; i < averages.size(); ++i) {
    const std::string name = score_name(of.output, score_names()[i]);
    if (std::ranges::none_of(values, [&](const auto& value) { return value.first == name; }))
      values.emplace_back(name, averages[i].value_or(std::nan("")));
  }
}

std::string results_json(const ModelSource& source, const std::string& on, std::int64_t samples,
                         const std::vector<std::pair<std::string, double>>& values,
                         const std::vector<OutputScores>& scores) {
  nlohmann::ordered_json json{{"checkpoint", source.checkpoint}, {"on", on}, {"n", samples}};
  for (const auto& [name, value] : values) json[name] = value;
  for (const OutputScores& one : scores)
    if (one.output.empty())
      json.update(scores_json(one.scores));
    else
      json["outputs"][one.output] = scores_json(one.scores);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_values(const std::vector<std::pair<std::string, double>>& values, std::int64_t samples) {
  for (const auto& [name, value] : values) log::print(fmt::format("{}: {:.6g}", name, value));
  log::print(fmt::format("n: {}", samples));
}

int run(const EvalFlags& flags, const Context& context, mpi::Processes* processes) {
  const std::vector<Assertion> assertions = parse_assertions(flags.assertions);
  const ModelSource source = open_model_source(flags.source, flags.weights, flags.overrides.overrides(),
                                               {.with_config = "eval CONFIG --weights {}"});
  if (source.checkpoint.empty())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("eval needs weights: give a checkpoint in place of {}, or --weights FILE.h5", flags.source));
  if (!source.experiment.config.train.loss)
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: eval needs a loss; add the section 'train'", source.experiment.file));
  const std::string on = choose(flags, source.experiment);
  const fs::path folder = output_folder(flags, source);

  session::SessionOptions options = session_options(flags, on);
  options.processes = processes;
  options.learned = source.learned;
  session::Session session(source.experiment, options);
  const graph::Graph& graph = session.model().graph;
  const std::vector<Classes> classes = classes_of_outputs(source.experiment, graph, session.class_names());
  std::vector<std::string> known = session::sum_names(session.plan());
  for (const plan::LossStep& loss : session.plan().losses)
    for (const std::string& score : score_names())
      if (classes[static_cast<std::size_t>(loss.output)].known()) known.push_back(score_name(loss.name, score));
  check_names(assertions, known);
  source.load_weights(session.model(), flags.ema);
  session::require_equal(processes, {{"the weights", session::checksum_of(session.model())}}, ErrorKind::kCheckpoint);
  session.replicas().push(session.model());
  check_class_names(source, session.class_names());
  log::info(fmt::format("{} on {}{}", source.checkpoint, on,
                        on == "validation" && !flags.on ? " (the config has no test set)" : ""));

  data::Loader& loader = loader_of(session, on);
  train::Progress progress(session.world().is_first() && !context.quiet && !context.json ? train::ProgressMode::kAuto
                                                                                         : train::ProgressMode::kOff);
  const Stopwatch watch;
  train::BarState bar{.total = loader.batches_per_epoch(), .values = " - " + on};
  const auto show = [&] {
    ++bar.done;
    bar.seconds = watch.seconds();
    progress.draw(bar);
    return true;
  };
  const replica::StepSums sums = *session::evaluate(session, loader, show);
  progress.clear();
  std::vector<std::pair<std::string, double>> values = session::values_of(session.plan(), sums);
  if (!log::is_json()) print_values(values, sums.samples);
  session.warn_about_bad_samples();

  const bool any_known = std::ranges::any_of(classes, [](const Classes& one) { return one.known(); });
  const std::vector<Confusion> matrices = any_known ? confusions(session, loader, classes) : std::vector<Confusion>{};
  if (!session.world().is_first()) return 0;

  std::vector<OutputScores> scores;
  const std::string file = file_name("eval", on, source.experiment, ".json");
  std::string written = (folder / file).string();
  std::vector<std::pair<std::string, picture::Drawing>> pictures;  // to be written when all else is
  if (any_known) {
    for (const plan::LossStep& loss : session.plan().losses) {
      const Classes& of = classes[static_cast<std::size_t>(loss.output)];
      if (!of.known()) continue;
      const Confusion& matrix = matrices[scores.size()];
      scores.push_back({loss.name, class_scores(matrix, of)});
      const std::string stem = loss.name.empty() ? "confusion" : "confusion-" + loss.name;
      const std::string table = (folder / file_name(stem, on, source.experiment, ".csv")).string();
      const std::string heading = loss.name.empty() ? "" : loss.name + ":\n";
      if (!log::is_json()) log::info(heading + trim(scores_table(scores.back().scores)));
      train::write_text(table, matrix.csv(of));
      written += " and " + table;
      const std::string of_output = loss.name.empty() ? "" : "-" + loss.name;
      const auto picture = [&](const std::string& kind) {
        return (folder / file_name(kind + of_output, on, source.experiment, ".svg")).string();
      };
      const std::string title =
          fmt::format("{}{} on {}", source.experiment.config.name, loss.name.empty() ? "" : ", " + loss.name, on);
      pictures.emplace_back(picture("confusion"), draw_confusion(title, matrix, of));
      pictures.emplace_back(picture("scores"), draw_scores(title, scores.back().scores));
    }
  }
  const std::string results = results_json(source, on, sums.samples, values, scores);
  if (log::is_json()) log::print(results);
  train::write_text((folder / file).string(), results + "\n");
  log::info("wrote " + written);
  std::vector<std::string> drawn;
  for (const auto& [place, drawing] : pictures) {
    picture::write(place, drawing);
    drawn.push_back(place);
  }
  if (!drawn.empty()) log::info("drew " + join(drawn, " and "));
  for (const OutputScores& one : scores) add_averages(one, values);
  check(assertions, values);
  return 0;
}

}  // namespace

void add_eval(App& app) {
  const auto flags = std::make_shared<EvalFlags>();
  Command& command = app.command("eval", "loss and metrics of a checkpoint on a data set");
  command.describe(
      "Prints one `name: value` line per metric, and writes eval.json, and of classes confusion.csv and the pictures "
      "confusion.svg and scores.svg (eval-train.json ... with --on train) into the checkpoint's run directory, or into "
      "the current one.");
  command.example("runs/fashion-mnist/001/checkpoints/best.h5")
      .example("runs/fashion-mnist/001 --on test --assert 'accuracy>=0.90'")
      .example("configs/fashion_mnist.yaml --weights model.h5 --cpus 2");
  command.positional(
      "CONFIG|CKPT", flags->source,
      "a checkpoint, a run's folder (its best.h5, else last.h5) or its model.h5; or a config, with --weights");
  flags->devices.add(command);
  command.section("Evaluation")
      .option("--weights", "FILE", flags->weights,
              "a checkpoint or a file of Keras, when the first argument is a config")
      .choice("--on", {"test", "validation", "train"}, flags->on, "the data set (default test, else validation)")
      .choice("--data", {"real", "synthetic"}, flags->data, "synthetic: generated data in place of the data set")
      .flag("--ema", flags->ema, "use the exponential moving averages of the weights")
      .option("--output", "DIR", flags->output, "where eval.json, confusion.csv and the pictures go")
      .option("--assert", "EXPR", flags->assertions, "exit 7 unless this holds, as in 'accuracy>=0.90' or 'f1>=0.9'");
  flags->overrides.add_batch(command);
  flags->overrides.add(command);
  command.run([flags](const Context& context) {
    return together([&](mpi::Processes* processes) { return run(*flags, context, processes); });
  });
}

}  // namespace dptrain::cli
