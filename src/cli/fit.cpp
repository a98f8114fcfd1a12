// dptrain fit and dptrain resume: training, continuing a run, and the report at the end.

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <memory>

#include <nlohmann/json.hpp>

#include "bench/verify.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/fit_report.h"
#include "cli/processes.h"
#include "cli/run_header.h"
#include "cli/run_summary.h"
#include "cli/sweep_flags.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/log_fields.h"
#include "core/text.h"
#include "core/trace.h"
#include "data/sources/csv_layout.h"
#include "evaluation/assertion.h"
#include "evaluation/gates.h"
#include "experiment/run_files.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/checkpoint/optimizer_state.h"
#include "formats/checkpoint/weights.h"
#include "nn/optimizer.h"
#include "report/record.h"
#include "session/environment.h"
#include "session/session.h"
#include "session/shared_file.h"
#include "sweep/sweep_file.h"
#include "train/find_lr.h"
#include "train/model_source.h"
#include "train/run_directory.h"
#include "train/signals.h"
#include "train/trainer.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct FitFlags {
  std::string config;
  DeviceFlags devices;
  ConfigFlags overrides;
  std::optional<std::string> run_dir, resume, init_from, find_lr, trace;
  std::vector<std::string> assertions;
  evaluation::GateOptions gates;
  std::string data = "real", progress = "auto";
  bool init_optimizer = false;
  bool overwrite = false, dry_run = false, no_report = false;
};

/// The checkpoint and folder that --resume selects.
struct Resume {
  std::string checkpoint;                ///< "": a fresh start
  std::optional<std::string> directory;  ///< where the run continues
};

/// Path of a checkpoint of the run; "" if it does not exist.
std::string present(const std::string& run, const char* name) {
  std::error_code error;
  const fs::path file = fs::path(run) / "checkpoints" / name;
  return !run.empty() && fs::exists(file, error) ? file.string() : "";
}

Resume find_resume(const FitFlags& flags, const experiment::Experiment& experiment) {
  if (!flags.resume) return {"", flags.run_dir};
  const std::string& what = *flags.resume;
  const bool named = what == "last" || what == "best" || what == "auto";
  if (!named) return {train::last_state_file(what), flags.run_dir};
  const std::string run =
      flags.run_dir ? *flags.run_dir : train::RunDirectory::newest(experiment, flags.overrides.name);
  const char* file = what == "best" ? "best.h5" : "last.h5";
  const std::string checkpoint = present(run, file);
  if (!checkpoint.empty()) return {checkpoint, run};
  if (what == "auto") return {"", flags.run_dir};
  if (run.empty())
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("--resume: there is no run of '{}' under {}; start one without --resume, name a file with "
                            "--resume=PATH, or use --resume=auto, which starts a new run if there is none",
                            experiment.config.name, experiment.config.run_dir.value));
  throw Error(ErrorKind::kCheckpoint,
              fmt::format("--resume: {} has no checkpoints/{}; name a file with --resume=PATH, start a new run without "
                          "--resume, or use --resume=auto, which starts a new run if there is no checkpoint",
                          run, file));
}

/// With --init-optimizer a file with the optimizer's state, which model.h5 lacks.
std::string initial_file(const FitFlags& flags) {
  const std::string best = present(*flags.init_from, "best.h5");
  return flags.init_optimizer && best.empty() ? train::last_state_file(*flags.init_from)
                                              : train::weights_file(*flags.init_from);
}

/// Names of the values that the last epoch logs.
std::vector<std::string> metric_names(session::Session& session) {
  std::vector<std::string> names = session::sum_names(session.plan());
  if (session.validation_loader() == nullptr) return names;
  const std::vector<std::string> training = names;
  for (const std::string& name : training) names.push_back("val_" + name);
  return names;
}

void check_trainable(const experiment::Experiment& experiment) {
  if (!experiment.config.train.loss)
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: fit needs a section 'train' with loss, batch_size and epochs", experiment.file));
}

train::RunOptions run_options(const FitFlags& flags, const Resume& resume, const Context& context) {
  return {.directory = resume.directory,
          .name = flags.overrides.name,
          .overwrite = flags.overwrite,
          .resuming_here = !resume.checkpoint.empty() && resume.directory.has_value(),
          .restarting_here = flags.resume == "auto",
          .command = context.arguments};
}

