// dptrain config: prints a config in full or the schema of all configs, or writes the reference of all keys.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/output.h"
#include "config/node.h"
#include "core/error.h"
#include "experiment/key_reference.h"
#include "train/line_file.h"
#include "train/model_source.h"

namespace dptrain::cli {
namespace {

struct ConfigCommandFlags {
  std::optional<std::string> source;
  ConfigFlags overrides;
  std::optional<std::string> reference;
  bool resolved = false, minimal = false, schema = false;
};

/// Writes the pages into the folder, which is made if it does not exist.
void write_reference(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const experiment::ReferencePage& page : experiment::key_reference())
    train::write_text((std::filesystem::path(folder) / page.file).string(), page.text);
}

int run(const ConfigCommandFlags& flags) {
  if (flags.schema) {
    print_text(config::to_json(experiment::json_schema()));
    return 0;
  }
  if (flags.reference) {
    write_reference(*flags.reference);
    return 0;
  }
  if (!flags.source)
    throw Error(ErrorKind::kUsage, "config: CONFIG is missing; only --schema and --reference work without one");
  const train::SourceUse use{.with_config =
                                 "config CONFIG; 'dptrain ckpt convert {} model.yaml' writes the model as one"};
  const experiment::Experiment experiment =
      train::open_model_source(*flags.source, std::nullopt, flags.overrides.overrides(), use).experiment;
  print_text(config::to_yaml(experiment::resolved(experiment, flags.minimal)));
  return 0;
}

}  // namespace

void add_config(App& app) {
  const auto flags = std::make_shared<ConfigCommandFlags>();
  Command& command = app.command("config", "a config with all keys, the JSON Schema, or tables of all keys");
  command.describe(
      "Prints the resolved config: blocks expanded, variables replaced, paths absolute. The result is a valid config.");
  command.example("configs/resnet_small.yaml --minimal")
      .example("configs/fashion_mnist.yaml --set train.epochs=3")
      .example("--schema > dptrain.schema.json");
  command.positional("CONFIG|CKPT", flags->source, "a config or a checkpoint");
  command.section("Form")
      .flag("--resolved", flags->resolved, "every key with its value (the default)")
      .flag("--minimal", flags->minimal, "only what differs from the defaults")
      .flag("--schema", flags->schema, "the JSON Schema of configs, for editors")
      .option("--reference", "DIR", flags->reference, "write Markdown tables of all keys to this folder")
      .exclusive({"--resolved", "--minimal", "--schema", "--reference"});
  flags->overrides.add_training(command);
  flags->overrides.add_name(command);
  flags->overrides.add_batch(command);
  flags->overrides.add(command);
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
