// dptrain predict: predictions of a checkpoint for samples without labels, as CSV.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/passthrough_columns.h"
#include "cli/processes.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/loader.h"
#include "data/sources/predict.h"
#include "evaluation/classes.h"
#include "experiment/model_side.h"
#include "experiment/objectives.h"
#include "session/session.h"
#include "train/line_file.h"
#include "train/model_source.h"
#include "train/progress.h"

namespace dptrain::cli {
namespace {

/// The columns that predict writes for one output of the model. Immutable; any thread.
class PredictColumns {
 public:
  /// `prefix`: start of the column names, "kind_" if the model has several outputs. `top`: number of most probable
  /// classes per sample. `probabilities`: adds a column for each class. `scales`: one for each value of an output
  /// without classes, or none. `classes` must outlive the object.
  PredictColumns(const evaluation::Classes& classes, std::string prefix, std::int64_t top, bool probabilities,
                 std::vector<data::LabelScale> scales)
      : classes_(classes),
        prefix_(std::move(prefix)),
        top_(std::min(top, classes.count())),
        probabilities_(probabilities),
        scales_(std::move(scales)) {}

  /// ",label,probability": each name after a comma.
  std::string header() const {
    std::string text;
    const auto add = [&](const std::string& name) { text += "," + csv_field(prefix_ + name); };
    if (!classes_.one_per_sample()) {
      for (std::int64_t i = 0; i < classes_.width(); ++i)
        add(classes_.width() == 1 ? "output" : fmt::format("output_{}", i));
      return text;
    }
    add("label"), add("probability");
    for (std::int64_t k = 2; k <= top_; ++k) add(fmt::format("label_{}", k)), add(fmt::format("probability_{}", k));
    for (std::int64_t c = 0; probabilities_ && c < classes_.count(); ++c) add("p_" + classes_.name(c));
    return text;
  }

  /// The fields for one sample's output.
  std::string row(const float* output) const {
    std::string text;
    if (!classes_.one_per_sample()) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(classes_.width()); ++i) {
        const float value =
            scales_.empty() ? output[i] : static_cast<float>(output[i] * scales_[i].deviation + scales_[i].mean);
        text += fmt::format(",{:.9g}", value);
      }
      return text;
    }
    const std::vector<float> p = classes_.probabilities(output);
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto before = [&](std::size_t a, std::size_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; };
    std::partial_sort(order.begin(), order.begin() + top_, order.end(), before);
    for (std::int64_t k = 0; k < top_; ++k) {
      const std::size_t c = order[static_cast<std::size_t>(k)];
      text += fmt::format(",{},{:.9g}", csv_field(classes_.name(static_cast<std::int64_t>(c))), p[c]);
    }
    if (probabilities_)
      for (const float value : p) text += fmt::format(",{:.9g}", value);
    return text;
  }

 private:
  const evaluation::Classes& classes_;
  const std::string prefix_;
  const std::int64_t top_;
  const bool probabilities_;
  const std::vector<data::LabelScale> scales_;
};

struct PredictFlags {
  std::string source;
  std::vector<std::string> inputs, keep;
  std::optional<std::string> weights, output, on_error;
  std::optional<std::int64_t> top, batch_size;
  DeviceFlags devices;
  ConfigFlags overrides;
  bool probabilities = false, ema = false;
};

/// The samples of --input, as the data sets of the model define it.
data::PredictSource open_inputs(const PredictFlags& flags, const train::ModelSource& source) {
  data::PredictFiles files{
      .paths = flags.inputs, .fitted_state = source.fitted_state, .passthrough = passthrough_columns(flags.keep)};
  if (flags.on_error) files.skip = *flags.on_error == "skip";
  const experiment::DataSection& section = source.experiment.config.data;
  for (const config::Typed* set : {&section.test, &section.validation, &section.train})
    if (*set) files.sets.push_back(*set);
  return data::open_for_predict(files, experiment::input_side(source.experiment.graph));
}

/// Loads the samples in order, with the checkpoint's evaluation transforms.
std::unique_ptr<data::Loader> open_input(const std::string& place, const std::shared_ptr<const data::Source>& source,
                                         session::Session& session) {
  const graph::Graph& graph = session.model().graph;
  const data::ModelSide side = experiment::input_side(graph);
  const auto& transforms = session.experiment().config.data.transforms.eval;
  data::Pipeline pipeline({transforms.begin(), transforms.end()}, true);
  data::LoaderOptions options;
  options.batch_size = session.global_batch();
  options.shuffle = {data::Shuffle::Kind::kNone, 0};
  session.share_batches(options);
  try {
    return std::make_unique<data::Loader>(source, std::move(pipeline), side, std::vector<data::LabelForm>{}, options);
  } catch (const Error& unfit) {
    throw unfit.within(place);
  }
}