train::ProgressMode progress_mode(const FitFlags& flags, const Context& context) {
  if (flags.progress == "on") return train::ProgressMode::kOn;
  return flags.progress == "off" || context.quiet || context.json ? train::ProgressMode::kOff
                                                                  : train::ProgressMode::kAuto;
}

/// Throws or warns if the final evaluation, on the validation set, cannot check the gates.
void check_gates(const FitFlags& flags, const experiment::Experiment& experiment) {
  if (flags.dry_run || flags.find_lr || (!flags.gates.file && !experiment.config.gates)) return;
  if (flags.no_report && flags.gates.file)
    throw Error(ErrorKind::kUsage, "--no-report skips the evaluation that --gates needs; remove one of them");
  if (flags.no_report)
    log::warn("gates skipped: --no-report skips the evaluation that they need");
  else if (!experiment.config.data.validation)
    throw Error(ErrorKind::kUsage,
                fmt::format("{}: gates need data.validation, which the config does not have; add it, or remove the "
                            "gates with --set gates=null and check them with dptrain eval --gates",
                            experiment.file));
}

int run_dry(session::Session& session) {
  for (const std::string& line : run_header(session, "none (dry run)")) log::info(line);
  log::print(fmt::format("dry run: one batch forward and backward, loss {:.6g}; nothing was updated or written",
                         bench::dry_run(session)));
  return 0;
}

RunSummary make_run_summary(const train::RunDirectory& run, const FitFlags& flags,
                            const experiment::Experiment& experiment) {
  std::error_code ignored;
  RunSummary summary{.run = run.path(), .files = {}};
  for (const char* const name :
       {experiment::kReport, "curves.svg", "train.csv", "train.log", "model.h5", "checkpoints/best.h5"})
    if (fs::exists(run.file(name), ignored)) summary.files.emplace_back(name);
  summary.resume_flags = flags.devices.text();
  if (flags.data == "synthetic") summary.resume_flags += " --data synthetic";
  summary.can_eval = experiment.config.data.validation || experiment.config.data.test;
  summary.peak_bytes = session::peak_resident_bytes();
  return summary;
}

/// Logs the end of a run and returns its exit code.
int report(const train::EndReport& end, const train::RunDirectory& run, const FitFlags& flags,
           const session::Session& session, const Context& context) {
  const train::FitResult& result = end.result;
  if (result.exit == "diverged")
    log::error(
        fmt::format("training diverged: {}; last.h5 has the last weights that were saved before. Try a smaller "
                    "learning rate, clipnorm, or train.on_nonfinite: skip_step or rollback",
                    result.reason));
  if (result.exit_code == static_cast<int>(ErrorKind::kWrite))
    log::error("the last checkpoint, model.h5 or lines of a table could not be written, see the warnings above");
  if (!run.is_here()) return result.exit_code;
  const std::vector<std::string> lines = summary_lines(end, make_run_summary(run, flags, session.experiment()));
  log::info(lines.front(), summary_fields(end, run.path()));
  for (std::size_t i = 1; i < lines.size(); ++i) log::info(lines[i]);
  if (context.quiet) log::print(join(summary_figures(end, run.path()), "\n"));  // results only
  return result.exit_code;
}

/// Process 0 creates the folder; the others receive its path.
train::RunDirectory run_directory(const FitFlags& flags, session::Session& session, const Resume& resume,
                                  const Context& context) {
  distributed::Processes* const processes = session.processes();
  if (!session.world().is_first()) return train::RunDirectory(processes->broadcast(""));
  train::RunDirectory run(session.experiment(), run_options(flags, resume, context), session.class_names());
  if (processes != nullptr) processes->broadcast(run.path());
  return run;
}

/// The initial state of a run without the weights.
struct InitialState {
  std::optional<formats::CheckpointState> state{};     ///< to resume with
  std::optional<formats::OptimizerState> optimizer{};  ///< to start with, without the rest of a checkpoint
};

/// The file of the initial weights: that of --init-from (`initial`, else "") or of `model.weights`.
std::string initial_weights(const std::string& initial, const experiment::Experiment& experiment) {
  const std::optional<graph::WeightsSpec>& weights = experiment.graph.weights;
  return !initial.empty() ? initial : weights ? weights->file.value : "";
}

