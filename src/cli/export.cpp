// dptrain export: writes a trained model for another program.

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/preparation.h"
#include "experiment/model_side.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/checkpoint/weights.h"
#include "formats/exporter.h"
#include "train/model_source.h"

namespace dptrain::cli {
namespace {

struct ExportFlags {
  std::string source, to;
  std::optional<std::int64_t> opset;
  std::optional<std::string> weights;
  ConfigFlags overrides;
  bool ema = false, transforms = false, free_steps = false;
};

/// The preparation of samples in evaluation.
formats::Preparation preparation_of(const train::ModelSource& source) {
  const experiment::DataSection& data = source.experiment.config.data;
  data::ModelSide model = experiment::input_side(source.experiment.graph);
  model.fitted_state = source.fitted_state;
  return data::preparation({&data.test, &data.validation, &data.train},
                           {data.transforms.eval.begin(), data.transforms.eval.end()}, model);
}

int run(const ExportFlags& flags) {
  const formats::Exporter& exporter = formats::exporter_of(flags.to);
  for (const auto& [flag, given] :
       {std::pair{"--opset", flags.opset.has_value()}, std::pair{"--with-transforms", flags.transforms},
        std::pair{"--free-steps", flags.free_steps}})
    if (given && exporter.name != "ONNX")
      throw Error(ErrorKind::kUsage,
                  fmt::format("{} applies to .onnx files, but {} is one of {}", flag, flags.to, exporter.name));
  if (flags.free_steps && flags.transforms)
    throw Error(ErrorKind::kUsage, "--free-steps and --with-transforms cannot be combined; remove one of them");
  const train::SourceUse use{.with_config = "export CONFIG OUTPUT --weights {}", .own_model = true};
  const train::ModelSource source =
      train::open_model_source(flags.source, flags.weights, flags.overrides.overrides(), use);
  const experiment::Experiment& experiment = source.experiment;
  graph::Model model = graph::make_model(experiment.graph, experiment.config.seed);
  if (!source.checkpoint.empty())
    source.load_weights(model, flags.ema);
  else if (flags.ema)
    throw Error(ErrorKind::kUsage, "--ema applies to a checkpoint, but a config has no weights");
  else
    log::info(flags.source + " has no weights: exporting the initial weights of a run");
  std::optional<formats::Preparation> preparation;
  if (flags.transforms) preparation = preparation_of(source);
  formats::Exported exported{.model = model,
                             .class_names = source.class_names,
                             .fitted_state = source.fitted_state,
                             .opset = flags.opset,
                             .preparation = preparation ? &*preparation : nullptr,
                             .free_steps = flags.free_steps};
  source.describe_training(exported);
  if (flags.ema) exported.optimizer_state.reset();  // it belongs to the weights without averaging
  const std::uint64_t bytes = exporter.write(flags.to, exported);
  for (const std::string& advice : exporter.advice(flags.to, model.graph)) log::info(advice);
  if (std::filesystem::is_directory(flags.source)) log::info("weights from " + source.checkpoint);
  log::print(fmt::format("{}: {}, {} parameters, {} bytes", flags.to, exporter.name, with_commas(model.parameters()),
                         with_commas(static_cast<std::int64_t>(bytes))));
  return 0;
}

}  // namespace

void add_export(App& app) {
  const auto flags = std::make_shared<ExportFlags>();
  Command& command =
      app.command("export", "write a trained model for other programs: .onnx, .keras, .h5, .safetensors");
  command.describe(
      "The suffix of OUTPUT chooses the format. For a run's folder it exports best.h5, else model.h5 of a completed "
      "run, else last.h5. ONNX files compute what `predict` computes of the same inputs: the model alone, or with "
      "--with-transforms also the preparation of its data.");
  command.example("runs/fashion-mnist/001 fashion.onnx")
      .example("runs/fashion-mnist/001 fashion.keras")
      .example("runs/a/001/checkpoints/last.h5 a.onnx --ema --opset 13")
      .example("runs/flowers-cnn/001 flowers.onnx --with-transforms")
      .example("configs/fashion_mnist.yaml fresh.onnx");
  command.positional("RUN|CKPT|CONFIG", flags->source, "a run's folder, a checkpoint, a Keras file, or a config");
  command.positional("OUTPUT", flags->to, "the file to write");
  command.section("Export")
      .integer("--opset", "N", flags->opset, "ONNX: version of the operator set, 13 to 21 (17)")
      .option("--weights", "CKPT", flags->weights, "for a config: weights of this file")
      .flag("--with-transforms", flags->transforms,
            "ONNX: the file expects raw pixels, or a table's columns as they are")
      .flag("--free-steps", flags->free_steps, "ONNX: sequences of any length, where no layer depends on it")
      .flag("--ema", flags->ema, "the averages of an optimizer with use_ema: true");
  flags->overrides.add(command);
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
