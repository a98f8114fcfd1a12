// dptrain ckpt: shows, compares, averages and converts checkpoints and Keras files.

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "experiment/keras_model.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/checkpoint/weights.h"
#include "formats/exporter.h"
#include "graph/graph_builder.h"
#include "train/line_file.h"
#include "train/model_source.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct CkptFlags {
  std::string action;
  std::vector<std::string> files;
  std::optional<double> tolerance;
  std::optional<std::string> input_shape, output;
};

int show(const std::vector<std::string>& files) {
  for (const std::string& file : files) print_fitted(formats::describe_file(train::last_state_file(file)));
  return 0;
}

int diff(const CkptFlags& flags) {
  if (flags.files.size() != 2)
    throw Error(ErrorKind::kUsage, fmt::format("ckpt diff compares two files, found {}", flags.files.size()));
  const auto file = [&](std::size_t i) { return train::last_state_file(flags.files[i]); };
  const formats::FileDifference difference = formats::compare_files(file(0), file(1), flags.tolerance.value_or(0));
  print_fitted(difference.report);
  return difference.equal ? 0 : static_cast<int>(ErrorKind::kCheck);
}

std::optional<Shape> input_shape(const CkptFlags& flags) {
  if (!flags.input_shape) return std::nullopt;
  std::vector<std::int64_t> extents;
  for (const std::string& part : split(*flags.input_shape, ',')) {
    const std::int64_t extent = parse_number<std::int64_t>(part).value_or(0);
    if (extent < 1)
      throw Error(ErrorKind::kUsage,
                  fmt::format("--input-shape must be extents such as 224,224,3, found '{}'", *flags.input_shape));
    extents.push_back(extent);
  }
  return Shape(std::move(extents));
}

/// Writes a config with the model of the file, which loads its weights from there.
void write_config(const graph::Graph& graph, const std::string& from, const std::string& to) {
  config::Node model = graph::write(graph, true);
  const fs::path folder = fs::absolute(to).parent_path();
  model.find("weights")->set("file", config::Node::text(fs::absolute(from).lexically_proximate(folder).string()));
  config::Node all = config::Node::map();
  all.set("dptrain", config::Node::integer(1));
  all.set("name", config::Node::text(graph.name));
  all.set("model", std::move(model));
  train::write_text(to, config::to_yaml(all));
  print_fitted(fmt::format("{}: {}, {}; weights from {}", to, counted(graph.layers.size(), "layer"),
                           counted(graph.outputs.size(), "output"), from));
}

void write_exported(const formats::Exported& exported, const std::string& to, const std::string& report) {
  const formats::Exporter& exporter = formats::exporter_of(to);
  exporter.write(to, exported);
  for (const std::string& advice : exporter.advice(to, exported.model.graph)) log::info(advice);
  print_fitted(fmt::format("{}: {} parameters; {}", to, with_commas(exported.model.parameters()), report));
}

/// Exports a Keras file, or a file with only weights and layers.
void write_model(const graph::Graph& graph, const std::string& from, const std::string& to) {
  graph::Model model = graph::make_model(graph, 0);
  const formats::WeightsReport report = formats::load_weights(*graph.weights, model);
  for (const std::string& note : report.notes) log::info(note);
  write_exported({.model = model,
                  .class_names = formats::read_class_names(from),
                  .fitted_state = formats::read_fitted_state(from)},
                 to, report.line());
}

/// Writes the model of a checkpoint or run, with loss and optimizer from its state.
void write_trained_model(const std::string& run_or_file, const std::string& to) {
  const train::ModelSource source =
      train::open_model_source(run_or_file, std::nullopt, {}, {.with_config = "", .own_model = true});
  graph::Model model = graph::make_model(source.experiment.graph, 0);
  source.load_weights(model, false);
  formats::Exported exported{.model = model, .class_names = source.class_names, .fitted_state = source.fitted_state};
  source.describe_training(exported);
  write_exported(exported, to, "all from " + source.checkpoint);
}

/// Throws if the file contains only weights, which do not define the layers.
void check_has_model(const std::string& from, const std::string& to) {
  if (formats::is_checkpoint(from) && !formats::has_model(from))
    throw Error(
        ErrorKind::kCheckpoint,
        fmt::format(
            "{}: the file contains weights but no model; use it with a config: dptrain export CONFIG {} --weights {}",
            from, to, from));
}