/// The optimizer's state in the file of the initial weights.
formats::OptimizerState initial_optimizer(const std::string& initial, session::Session& session) {
  const std::string file = initial_weights(initial, session.experiment());
  if (file.empty())
    throw Error(ErrorKind::kUsage,
                "--init-optimizer reads the state of the optimizer from the file of the weights: give --init-from, or "
                "model.weights in the config");
  return formats::read_optimizer_state(file, session.experiment().config.train.optimizer, session.model());
}

/// Settings that change neither the model nor its training.
bool is_without_effect(const std::string& name) {
  constexpr std::array kPrefixes{"name",
                                 "run_dir",
                                 "runtime.",
                                 "train.epochs",
                                 "train.steps",
                                 "train.max_time",
                                 "train.log_every",
                                 "data.loader.workers",
                                 "data.loader.prefetch",
                                 "data.loader.cache",
                                 "parallel.watchdog"};
  return std::ranges::any_of(kPrefixes, [&](const char* prefix) { return name.starts_with(prefix); });
}

/// Logs the settings that differ between a resumed run and the checkpoint.
void log_changed_settings(const formats::CheckpointState& state, const experiment::Experiment& experiment) {
  constexpr std::size_t kMax = 20;
  experiment::Overrides overrides;
  overrides.callbacks = false;
  std::vector<std::string> lines;
  try {
    const experiment::Experiment before =
        experiment::load_experiment_text(state.resolved_config, "checkpoint", overrides);
    for (const report::Change& change : report::changes(before, experiment)) {
      if (is_without_effect(change.name)) continue;
      lines.push_back(change.was.empty()   ? fmt::format("{} {} is new", change.name, change.now)
                      : change.now.empty() ? fmt::format("{} {} is gone", change.name, change.was)
                                           : fmt::format("{} {} -> {}", change.name, change.was, change.now));
    }
  } catch (const Error& unreadable) {
    log::info(fmt::format("the config is not compared with the checkpoint's: {}", unreadable.what()));
  }
  for (std::size_t i = 0; i < std::min(kMax, lines.size()); ++i) log::info("differs from the checkpoint: " + lines[i]);
  if (lines.size() > kMax) log::info(fmt::format("{} more settings differ", lines.size() - kMax));
}

/// Checks the gates and --assert, in the process that owns the run's folder.
void check_run_end(evaluation::Gates& gates, const std::vector<evaluation::Assertion>& assertions,
                   const train::EndReport& ended, const std::optional<LastEvaluation>& last, session::Session& session,
                   const train::RunDirectory& run) {
  std::vector<evaluation::Verdict> verdicts = evaluation::verdicts_of(assertions, ended.result.final.items());
  if (gates.present() && !is_successful(ended)) {
    log::warn("gates skipped: the run did not complete");
    gates.mark_skipped();
  } else if (gates.present()) {
    std::vector<evaluation::Verdict> more = gates.verdicts_without_evaluation();
    if (last) {
      const evaluation::EvaluatedModel evaluated{session.experiment(), last->checkpoint, last->evaluation_result,
                                                 session.source("validation")};
      more = gates.verdicts(evaluated, session.plan(), session.model().parameters());
    }
    std::ranges::move(more, std::back_inserter(verdicts));
  }
  gates.conclude(verdicts, session.experiment(), run.path());
}

/// Closes the run's tables before the report is written.
train::EndReport fit(session::Session& session, const train::RunDirectory& run, const train::FitOptions& options,
                     const InitialState& initial_state) {
  train::Trainer trainer(session, run, options);
  if (initial_state.state) trainer.resume(*initial_state.state);
  if (initial_state.optimizer) trainer.begin_with(*initial_state.optimizer);
  trainer.fit();
  train::EndReport ended = trainer.ended();
  // Process 0 writes for all: its exit code decides whether all or none take part in the evaluation.
  if (distributed::Processes* const processes = session.processes(); processes != nullptr)
    ended.result.exit_code = std::stoi(processes->broadcast(std::to_string(ended.result.exit_code)));
  return ended;
}

void warn_of_slow_decay(const FitFlags& flags, const session::Session& session) {
  const experiment::TrainSection& train = session.experiment().config.train;
  const nn::Epoch epoch{session.steps_per_epoch(), session.global_batch()};
  const auto goal = experiment::Goal::of(train, flags.overrides.epochs, flags.overrides.steps);
  const std::string text =
      slow_decay_text(nn::common(train.optimizer).learning_rate, epoch, goal.in_epochs(epoch.steps));
  if (!text.empty() && session.world().is_first()) log::warn(text);
}

