// dptrain predict: predictions of a checkpoint for samples without labels, as CSV, .npy files or masks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/passthrough_columns.h"
#include "cli/predict_output.h"
#include "cli/processes.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/loader.h"
#include "data/sources/predict.h"
#include "evaluation/classes.h"
#include "experiment/model_side.h"
#include "experiment/objectives.h"
#include "session/session.h"
#include "train/model_source.h"
#include "train/progress.h"

namespace dptrain::cli {
namespace {

struct PredictFlags : PredictOutputFlags {
  std::string source;
  std::optional<std::string> weights, layer, on_error;
  std::optional<std::int64_t> batch_size;
  DeviceFlags devices;
  ConfigFlags overrides;
  bool ema = false;
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

/// The tensor of a layer, or of a call of a shared layer, with its name in `summary`. Throws Error{kUsage}.
graph::Port find_layer(const graph::Graph& graph, const std::string& name) {
  graph::StepNames names;
  std::map<std::string, std::vector<std::string>> calls;  // of each layer
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    names[node.name] = static_cast<int>(n);
    calls[graph::layer_of(graph, node).name].push_back(node.name);
  }
  for (const auto& [layer, nodes] : calls)
    if (nodes.size() == 1) names.try_emplace(layer, names.at(nodes.front()));
  if (const graph::Port port = graph::find_port(graph, names, name); port.node >= 0) return port;
  if (const auto shared = calls.find(name); shared != calls.end())
    throw Error(ErrorKind::kUsage,
                fmt::format("--layer {}: the model calls this layer several times; name one call: {}", name,
                            join(shared->second, ", ")));
  std::vector<std::string> known;
  for (const auto& [step, port] : names) known.push_back(step);
  std::string advice = graph::port_hint(graph, names, name);
  if (advice.empty()) advice = did_you_mean(name, known);
  if (advice.empty()) advice = "; `dptrain summary` lists the layers";
  throw Error(ErrorKind::kUsage, fmt::format("--layer {}: the model has no such layer{}", name, advice));
}

/// What predict writes: the model's outputs, or the layer of --layer, whose tensor is `layer`.
std::vector<PredictedOutput> predicted_outputs(const train::ModelSource& source, const std::string& layer_name,
                                               const std::optional<graph::Port>& layer) {
  const graph::Graph& graph = source.experiment.graph;
  if (layer) {
    const nn::OutputDef& tensor = graph::tensor_of(graph, *layer);
    return {{.name = "",
             .shape = tensor.shape,
             .classes = evaluation::Classes({}, tensor.shape, {}),
             .type = tensor.type,
             .layer = layer_name}};
  }
  std::vector<evaluation::Classes> classes =
      evaluation::classes_of_outputs(source.experiment, graph, source.class_names);
  const std::vector<std::string> names = experiment::output_names(graph);
  std::vector<PredictedOutput> outputs;
  for (std::size_t i = 0; i < classes.size(); ++i)
    outputs.push_back({.name = classes.size() > 1 ? names[i] : "",
                       .shape = graph::tensor_of(graph, graph.outputs[i]).shape,
                       .classes = std::move(classes[i])});
  return outputs;
}

/// Sets the scales of outputs with a loss.
void set_scales(const experiment::Experiment& experiment, const data::PredictSource& input,
                std::vector<PredictedOutput>& outputs) {
  const std::vector<std::string> names = experiment::output_names(experiment.graph);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (experiment.config.train.loss.find(names[i]) != nullptr)
      outputs[i].scales = input.label_scales(outputs[i].classes.width());
}

/// The values of each output for a batch.
class OutputBuffers {
 public:
  OutputBuffers(const std::vector<PredictedOutput>& outputs, std::int64_t rows) {
    for (const PredictedOutput& output : outputs) {
      row_bytes_.push_back(static_cast<std::size_t>(output.shape.elements()) * size_of(output.type));
      buffers_.emplace_back(static_cast<std::size_t>(rows) * row_bytes_.back());
    }
  }
  std::vector<void*> places() {
    std::vector<void*> places;
    for (std::vector<std::byte>& buffer : buffers_) places.push_back(buffer.data());
    return places;
  }
  std::vector<const std::byte*> row(std::int64_t row) const {
    std::vector<const std::byte*> values;
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      values.push_back(buffers_[i].data() + static_cast<std::size_t>(row) * row_bytes_[i]);
    return values;
  }

