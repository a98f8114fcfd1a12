#include "train/weights_file.h"

#include <filesystem>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::train {
namespace {

namespace fs = std::filesystem;

/// "; did you mean 'vgg16.h5'?" among the files beside it, or what is missing of the way there.
std::string what_to_try(const fs::path& file) {
  std::error_code error;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    return fmt::format("; the folder '{}' is not there either: a relative path starts at the config's folder",
                       folder.string());
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  const std::string meant = did_you_mean(file.filename().string(), names);
  return meant.empty() ? "; give a .h5 or .keras file of Keras, or a checkpoint" : meant;
}

}  // namespace

void require_weights_file(const Experiment& experiment) {
  if (!experiment.graph.weights) return;
  const fs::path file = experiment.graph.weights->file.value;
  std::error_code error;
  config::Diagnostics diagnostics;
  if (!fs::exists(file, error))
    diagnostics.error(experiment.weights_place,
                      fmt::format("model.weights: no such file '{}'{}", file.string(), what_to_try(file)));
  else if (fs::is_directory(file, error))
    diagnostics.error(
        experiment.weights_place,
        fmt::format("model.weights: '{}' is a folder, expected a .h5 or .keras file of Keras, or a checkpoint",
                    file.string()));
  diagnostics.throw_if_errors();
}

}  // namespace dptrain::train
