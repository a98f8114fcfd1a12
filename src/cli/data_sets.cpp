#include "cli/data_sets.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include "cli/config_flags.h"
#include "core/activity.h"
#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"
#include "data/sources/dataset.h"
#include "data/transform.h"
#include "experiment/model_side.h"
#include "experiment/objectives.h"
#include "init/draft.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

std::shared_ptr<const data::Source> open_folder(const std::string& path) {
  if (init::holds_texts(path))
    throw Error(
        ErrorKind::kUsage,
        fmt::format(
            "{0}: it is a folder of texts, which are read with the vocabulary of a config; 'dptrain init --from "
            "{0}' writes a config; give that to scan and stats",
            path));
  return data::open_path(path);
}

}  // namespace

DataSets open_data_sets(const std::string& path, const experiment::Overrides& overrides,
                        const std::optional<std::string>& only) {
  DataSets found;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (only) throw Error(ErrorKind::kUsage, fmt::format("--on belongs to a config, but {} is a folder", path));
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

void for_each_sample(const std::string& what, std::int64_t samples, const std::function<void(std::int64_t)>& f) {
  Activity activity(what, samples);
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  std::int64_t error_at = samples;
  const auto work = [&] {
    for (std::int64_t index = next++; index < samples; index = next++) {
      try {
        f(index);
        activity.advance();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (index < error_at) error = std::current_exception(), error_at = index;
      }
    }
  };
  const std::int64_t count = std::clamp<std::int64_t>(machine::cpus(), 1, std::max<std::int64_t>(1, samples));
  {
    std::vector<std::jthread> threads;
    for (std::int64_t t = 1; t < count; ++t) threads.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace dptrain::cli