int train_run(const FitFlags& flags, session::Session& session, const Resume& resume, const InitialState& initial_state,
              std::optional<evaluation::Gates>& gates, const Context& context) {
  const std::vector<evaluation::Assertion> assertions = evaluation::parse_assertions(flags.assertions);
  evaluation::check_names(assertions, metric_names(session));
  if (gates && gates->present())
    gates->check(session.plan(),
                 evaluation::classes_of_outputs(session.experiment(), session.model().graph, session.class_names()));
  const train::RunDirectory run = run_directory(flags, session, resume, context);
  if (run.is_here()) log::open_file(run.file("train.log"));
  run.write_json("env.json",
                 session::environment(session.data_fingerprint(), session.devices(), session.device_lines()));
  for (const std::string& line : run_header(session, run.path())) log::info(line);
  if (initial_state.state && run.is_here()) log_changed_settings(*initial_state.state, session.experiment());
  warn_of_slow_decay(flags, session);

  train::FitOptions options{
      .epochs = flags.overrides.epochs,
      .steps = flags.overrides.steps,
      .progress = session.world().is_first() ? progress_mode(flags, context) : train::ProgressMode::kOff};
  if (flags.trace) options.traced = train::parse_step_range(*flags.trace);
  const train::EndReport ended = fit(session, run, options, initial_state);
  std::optional<LastEvaluation> last;
  if (!flags.no_report) last = evaluate_and_report(session, run, ended, options.progress);
  const int code = report(ended, run, flags, session, context);
  if (code != 0) return code;
  if (gates && run.is_here())
    check_run_end(*gates, assertions, ended, last, session, run);
  else
    check(assertions, ended.result.final.items());
  return code;
}

/// Warns of layers frozen at random initial values.
void warn_of_random_frozen_layers(const graph::Model& model) {
  const auto frozen = [&](const graph::Weight& weight) {
    return !model.graph.layers[static_cast<std::size_t>(weight.layer)].trainable;
  };
  const auto first = std::find_if(model.weights.begin(), model.weights.end(), frozen);
  if (first == model.weights.end()) return;
  log::warn(
      fmt::format("frozen layers keep their random initial values ('{}' and others): the config has no model.weights; "
                  "name a file there, or give --init-from",
                  model.graph.layers[static_cast<std::size_t>(first->layer)].name));
}

/// Takes vocabularies and means from the checkpoint or the file of the initial weights.
void set_fitted_state(const std::optional<formats::CheckpointState>& state, const std::string& initial,
                      const experiment::Experiment& experiment, session::SessionOptions& options) {
  if (state) {
    options.fitted_state = state->fitted_state;
    options.fitted_use = data::FittedUse::kResume;
  } else if (const std::string file = initial_weights(initial, experiment); !file.empty()) {
    options.fitted_state = formats::read_fitted_state(file);
    options.fitted_use = initial.empty() ? data::FittedUse::kInputsIfPossible : data::FittedUse::kInputs;
  }
}

/// Warns if the initial weights were trained on other classes. `file`: initial_weights().
void warn_of_other_classes(const std::string& file, const session::Session& session) {
  if (file.empty()) return;
  const ClassNames before =
      data::class_names_of_model(formats::read_fitted_state(file), formats::read_class_names(file));
  if (before.differs_from(session.class_names()))
    log::warn(fmt::format("{} was trained on the classes {}, the data set has {}", file, before.text(),
                          session.class_names().text()));
}