int convert(const CkptFlags& flags) {
  if (flags.files.size() != 2)
    throw Error(ErrorKind::kUsage,
                fmt::format("ckpt convert needs two files, from and to, found {}", flags.files.size()));
  const std::string from = train::weights_file(flags.files[0]), &to = flags.files[1];
  const std::string suffix = fs::path(to).extension().string();
  const bool config = suffix == ".yaml" || suffix == ".yml";
  if (!config && formats::find_exporter(to) == nullptr)
    throw Error(ErrorKind::kUsage, fmt::format("ckpt convert writes .yaml (the model as a config) or {}, found '{}'",
                                               formats::known_suffixes(), to));
  const bool is_trained =
      fs::is_directory(flags.files[0]) || (formats::is_checkpoint(from) && !formats::is_weights_only(from));
  if (!config && !flags.input_shape && is_trained) {
    write_trained_model(flags.files[0], to);
    return 0;
  }
  check_has_model(from, to);
  const graph::Graph graph = experiment::keras_graph(from, input_shape(flags));
  config ? write_config(graph, from, to) : write_model(graph, from, to);
  return 0;
}

int average(const CkptFlags& flags) {
  if (flags.files.size() < 2 || !flags.output)
    throw Error(ErrorKind::kUsage, "ckpt average needs two files or more, and --output for their mean");
  const formats::Exporter& exporter = formats::exporter_of(*flags.output);
  std::vector<std::string> files;
  for (const std::string& file : flags.files) files.push_back(train::weights_file(file));
  const ClassNames class_names = formats::read_class_names(files.front());
  const std::string fitted_state = formats::read_fitted_state(files.front());
  for (const std::string& file : files)
    if (formats::read_class_names(file) != class_names || formats::read_fitted_state(file) != fitted_state)
      throw Error(
          ErrorKind::kCheckpoint,
          fmt::format("{} and {} differ in their classes or in the fitted state of their data; only models of the same "
                      "data have a mean",
                      files.front(), file));
  graph::Model model = graph::make_model(experiment::keras_graph(files.front(), input_shape(flags)), 0);
  formats::load_average(files, model);
  exporter.write(*flags.output, {.model = model, .class_names = class_names, .fitted_state = fitted_state});
  for (const std::string& advice : exporter.advice(*flags.output, model.graph)) log::info(advice);
  print_fitted(fmt::format("{}: {}, the mean of {}", *flags.output, counted(model.parameters(), "parameter"),
                           counted(files.size(), "file")));
  return 0;
}

int run(const CkptFlags& flags) {
  if (flags.output && flags.action != "average")
    throw Error(ErrorKind::kUsage, fmt::format("--output applies to ckpt average, not to ckpt {}", flags.action));
  if (flags.action == "show") return show(flags.files);
  if (flags.action == "diff") return diff(flags);
  if (flags.action == "convert") return convert(flags);
  if (flags.action == "average") return average(flags);
  const std::vector<std::string> actions{"show", "diff", "convert", "average"};
  throw Error(ErrorKind::kUsage, fmt::format("ckpt: expected show, diff, convert or average, found '{}'{}",
                                             flags.action, did_you_mean(flags.action, actions)));
}

}  // namespace

void add_ckpt(App& app) {
  const auto flags = std::make_shared<CkptFlags>();
  Command& command = app.command("ckpt", "show a checkpoint, compare two, average several; convert Keras files");
  command.describe(
      "show FILE... prints weights, optimizer state and position. diff A B compares everything; exit 0 when equal, 7 "
      "when not. convert FROM TO.yaml writes the model of a Keras .h5 or .keras as a config, convert FROM TO.h5 model "
      "and "
      "weights as dptrain writes them, which every Keras opens; TO.keras, TO.safetensors and TO.onnx likewise. average "
      "A B ... -o MEAN.h5 writes the mean of their "
      "weights.");
  command.example("show runs/fashion-mnist/001/checkpoints/last.h5")
      .example("diff runs/a/001 runs/a/002 --tol 1e-6")
      .example("convert model.keras model.yaml")
      .example("convert runs/a/001 a.keras")
      .example("average runs/net/001 runs/net/002 runs/net/003 -o mean.h5");
  command.positional("show|diff|convert|average", flags->action, "what to do");
  command.positionals(
      "FILE", flags->files,
      "checkpoints, or runs' folders (show, diff: their last.h5; convert, average: the weights that eval uses)");
  command.section("Comparison").option("--tol", "X", flags->tolerance, "differences up to this count as equal (0)");
  command.section("Average").option("--output,-o", "FILE", flags->output, "file for the mean");
  command.section("Conversion")
      .option("--input-shape", "H,W,C", flags->input_shape,
              "shape of the model's only input, if the file does not set it");
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
