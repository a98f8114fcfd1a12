#include "core/missing_file.h"

#include <filesystem>
#include <vector>

#include "core/format.h"
#include "core/text.h"

namespace dptrain {

std::string what_to_try_for(const std::string& missing) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path file(missing);
  if (!file.has_filename()) file = file.parent_path();  // a folder written with a slash at its end
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    return fmt::format("; the folder '{}' is not there either: a relative path starts at the config's folder",
                       folder.string());
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return did_you_mean(file.filename().string(), names);
}

}  // namespace dptrain
