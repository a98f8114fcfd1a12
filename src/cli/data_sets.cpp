#include "cli/data_sets.h"

#include <filesystem>

#include "cli/config_flags.h"
#include "core/error.h"
#include "core/format.h"
#include "data/sources/dataset.h"
#include "data/transform.h"
#include "experiment/model_side.h"
#include "experiment/objectives.h"
#include "init/draft.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

std::shared_ptr<const data::Source> open_folder(const std::string& path) {
  if (init::has_texts(path))
    throw Error(ErrorKind::kUsage,
                fmt::format("{0}: it is a folder of texts, which are read with the vocabulary of a config; 'dptrain "
                            "init --from {0}' writes a config to use with scan and stats",
                            path));
  return data::open_path(path);
}

}  // namespace

DataSets open_data_sets(const std::string& path, const experiment::Overrides& overrides,
                        const std::optional<std::string>& only) {
  DataSets found;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (only) throw Error(ErrorKind::kUsage, fmt::format("--on applies to a config, but {} is a folder", path));
    const init::Roles roles = init::roles_in(path);
    if (roles.train.empty() || (roles.validation.empty() && roles.test.empty())) {  // "train" may be a class
      found.sets.push_back({path, open_folder(path)});
      return found;
    }
    for (const std::string& name : {roles.train, roles.validation, roles.test})
      if (!name.empty()) found.sets.push_back({init::below(path, name), open_folder(init::below(path, name))});
    return found;
  }
  if (auto source = data::open_path(path)) {
    found.sets.push_back({path, std::move(source)});
    return found;
  }
  found.experiment = experiment::load_with_warnings(path, overrides);
  found.model = experiment::model_side(*found.experiment);
  const experiment::DataSection& section = found.experiment->config.data;
  const data::Sources sources =
      data::open_sources({section.train, section.validation, section.test}, found.model, found.experiment->config.seed);
  for (const auto& [name, source] : {std::pair{"train", sources.train}, std::pair{"validation", sources.validation},
                                     std::pair{"test", sources.test}})
    if (source && (!only || *only == name)) found.sets.push_back({name, source});
  if (found.sets.empty())
    throw Error(ErrorKind::kUsage, only ? fmt::format("--on {}: the config has no data.{}", *only, *only)
                                        : fmt::format("{}: the config names no data set", path));
  return found;
}

}  // namespace dptrain::cli
