#include "config/config_loader.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "config/bundled.h"
#include "config/source_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

/// More than a hundred times any config; data sets and checkpoints that are given by mistake are larger.
constexpr std::uintmax_t kLargestFileBytes = 16u << 20;

[[noreturn]] void cannot_read(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::kUsage, fmt::format("{}: cannot read the config: {}", path, why));
}

/// "; did you mean 'my-first.yaml'?" for my-first or my-first.yml, or how to write the bundled config of that name.
std::string other_config(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const char* const suffix : {".yaml", ".yml"}) {
    const fs::path other = fs::path(path).replace_extension(suffix), longer = path + suffix;
    for (const fs::path& file : {longer, other})
      if (fs::is_regular_file(file, error)) return fmt::format("; did you mean '{}'?", file.string());
  }
  for (const BundledFile& file : bundled_configs())
    if (fs::path(file.name).stem() == fs::path(path).stem())
      return fmt::format("; 'dptrain init {}' writes that config", fs::path(file.name).replace_extension().string());
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error))
    return fmt::format("; the folder '{}' does not exist either", folder.string());
  return missing_file_advice(path);
}

std::string advice_for(const std::string& path, FileKind::Use use) {
  switch (use) {
    case FileKind::Use::kModel:
    case FileKind::Use::kHdf5:
      return fmt::format(
          "; 'dptrain ckpt show {0}' describes a model, 'dptrain eval {0}' evaluates a checkpoint, and "
          "'dptrain fit CONFIG --init-from {0}' trains from its weights",
          path);
    case FileKind::Use::kUnreadableModel:
      return ", which dptrain cannot read; it reads models of Keras (.keras, .h5) and .safetensors";
    case FileKind::Use::kTable: return fmt::format("; 'dptrain init --from {}' writes a config for it", path);
    case FileKind::Use::kArrays: return "; in a config: data: {train: {Numpy: {inputs: FILE, labels: FILE}}}";
    case FileKind::Use::kPicture: return "; a folder of pictures in a config: data: {train: {ImageFolder: FOLDER}}";
    case FileKind::Use::kOther: break;
  }
  return "";
}

[[noreturn]] void refuse_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path config = std::filesystem::path(path) / "config.yaml";
  if (std::filesystem::exists(config, error))
    cannot_read(path, fmt::format("it is the folder of a run, whose config is {}; 'dptrain resume {}' continues it",
                                  config.string(), path));
  cannot_read(path, fmt::format("it is a folder; 'dptrain init --from {}' writes a config for a folder of data", path));
}

}  // namespace

Node load_file(const std::string& path, Diagnostics& diagnostics) {
  namespace fs = std::filesystem;
  if (path == "-") {
    std::ostringstream text;
    text << std::cin.rdbuf();
    if (std::cin.bad()) cannot_read("stdin", std::strerror(errno));
    return load_text(text.str(), "stdin", "", diagnostics);
  }
  std::error_code status;
  if (fs::is_directory(path, status)) refuse_folder(path);
  if (fs::is_regular_file(path, status))
    if (const FileKind kind = kind_of_file(path); !kind.name.empty())
      cannot_read(path, fmt::format("it is {}{}", kind.name, advice_for(path, kind.use)));
  const std::uintmax_t size = fs::file_size(path, status);  // an error for pipes, which are read nevertheless
  if (!status && size > kLargestFileBytes)
    cannot_read(path, fmt::format("it is {} large; is this a YAML file?", human_bytes(size)));

  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int why = errno;
    cannot_read(path, std::strerror(why) + (why == ENOENT ? other_config(path) : ""));
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) cannot_read(path, std::strerror(errno));
  return load_text(text.str(), path, fs::path(path).parent_path().string(), diagnostics);
}

Node load_text(const std::string& text, const std::string& name, const std::string& directory,
               Diagnostics& diagnostics) {
  const auto source = SourceText::check(text, name, directory, diagnostics);
  return source ? parse_yaml(*source, diagnostics) : Node();
}

}  // namespace dptrain::config