 private:
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::size_t> row_bytes_;
};

/// The kind of process 0, whose file system has the output.
OutputKind agreed_kind(distributed::Processes* processes, const PredictFlags& flags,
                       const std::vector<PredictedOutput>& outputs) {
  if (processes == nullptr) return output_kind(flags.output, outputs);
  const std::string own =
      processes->is_first() ? std::to_string(static_cast<int>(output_kind(flags.output, outputs))) : "";
  return static_cast<OutputKind>(std::stoi(processes->broadcast(own)));
}

int run(const PredictFlags& flags, const Context& context, distributed::Processes* processes) {
  const train::ModelSource source = train::open_model_source(flags.source, flags.weights, flags.overrides.overrides(),
                                                             {.with_config = "predict CONFIG --weights {}"});
  if (source.checkpoint.empty())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("predict needs weights: give a checkpoint in place of {}, or --weights FILE.h5", flags.source));
  const std::optional<graph::Port> layer =
      flags.layer ? std::optional(find_layer(source.experiment.graph, *flags.layer)) : std::nullopt;
  std::vector<PredictedOutput> outputs = predicted_outputs(source, flags.layer.value_or(""), layer);
  const OutputKind kind = agreed_kind(processes, flags, outputs);
  check_output(kind, flags, outputs);
  session::SessionOptions options;
  options.devices = flags.devices.request();
  options.processes = processes;
  options.fitted_state = source.fitted_state;
  if (layer) options.outputs = {*layer};
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

  if (input.label_scales && !layer) set_scales(source.experiment, input, outputs);
  OutputBuffers buffers(outputs, session.global_batch());
  std::shared_ptr<const data::Source> samples = input.next();  // throws before anything is printed
  const data::ModelSide model = experiment::input_side(session.model().graph);
  const auto& transforms = session.experiment().config.data.transforms.eval;
  const data::Pipeline pipeline({transforms.begin(), transforms.end()}, true);
  const std::unique_ptr<PredictWriter> writer = make_writer(kind,
                                                            {.flags = flags,
                                                             .outputs = outputs,
                                                             .input = input,
                                                             .model = model,
                                                             .pipeline = pipeline,
                                                             .data = session.experiment().config.data,
                                                             .is_first = first},
                                                            samples.get());
  std::int64_t written = 0, before = 0;
  // No progress bar between rows on a terminal.
  const bool shows = first && !context.quiet && !context.json && (flags.output || isatty(STDOUT_FILENO) == 0);
  train::Progress progress(shows && input.samples > 0 ? train::ProgressMode::kAuto : train::ProgressMode::kOff);
  const Stopwatch watch;
  const auto predict_block = [&](const std::shared_ptr<const data::Source>& block) {
    const auto loader = open_input(join(flags.inputs, ", "), block, session);
    loader->seek(0, 0);
    for (data::Batch batch = loader->next(); batch.rows() > 0; batch = loader->next()) {
      session.replicas().predict(batch.view(), buffers.places());
      std::string rows;
      for (std::int64_t r = 0; r < batch.own().count; ++r) {
        const std::int64_t index = batch.own_indices()[static_cast<std::size_t>(r)];
        writer->add({.block = *block, .index = index, .before = before}, buffers.row(r), rows);
      }
      rows = of_all(processes, std::move(rows));
      if (first) writer->write(*block, rows);
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
  const std::string result = writer->finish(written);
  if (flags.output) log::info("wrote " + result);
  return 0;
}

}  // namespace

void add_predict(App& app) {
  const auto flags = std::make_shared<PredictFlags>();
  Command& command =
      app.command("predict", "classes, probabilities, values or masks for samples without labels, as CSV, .npy or PNG");
  command.describe(
      "Runs the checkpoint on images, clips, rows of tables, or every sample of a file of arrays, with the evaluation "
      "transforms, vocabularies and class names of the checkpoint. Folders are read recursively, sorted.");
  command.example("runs/fashion-mnist/001/checkpoints/best.h5 --input t10k-images-idx3-ubyte.gz --output preds.csv")
      .example("runs/flowers/001 --input photos --top 3")
      .example("runs/prices/001 --input new.csv --keep street,number --output priced.csv")
      .example("runs/flowers/001 --input rose.jpg --input tulip.png --probabilities")
      .example("runs/roads/001 --input photos --output masks/")
      .example("runs/flowers/001 --input photos --layer pool --output embeddings.npy");
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
      .option("--output", "FILE|DIR", flags->output,
              "a CSV file (default: stdout); a .npy file; or, for a model with a class at each position of an image, a "
              "folder for a mask (PNG) of each image")
      .flag("--overwrite", flags->overwrite, "replace masks in the folder")
      .integer("--top", "K", flags->top, "the K most probable classes")
      .flag("--probabilities", flags->probabilities,
            "a column p_<class> for every class; .npy: probabilities in place of class numbers or logits")
      .option(
          "--layer", "NAME", flags->layer,
          "write the values of this layer, named as in dptrain summary, to a .npy file, or as CSV if they are a row")
      .flag("--ema", flags->ema, "use the exponential moving averages of the weights")
      .integer("--batch-size", "N", flags->batch_size, "samples at a time (default: the config's)");
  flags->devices.add(command);
  flags->overrides.add(command);
  command.run([flags](const Context& context) {
    return run_processes([&](distributed::Processes* processes) { return run(*flags, context, processes); });
  });
}

}  // namespace dptrain::cli
