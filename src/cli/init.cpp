// dptrain init: one of the bundled configs, to start from.

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "config/bundled.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "train/line_file.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct InitFlags {
  std::optional<std::string> name, directory;
};

/// The first line of comment: what the config is.
std::string purpose(std::string_view text) {
  const std::string line(text.substr(0, text.find('\n')));
  return line.starts_with('#') ? trim(line.substr(1)) : "";
}

/// "bench/mlp.yaml" -> "bench/mlp"
std::string short_name(std::string_view file) { return fs::path(file).replace_extension().string(); }

int list() {
  std::size_t width = 0;
  for (const config::BundledFile& file : config::bundled_configs())
    width = std::max(width, short_name(file.name).size());
  for (const config::BundledFile& file : config::bundled_configs())
    log::print(fmt::format("{:<{}}  {}", short_name(file.name), width, purpose(file.text)));
  log::info("write one with: dptrain init NAME [DIR]");
  return 0;
}

const config::BundledFile& find(const std::string& name) {
  std::vector<std::string> names;
  for (const config::BundledFile& file : config::bundled_configs()) {
    if (name == file.name || name == short_name(file.name)) return file;
    names.push_back(short_name(file.name));
  }
  throw Error(ErrorKind::kUsage, fmt::format("init: there is no config '{}' among {}{}", name, join(names, ", "),
                                             did_you_mean(name, names)));
}

int run(const InitFlags& flags) {
  if (!flags.name) return list();
  const config::BundledFile& file = find(*flags.name);
  const fs::path folder = flags.directory.value_or(".");
  const fs::path path = (folder / fs::path(file.name).filename()).lexically_normal();
  std::error_code error;
  if (fs::exists(path, error))
    throw Error(ErrorKind::kUsage,
                fmt::format("init: {} is already there; give another folder, or move it away", path.string()));
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write: {}", folder.string(), error.message()));
  train::write_text(path.string(), std::string(file.text));
  log::info(fmt::format("wrote {}; paths in it are relative to the file. Next: dptrain check {}", path.string(),
                        path.string()));
  return 0;
}

}  // namespace

void add_init(App& app) {
  const auto flags = std::make_shared<InitFlags>();
  Command& command = app.command("init", "write one of the bundled configs");
  command.describe(
      "Without NAME lists the configs that come with dptrain; with it writes one, comments and all, for you to "
      "change.");
  command.example("").example("fashion_mnist my-experiments/");
  command.positional("NAME", flags->name, "of the config");
  command.positional("DIR", flags->directory, "where to write it (the current folder)");
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
