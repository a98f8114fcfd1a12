#include "session/weights_file.h"

#include <filesystem>
#include <string>

#include "config/diagnostics.h"
#include "core/format.h"
#include "core/missing_file.h"

namespace dptrain::session {
namespace {

namespace fs = std::filesystem;

std::string what_to_try(const std::string& file) {
  const std::string near = what_to_try_for(file);
  return near.empty() ? "; give a .h5 or .keras file of Keras, or a checkpoint" : near;
}

}  // namespace

void require_weights_file(const experiment::Experiment& experiment) {
  if (!experiment.graph.weights) return;
  const fs::path file = experiment.graph.weights->file.value;
  std::error_code error;
  config::Diagnostics diagnostics;
  if (!fs::exists(file, error))
    diagnostics.error(experiment.weights_place,
                      fmt::format("model.weights: no such file '{}'{}", file.string(), what_to_try(file.string())));
  else if (fs::is_directory(file, error))
    diagnostics.error(
        experiment.weights_place,
        fmt::format("model.weights: '{}' is a folder, expected a .h5 or .keras file of Keras, or a checkpoint",
                    file.string()));
  diagnostics.throw_if_errors();
}

}  // namespace dptrain::session