/// The rows of a batch from all processes, in order.
std::string of_all(distributed::Processes* processes, std::string rows) {
  return processes == nullptr ? std::move(rows) : join(processes->gather(std::move(rows)), "");
}

/// Writes predictions to stdout batch by batch, or to a file once they are complete. Writes the header with the first
/// rows, so that unreadable input prints only an error.
class Output {
 public:
  Output(std::optional<std::string> path, std::string header) : path_(std::move(path)), header_(std::move(header)) {}
  void add(const std::string& rows) {
    const std::string text = std::exchange(header_, {}) + rows;
    if (path_)
      text_ += text;
    else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
      throw Error(ErrorKind::kWrite, "stdout: cannot write");
  }
  void finish() {
    add("");  // only the header if there are no rows
    if (path_)
      train::write_text(*path_, text_);
    else if (std::fflush(stdout) != 0)
      throw Error(ErrorKind::kWrite, "stdout: cannot write");
  }

 private:
  const std::optional<std::string> path_;
  std::string header_, text_;
};

int run(const PredictFlags& flags, const Context& context, distributed::Processes* processes) {
  const train::ModelSource source = train::open_model_source(flags.source, flags.weights, flags.overrides.overrides(),
                                                             {.with_config = "predict CONFIG --weights {}"});
  if (source.checkpoint.empty())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("predict needs weights: give a checkpoint in place of {}, or --weights FILE.h5", flags.source));
  session::SessionOptions options;
  options.devices = flags.devices.request();
  options.processes = processes;
  options.fitted_state = source.fitted_state;
  const bool first = processes == nullptr || processes->is_first();
  options.training = options.wants_train = options.wants_validation = options.wants_data = false;
  if (flags.batch_size) options.global_batch = *flags.batch_size;
  if (processes != nullptr && std::ranges::find(flags.inputs, "-") != flags.inputs.end())
    throw Error(ErrorKind::kUsage, "--input -: with a launcher only one process can read stdin; write it to a file");
  const data::PredictSource input = open_inputs(flags, source);
  options.foreign_samples = input.samples;
  session::Session session(source.experiment, options);
  source.load_weights(session.model(), flags.ema);
  session::require_equal(processes,
                         {{"the weights", session::checksum_of(session.model())},
                          {"the inputs", fmt::format("{} samples, {}", input.samples, input.fingerprint)}},
                         ErrorKind::kCheckpoint);
  session.replicas().push(session.model());
  if (first && flags.output && std::filesystem::is_directory(flags.source))  // else stdout has the predictions
    log::info("weights from " + source.checkpoint);

  const graph::Graph& graph = session.model().graph;
  const std::vector<evaluation::Classes> classes =
      evaluation::classes_of_outputs(source.experiment, graph, source.class_names);
  std::int64_t most = 0;
  for (const evaluation::Classes& one : classes)
    if (one.one_per_sample()) most = std::max(most, one.count());
  if (most == 0 && (flags.top || flags.probabilities))
    throw Error(ErrorKind::kUsage,
                "--top and --probabilities need an output with one class per sample; this model has none");
  if (flags.top.value_or(1) > most && most > 0)
    throw Error(ErrorKind::kUsage, fmt::format("--top {}: the model has {} classes", *flags.top, most));

  std::vector<PredictColumns> columns;
  std::vector<std::vector<float>> outputs;
  std::vector<float*> places;
  std::string answers;
  const std::vector<std::string> names = experiment::output_names(graph);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    columns.emplace_back(classes[i], classes.size() > 1 ? names[i] + "_" : "", flags.top.value_or(1),
                         flags.probabilities,
                         input.label_scales && source.experiment.config.train.loss.find(names[i]) != nullptr
                             ? input.label_scales(classes[i].width())
                             : std::vector<data::LabelScale>());
    answers += columns.back().header();
    places.push_back(
        outputs.emplace_back(static_cast<std::size_t>(session.global_batch() * classes[i].width())).data());
  }
  std::shared_ptr<const data::Source> samples = input.next();  // throws before anything is printed
  Output out(flags.output, input.key + passthrough_header(input.passthrough, input.key + answers) + answers + "\n");
  std::int64_t written = 0, before = 0;
  // No progress bar between rows on a terminal.
  const bool shows = first && !context.quiet && !context.json && (flags.output || isatty(STDOUT_FILENO) == 0);
  train::Progress progress(shows && input.samples > 0 ? train::ProgressMode::kAuto : train::ProgressMode::kOff);
  const Stopwatch watch;
  const auto predict_block = [&](const std::shared_ptr<const data::Source>& block) {
    const auto loader = open_input(join(flags.inputs, ", "), block, session);
    loader->seek(0, 0);
    for (data::Batch batch = loader->next(); batch.rows() > 0; batch = loader->next()) {
      session.replicas().predict(batch.view(), {places.begin(), places.end()});
      std::string rows;
      for (std::int64_t r = 0; r < batch.own().count; ++r) {
        const std::int64_t index = batch.own_indices()[static_cast<std::size_t>(r)];
        rows += csv_field(input.is_named() ? block->label_place(index) : std::to_string(before + index));
        for (std::size_t k = 0; k < input.passthrough.size(); ++k)
          rows += "," + csv_field(input.passthrough_field(index, k));
        for (std::size_t i = 0; i < columns.size(); ++i) rows += columns[i].row(places[i] + r * classes[i].width());
        rows += "\n";
      }
      rows = of_all(processes, std::move(rows));
      if (first) out.add(rows);
      written += batch.rows();
      progress.draw({.done = std::min(written, input.samples),
                     .total = input.samples,
                     .seconds = watch.seconds(),
                     .unit = train::BarState::Unit::kSamples});
    }
    before += block->size();
  };
  const auto warn_about_bad = [&](const data::BadSample& bad) {
    if (first) log::warn("skipped: " + bad.str());
  };
  for (; samples; samples = input.next()) {
    if (const auto account = samples->bad_samples(); account && account->skips()) account->set_listener(warn_about_bad);
    for (const data::BadSample& bad : input.take_bad_samples()) warn_about_bad(bad);
    if (samples->size() > 0) predict_block(samples);
  }
  for (const data::BadSample& bad : input.take_bad_samples()) warn_about_bad(bad);
  progress.clear();
  if (!first) return 0;
  out.finish();
  if (flags.output) log::info(fmt::format("wrote {} ({})", *flags.output, counted(written, "row")));
  return 0;
}

}  // namespace

