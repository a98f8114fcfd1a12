#include "config/load.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "config/yaml_parser.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

/// No config is a hundredth of this; a data set or a checkpoint given by mistake is more.
constexpr std::uintmax_t kLargestFileBytes = 16u << 20;

[[noreturn]] void cannot_read(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::kUsage, fmt::format("{}: cannot read the config: {}", path, why));
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
  if (fs::is_directory(path, status)) cannot_read(path, "it is a folder");
  const std::uintmax_t size = fs::file_size(path, status);  // an error for pipes, which are read all the same
  if (!status && size > kLargestFileBytes)
    cannot_read(path, fmt::format("it is {} large; is this a YAML file?", human_bytes(size)));

  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) cannot_read(path, std::strerror(errno));
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