int run(const FitFlags& flags, const Context& context, distributed::Processes* processes) {
  if (flags.progress == "off") log::hide_status();
  evaluation::parse_assertions(flags.assertions);  // before slow work
  if (flags.trace) train::parse_step_range(*flags.trace);
  trace::name_thread("trainer");
  if (flags.overwrite && !flags.run_dir)
    throw Error(ErrorKind::kUsage, "--overwrite replaces the run in --run-dir; give that too");
  std::optional<train::RateRange> rates;  // for --find-lr
  if (flags.find_lr) rates = parse_rate_range(*flags.find_lr, flags.overrides.steps);
  const experiment::Experiment experiment = experiment::load_with_warnings(flags.config, flags.overrides.overrides());
  check_trainable(experiment);
  check_gates(flags, experiment);
  session::SessionOptions options;
  options.processes = processes;
  options.devices = flags.devices.request();
  options.data = flags.data == "synthetic" ? session::DataMode::kSynthetic : session::DataMode::kReal;
  options.may_cache_prefix = !flags.dry_run && !flags.find_lr;
  options.epochs = flags.overrides.epochs;
  options.steps = flags.overrides.steps;
  const bool first = processes == nullptr || processes->is_first();
  std::optional<evaluation::Gates> gates;
  if (first && !flags.dry_run && !flags.find_lr) gates.emplace(flags.gates, experiment, "validation", !flags.no_report);
  const Resume resume = first ? find_resume(flags, experiment) : Resume{};
  const session::SharedFile resumed(processes, resume.checkpoint);
  InitialState initial_state;
  std::optional<formats::CheckpointState>& state = initial_state.state;
  if (!resumed.path().empty()) state = formats::read_state(resumed.path());

  const session::SharedFile initial(processes, first && flags.init_from ? initial_file(flags) : "");

  options.read_weights = !state && !flags.init_from;
  set_fitted_state(state, initial.path(), experiment, options);
  session::Session session(experiment, options);
  if (!state && first) warn_of_other_classes(initial_weights(initial.path(), experiment), session);
  if (options.read_weights && !session.weights_report()) warn_of_random_frozen_layers(session.model());
  if (state) {
    formats::load_weights(resumed.path(), session.model());
  } else if (flags.init_from) {
    graph::WeightsSpec weights;
    weights.file.value = initial.path();
    formats::load_weights(weights, session.model(), formats::Coverage::kAll);
  }
  if (state || flags.init_from) session.replicas().push(session.model());
  if (rates) return train::find_lr(session, *rates, flags.run_dir, progress_mode(flags, context)), 0;
  if (flags.init_optimizer) initial_state.optimizer = initial_optimizer(initial.path(), session);
  return flags.dry_run ? run_dry(session) : train_run(flags, session, resume, initial_state, gates, context);
}

/// The flags that fit and resume share.
void add_training_flags(Command& command, FitFlags& flags) {
  command.section("Run")
      .choice("--data", {"real", "synthetic"}, flags.data, "synthetic: generated data in place of every data set")
      .option("--assert", "EXPR", flags.assertions, "exit 7 unless this holds at the end, as in 'val_accuracy>=0.90'")
      .option("--trace", "STEPS", flags.trace, "trace.json: a timeline of all threads in these steps, as in 100-110")
      .flag("--no-report", flags.no_report, "no evaluation and no report.html at the end")
      .flag("--dry-run", flags.dry_run, "build, place, load, one batch without an update; writes nothing")
      .choice("--progress", {"auto", "on", "off"}, flags.progress, "the progress bar on stderr; auto: on a terminal");
  add_gate_flags(command, flags.gates);
  flags.overrides.add_training(command);
  flags.overrides.add_batch(command);
  flags.overrides.add(command);
}

struct ResumeFlags {
  std::string source;  ///< the folder of a run or a sweep, or a checkpoint in a run's folder
  FitFlags fit;
  std::optional<std::int64_t> parallel;
};

/// Sets the flags with which fit continues the run. Throws Error{kCheckpoint} if there is none.
void set_resume_flags(const std::string& source, FitFlags& flags) {
  const std::string checkpoint = train::last_state_file(source), run = train::run_of(checkpoint);
  if (source.ends_with(".yaml") || source.ends_with(".yml"))
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("{0} is a config; dptrain fit {0} --resume continues the newest of its runs",
                            shell_quoted(source)));
  flags.config = (fs::path(run) / "config.resolved.yaml").string();
  std::error_code error;
  if (run.empty() || !fs::exists(flags.config, error))
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("{0} does not belong to a run with a config.resolved.yaml; start a new run from it with "
                            "dptrain fit CONFIG --resume={0}",
                            shell_quoted(checkpoint)));
  flags.run_dir = run;
  flags.resume = checkpoint;
}

int resume_run(const ResumeFlags& given, const Context& context, distributed::Processes* processes) {
  if (given.parallel)
    throw Error(ErrorKind::kUsage, fmt::format("--parallel is for sweeps, and {} is a run", given.source));
  FitFlags flags = given.fit;
  if (processes == nullptr || processes->is_first()) set_resume_flags(given.source, flags);
  const session::SharedFile config(processes, flags.config);  // the other processes may not see the run's folder
  flags.config = config.path();
  return run(flags, context, processes);
}