void add_predict(App& app) {
  const auto flags = std::make_shared<PredictFlags>();
  Command& command = app.command("predict", "classes, probabilities or values for samples without labels, as CSV");
  command.describe(
      "Runs the checkpoint on images, clips, rows of tables, or every sample of a file of arrays, with the evaluation "
      "transforms, vocabularies and class names of the checkpoint. Folders are read recursively, sorted.");
  command.example("runs/fashion-mnist/001/checkpoints/best.h5 --input t10k-images-idx3-ubyte.gz --output preds.csv")
      .example("runs/flowers/001 --input photos --top 3")
      .example("runs/prices/001 --input new.csv --keep street,number --output priced.csv")
      .example("runs/flowers/001 --input rose.jpg --input tulip.png --probabilities");
  command.positional("CONFIG|CKPT", flags->source,
                     "a checkpoint, a run's folder (its best.h5, else model.h5 if it completed, else last.h5) or its "
                     "model.h5, or a config with --weights");
  command.section("Prediction")
      .option("--weights", "FILE", flags->weights,
              "a checkpoint or a file of Keras, when the first argument is a config")
      .option("--input", "DIR|FILE", flags->inputs,
              "a folder of images, clips or texts, such a file, or a CSV file; rows or lines from stdin (-); or one "
              "IDX (plain or .gz), .npy, .npz or HDF5 file")
      .required()
      .choice("--on-error", {"fail", "skip"}, flags->on_error,
              "on images, clips and rows of tables that cannot be read: fail (exit 3), or skip them with a warning "
              "(default: as the data set of the checkpoint)")
      .option("--keep", "COLUMN", flags->keep,
              "columns of a table to copy next to the answers: names with commas between them, or all")
      .option("--output", "FILE", flags->output, "the CSV file (default: stdout)")
      .integer("--top", "K", flags->top, "the K most probable classes")
      .flag("--probabilities", flags->probabilities, "a column p_<class> for every class")
      .flag("--ema", flags->ema, "use the exponential moving averages of the weights")
      .integer("--batch-size", "N", flags->batch_size, "samples at a time (default: the config's)");
  flags->devices.add(command);
  flags->overrides.add(command);
  command.run([flags](const Context& context) {
    return run_processes([&](distributed::Processes* processes) { return run(*flags, context, processes); });
  });
}

}  // namespace dptrain::cli
