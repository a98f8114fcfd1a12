#include "experiment/run_files.h"

#include <algorithm>
#include <filesystem>

namespace dptrain::experiment {
namespace fs = std::filesystem;

bool is_run_file(const std::string& name) { return std::ranges::find(kRunFiles, name) != kRunFiles.end(); }

bool is_taken_by_run(const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  return (is_run_file(path.string()) && path != "log.csv") || path == kRunLock || *path.begin() == "checkpoints";
}

}  // namespace dptrain::experiment