/// Throws Error{kUsage} for flags that do not apply to a sweep.
void refuse_for_sweep(const Command& command, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::string flag = word.substr(0, word.find('='));
    for (const Argument& argument : command.arguments()) {
      if (std::ranges::find(argument.names, flag) == argument.names.end()) continue;
      const std::string& section = argument.section;
      if (section != "Devices" && section != "Sweep" && section != "Output" && flag != "--dry-run")
        throw Error(ErrorKind::kUsage,
                    fmt::format("{} does not apply to a sweep; devices, --parallel and --dry-run do", flag));
    }
  }
}

}  // namespace

void add_fit(App& app) {
  const auto flags = std::make_shared<FitFlags>();
  Command& command = app.command("fit", "train a network");
  command.describe(
      "Trains the network of CONFIG and writes a run directory with log, tables, checkpoints and the resolved config. "
      "A run can be stopped at any time with Ctrl-C (it saves first) and continued with dptrain resume.");
  command.example("configs/fashion_mnist.yaml --gpus 0,1")
      .example("configs/fashion_mnist.yaml --cpus 2")
      .example("configs/fashion_mnist.yaml --cpus 2 --resume")
      .example("configs/fashion_mnist.yaml --learning-rate 3e-3 --set train.optimizer.Adam.beta_1=0.8 --epochs 3")
      .example("configs/cifar10_towers.yaml --data synthetic --steps 20 --assert 'loss<3'");
  command.positional("CONFIG", flags->config, "the experiment, a YAML file");
  flags->devices.add(command);
  command.section("Run")
      .option("--run-dir", "DIR", flags->run_dir, "folder of the run (default runs/<name>/NNN)")
      .flag("--overwrite", flags->overwrite, "replace what a run has written in --run-dir")
      .optional_value("--resume", "last|best|auto|PATH", "last", flags->resume,
                      "continue the newest run of that name in its own folder, or a checkpoint in a new one; auto "
                      "starts fresh if there is none")
      .option("--init-from", "FILE", flags->init_from,
              "all weights, from a checkpoint or a file of Keras (.h5, .weights.h5, .keras), or a .safetensors")
      .flag("--init-optimizer", flags->init_optimizer,
            "also load the state of the optimizer, where the file has it (.keras, .h5)")
      .exclusive({"--resume", "--init-from"})
      .exclusive({"--resume", "--init-optimizer"})
      .exclusive({"--resume", "--overwrite"})
      .optional_value(
          "--find-lr", "LOW..HIGH", "1e-7..10", flags->find_lr,
          "instead of training, run a learning-rate range test of --steps (100) steps and print a suggestion")
      .exclusive({"--find-lr", "--resume", "--dry-run"})
      .exclusive({"--find-lr", "--overwrite"});
  add_training_flags(command, *flags);
  flags->overrides.add_name(command);
  command.run([flags](const Context& context) {
    const train::Signals signals;  // before other threads start
    log::ignore_sigpipe();
    return run_processes([&](distributed::Processes* processes) { return run(*flags, context, processes); });
  });
}

void add_resume(App& app) {
  const auto flags = std::make_shared<ResumeFlags>();
  Command& command = app.command("resume", "continue a run or a sweep that was stopped");
  command.describe(
      "Continues the run in the folder RUN from its last checkpoint, with the run's own config, which flags may "
      "change. Without a device flag devices are chosen as by fit. RUN may also be a checkpoint in the run's folder, "
      "such as checkpoints/best.h5, or the folder of a sweep.");
  command.example("runs/fashion_mnist/001")
      .example("runs/fashion_mnist/001 --cpus 2 --epochs 20")
      .example("runs/fashion_mnist/sweep-001");
  command.positional("RUN", flags->source, "the folder of a run or of a sweep");
  flags->fit.devices.add(command);
  add_training_flags(command, flags->fit);
  command.section("Sweep").integer("--parallel", "N", flags->parallel, "trials side by side");
  command.run([flags, &command](const Context& context) {
    if (sweep::is_sweep(flags->source)) {
      refuse_for_sweep(command, context.arguments);
      SweepFlags sweep;
      sweep.resume = flags->source;
      sweep.parallel = flags->parallel;
      sweep.devices = flags->fit.devices;
      sweep.dry_run = flags->fit.dry_run;
      return run_sweep(sweep, context);
    }
    const train::Signals signals;  // before other threads start
    log::ignore_sigpipe();
    return run_processes([&](distributed::Processes* processes) { return resume_run(*flags, context, processes); });
  });
}

}  // namespace dptrain::cli
