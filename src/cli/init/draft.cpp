#include "cli/init/draft.h"

#include <array>
#include <filesystem>
#include <fstream>

#include "config/node.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/file_list.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kKinds = "a CSV file, or a folder of class folders with photos or texts";

/// Most folders hold one kind of files: the first one tells.
bool holds_texts(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, error))
    if (entry.is_regular_file(error)) return entry.path().extension() == ".txt";
  return false;
}

bool begins_as_archive(const std::string& path) {
  std::array<char, 4> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  return std::string_view(head.data(), head.size()) == "\x89HDF" || std::string_view(head.data(), 2) == "PK";
}

}  // namespace

Draft draft_config(const DraftRequest& request) {
  std::error_code error;
  if (!fs::exists(request.path, error))
    throw Error(ErrorKind::kData, fmt::format("{}: no such file or folder", request.path));
  if (request.target && fs::is_directory(request.path, error))
    throw Error(ErrorKind::kUsage, fmt::format("--target names a column, and {} is a folder", request.path));
  if (fs::is_directory(request.path, error))
    return holds_texts(request.path) ? draft_texts(request) : draft_photos(request);
  if (begins_as_archive(request.path))
    throw Error(ErrorKind::kUsage, fmt::format("{}: init --from takes {}", request.path, kKinds));
  return draft_table(request);
}

std::string yaml_word(const std::string& word) { return trim(config::to_yaml(config::Node::text(word))); }

std::string yaml_list(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(yaml_word(word));
  return "[" + join(quoted, ", ") + "]";
}

}  // namespace dptrain::cli
