#include "session/conv_cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include <nlohmann/json.hpp>

#include "config/bundled.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "core/log.h"
#include "core/quantity.h"
#include "dptrain_version.h"
#include "session/dry_plan.h"

namespace dptrain::session {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;
using Names = backend::ConvChoices::Names;
using Machines = std::map<std::string, Names>;

constexpr int kFormat = 1;

std::string this_machine() {
  return fmt::format("{}, dptrain {}, oneDNN {}", backend::cpu_identity(), kVersion, kBuiltWithOneDnn);
}

/// Throws json::exception if the text is not such a file.
Machines parse(const std::string& text) {
  const json whole = json::parse(exceeds_json_depth(text) ? std::string() : text);
  if (whole.at("format").get<int>() != kFormat) return {};  // another version is not damaged
  return whole.at("machines").get<Machines>();
}

std::string text_of(const Machines& machines) {
  return json{{"format", kFormat}, {"machines", machines}}.dump(1) + "\n";
}

/// Empty if there is no file. A damaged file causes a warning with `consequence`.
Machines read(const std::string& file, const std::string& consequence) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return {};
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  try {
    return parse(text);
  } catch (const json::exception&) {
    log::warn(fmt::format("{} is not a cache of convolution choices, or is damaged: {}", file, consequence));
    return {};
  }
}

std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string conv_cache_file(const experiment::RuntimeSection& runtime) {
  switch (runtime.conv_cache.kind) {
    case experiment::ConvCache::Kind::kNone: return "";
    case experiment::ConvCache::Kind::kFile: return runtime.conv_cache.file.value;
    case experiment::ConvCache::Kind::kAuto: break;
  }
  const fs::path name = fs::path("dptrain") / "conv.json";
  if (const std::string cache = from_environment("XDG_CACHE_HOME"); fs::path(cache).is_absolute())
    return (cache / name).string();
  const std::string home = from_environment("HOME");
  return home.empty() ? "" : (fs::path(home) / ".cache" / name).string();
}

std::shared_ptr<backend::ConvChoices> open_conv_choices(const experiment::RuntimeSection& runtime,
                                                        const DeviceRequest& devices) {
  if (devices.on_gpus()) return nullptr;
  const std::string file = conv_cache_file(runtime);
  if (file.empty()) return std::make_shared<backend::ConvChoices>();
  Machines machines = read(file, "convolutions are chosen by rule; bench --tune writes a new one");
  return std::make_shared<backend::ConvChoices>(std::move(machines[this_machine()]));
}

void save_conv_choices(const std::string& file, const Names& names) {
  Machines machines = read(file, "it is replaced");
  for (const auto& [key, name] : names) machines[this_machine()][key] = name;
  const fs::path folder = fs::absolute(file).parent_path();
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error(ErrorKind::kWrite, fmt::format("{}: {}", folder.string(), failed.message()));
  const std::string text = text_of(machines);
  write_atomically(file, {std::as_bytes(std::span(text))});
}

std::string conv_choices_line(const backend::ConvChoices& choices, const experiment::RuntimeSection& runtime) {
  const auto uses = choices.uses();
  if (uses.empty()) return "";
  const auto tuned = std::count_if(uses.begin(), uses.end(), [](const auto& use) { return use.second.tuned; });
  const std::string one = counted(uses.size(), "convolution pass");
  if (tuned == 0) return one + " by rule";
  return fmt::format("{}: {} tuned ({}), {} by rule", one, tuned, conv_cache_file(runtime),
                     static_cast<std::ptrdiff_t>(uses.size()) - tuned);
}

Names conv_names(const backend::ConvChoices& choices) {
  Names names;
  for (const auto& [key, use] : choices.uses()) names.emplace(key.substr(0, key.rfind(" threads ")), use.name);
  return names;
}

std::string conv_difference(const Names& before, const Names& now) {
  std::size_t others = 0;
  std::string first;
  for (const auto& [key, name] : now) {
    const auto found = before.find(key);
    if (found == before.end() || found->second == name) continue;
    if (others++ == 0) first = fmt::format("{} was {}, is {}", key, found->second, name);
  }
  if (others == 0) return "";
  return fmt::format(
      "{} convolution pass{} computed by another algorithm than in the checkpoint ({}): the run continues, but not "
      "with the same bits",
      others, others == 1 ? " is" : "es are", first);
}

void collect_convolutions(const experiment::Experiment& experiment, const DeviceRequest& devices,
                          const std::shared_ptr<backend::ConvChoices>& account) {
  DryPlan plan;
  make_dry_plan(experiment, devices, {.conv_choices = account}, plan);
}

void collect_shipped_convolutions(const DeviceRequest& devices, const std::shared_ptr<backend::ConvChoices>& account) {
  for (const config::BundledFile& file : config::bundled_configs())
    if (file.name.starts_with("bench/"))
      collect_convolutions(experiment::load_experiment_text(std::string(file.text), std::string(file.name), {}),
                           devices, account);
}

}  // namespace dptrain::session
