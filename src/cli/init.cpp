// dptrain init: writes a bundled config, or a config drafted from the user's data.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "config/bundled.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "init/draft.h"
#include "train/line_file.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct InitFlags {
  std::optional<std::string> name, directory, from, target;
};

/// The first sentence of the initial comment, which may span several lines.
std::string purpose(std::string_view text) {
  std::string words;
  for (const std::string& line : split(text, '\n')) {
    const std::string part = line.starts_with('#') ? trim(line.substr(1)) : "";
    if (part.empty()) break;
    words += (words.empty() ? "" : " ") + part;
  }
  for (std::size_t i = 0; i + 2 < words.size(); ++i)  // not the full stop of "et al. 2015"
    if (words[i] == '.' && words[i + 1] == ' ' && std::isupper(static_cast<unsigned char>(words[i + 2])) != 0)
      words.resize(i + 1);
  if (words.ends_with(':')) words.back() = '.';  // an example of a command line follows
  return words;
}

/// The name of a bundled config without its suffix: "bench/mlp".
std::string short_name(std::string_view file) { return fs::path(file).replace_extension().string(); }

int list() {
  const auto is_benchmark = [](const config::BundledFile& file) { return file.name.starts_with("bench/"); };
  std::vector<config::BundledFile> files(config::bundled_configs().begin(), config::bundled_configs().end());
  std::ranges::stable_partition(files, std::not_fn(is_benchmark));
  std::size_t width = 0;
  for (const config::BundledFile& file : files) width = std::max(width, short_name(file.name).size());
  for (const config::BundledFile& file : files)
    print_fitted(fmt::format("{:<{}}  {}", short_name(file.name), width, purpose(file.text)));
  log::info("write one with: dptrain init NAME [DIR]");
  return 0;
}

const config::BundledFile& find(const std::string& name) {
  std::vector<std::string> names;
  for (const config::BundledFile& file : config::bundled_configs()) {
    if (name == file.name || name == short_name(file.name)) return file;
    names.push_back(short_name(file.name));
  }
  const std::string near = did_you_mean(name, names);
  throw Error(ErrorKind::kUsage, fmt::format("init: there is no config '{}'{}", name,
                                             near.empty() ? "; there are " + join(names, ", ")
                                                          : near + " There are " + join(names, ", ")));
}

/// Throws if the file exists.
void write_config(const fs::path& path, const std::string& text) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  if (fs::exists(path, error))
    throw Error(ErrorKind::kUsage,
                fmt::format("init: {} is already there; give another folder, or move it away", path.string()));
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write: {}", folder.string(), error.message()));
  train::write_text(path.string(), text);
}

/// "photos" for "data/photos/", "iris" for "iris.csv.gz"; only letters, digits, - and _.
std::string name_of(const std::string& path) {
  fs::path place = fs::path(path).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();
  const auto stem = [](const fs::path& of) {
    const std::string file = of.filename().string();
    return file.substr(0, file.find('.', 1));
  };
  std::string name = stem(place);
  if ((name == "train" || name == "data") && fs::absolute(place).parent_path().has_filename())
    name = stem(fs::absolute(place).parent_path());
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-' && letter != '_') letter = '_';
  return name.empty() ? "data" : name;
}

int draft(const InitFlags& flags) {
  const std::string name = name_of(*flags.from);
  const fs::path folder = flags.name.value_or("."), path = (folder / (name + ".yaml")).lexically_normal();
  const fs::path from = fs::absolute(*flags.from).lexically_normal();
  const init::Draft draft =
      init::draft_config({.path = *flags.from,
                          .reference = from.lexically_relative(fs::absolute(folder).lexically_normal()).string(),
                          .name = name,
                          .target = flags.target});
  write_config(path, draft.yaml);  // before printing, which a closed pipe may end
  for (const std::string& line : draft.findings) print_fitted(line);
  log::info(fmt::format("wrote {}. Next: dptrain fit {}", path.string(), path.string()));
  return 0;
}

/// Advice on the config's data sets in ../datasets if they are missing, else "".
std::string data_advice(const fs::path& config, std::string_view text) {
  constexpr std::string_view kDatasets = "../datasets/";
  const std::size_t begin = text.find(kDatasets);
  if (begin == std::string_view::npos) return "";
  const std::size_t name_begin = begin + kDatasets.size(), name_end = text.find_first_of("/}\"' \n", name_begin);
  const std::string name(text.substr(name_begin, name_end - name_begin));
  const fs::path folder = (fs::absolute(config).parent_path() / kDatasets / name).lexically_normal();
  std::error_code error;
  if (fs::exists(folder, error)) return "";
  return fmt::format(
      "the data of this config are missing: no folder {}. datasets/README.md in dptrain's source lists the sources; "
      "change the paths in the config, or train on generated data: dptrain fit {} --data synthetic",
      folder.string(), config.string());
}

int run(const InitFlags& flags) {
  if (flags.from) return draft(flags);
  if (flags.target) throw Error(ErrorKind::kUsage, "--target needs --from");
  if (!flags.name) return list();
  const config::BundledFile& file = find(*flags.name);
  const fs::path path = (fs::path(flags.directory.value_or(".")) / fs::path(file.name).filename()).lexically_normal();
  write_config(path, std::string(file.text));
  log::info(fmt::format("wrote {}; paths in it are relative to the file. Next: dptrain check {}", path.string(),
                        path.string()));
  if (const std::string advice = data_advice(path, file.text); !advice.empty()) log::info(advice);
  return 0;
}

}  // namespace

void add_init(App& app) {
  const auto flags = std::make_shared<InitFlags>();
  Command& command = app.command("init", "write a config: one of the bundled ones, or one for your data");
  command.describe(
      "Without NAME lists the configs that are bundled with dptrain; with NAME writes one, with its comments, for you "
      "to change. With --from reads your data, reports what it found, and writes a config that trains on them without "
      "changes; the only argument is then the folder to write it in.");
  command.example("")
      .example("fashion_mnist my-experiments/")
      .example("--from prices.csv --target price")
      .example("--from photos/");
  command.positional("NAME", flags->name, "name of the config; with --from the folder");
  command.positional("DIR", flags->directory, "where to write it (the current folder)");
  command.section("Your data")
      .option("--from", "PATH", flags->from,
              "a CSV or HDF5 file, or a folder of class folders with photos, clips or texts, or of photos and masks")
      .option("--target", "COLUMN", flags->target,
              "what to predict (default: a column called target, label, class, outcome or response, else the last)");
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
