#include "data/sources/class_folders.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/images/image_decoders.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"

namespace dptrain::data {

std::vector<std::string> class_folders(const std::string& directory, const std::vector<std::string>& class_names,
                                       const ClassFolderMessages& messages) {
  std::int64_t files = 0;
  const std::vector<std::string> found = sub_folders(directory, files);
  if (found.empty())
    throw Error(ErrorKind::kData,
                fmt::format("{}: no sub-folders, {}; expected one folder of {} per class, as in {}/cats/{}", directory,
                            counted(files, "file"), messages.what, directory, messages.example));
  if (files > 0)
    log::warn(fmt::format("{}: {} next to the class folders not used", directory,
                          counted(files, "file") + (files == 1 ? " is" : " are")));
  static const std::set<std::string> kSets{"train", "training", "val", "valid", "validation", "test", "testing"};
  if (class_names.empty() && found.size() > 1 &&
      std::all_of(found.begin(), found.end(), [](const std::string& name) { return kSets.contains(name); }))
    throw Error(
        ErrorKind::kData,
        fmt::format("{}: the folders {} have the names of data sets, not of classes; set data.train, data.validation "
                    "and data.test to one each, as in {}/{} (or list them in class_names if they are classes)",
                    directory, join(found, ", "), directory, found.front()));
  if (class_names.empty()) return found;
  for (const std::string& name : class_names)
    if (!std::binary_search(found.begin(), found.end(), name))
      throw Error(ErrorKind::kData, fmt::format("{}: no folder for the class '{}' of class_names{}", directory, name,
                                                did_you_mean(name, found)));
  for (const std::string& name : found)
    if (std::find(class_names.begin(), class_names.end(), name) == class_names.end())
      throw Error(
          ErrorKind::kData,
          fmt::format("{}: the folder '{}' is not in class_names ({}); add it there, or move it out of the data set",
                      directory, name, join(class_names, ", ")));
  return class_names;
}

void compare_with_model(const std::string& directory, std::size_t classes, const ModelSide& model) {
  const bool row = model.outputs.size() == 1 && model.outputs.front().rank() == 1;
  const std::int64_t outputs = row ? model.outputs.front()[0] : 1;
  const auto count = static_cast<std::int64_t>(classes);
  if (outputs > 1 && count > outputs)
    throw Error(ErrorKind::kData, fmt::format("{}: {}, but the model has {}", directory, counted(count, "class folder"),
                                              counted(outputs, "output")));
  if (outputs > 1 && count < outputs)
    log::warn(fmt::format("{}: {}, but the model has {}", directory, counted(count, "class folder"),
                          counted(outputs, "output")));
}

void check_channels(ColorMode color, const char* what, int rank, const ModelSide& model) {
  if (model.input_shapes.size() != 1 || static_cast<int>(model.input_shapes[0].rank()) != rank) return;
  const std::int64_t wanted = model.input_shapes[0].back();
  for (const auto& [other, name] : config::EnumNames<ColorMode>::names)
    if (channels_of(other) == wanted && other != color)
      throw Error(ErrorKind::kUsage, fmt::format("{} are read with {}, the model expects {}; write color_mode: {}",
                                                 what, counted(channels_of(color), "channel"), wanted, name));
}

ClassSamples class_samples(const std::string& directory, std::vector<std::string> classes, const char* what,
                           const char* kind, const IgnoredFiles& ignored_files,
                           const std::function<std::int64_t(const std::string& folder)>& add) {
  ClassSamples samples{.names = std::move(classes), .ends = {}};
  std::int64_t before = 0;
  for (const std::string& name : samples.names) {
    const std::string folder = (std::filesystem::path(directory) / name).string();
    const std::int64_t end = add(folder);
    if (end == before) log::warn(fmt::format("{}: no {}s; the class '{}' has no samples", folder, what, name));
    samples.ends.push_back(before = end);
  }
  ignored_files.log_warning(directory, kind);
  if (before == 0)
    throw Error(ErrorKind::kData,
                fmt::format("{}: none of the {} class folders has a {}", directory, samples.names.size(), what));
  return samples;
}

std::int64_t ClassSource::label_class(std::int64_t index, int) const {
  return std::upper_bound(classes_.ends.begin(), classes_.ends.end(), index) - classes_.ends.begin();
}

void ClassSource::label_values(std::int64_t, float*, int) const {
  throw Error(ErrorKind::kInternal, "samples of class folders have classes, no values");
}

void ClassSource::set_fingerprint(const char* kind, std::int64_t channels, std::uint64_t samples_hash) {
  for (const std::int64_t end : classes_.ends)
    samples_hash = hash_number(static_cast<std::uint64_t>(end), samples_hash);
  fingerprint_ = fmt::format("{}:{}:{}:{}:{:016x}", kind, size(), classes_.ends.size(), channels, samples_hash);
}

bool IgnoredFiles::accepts(const char* name) {
  static constexpr std::array kSuffixes{".txt", ".md",  ".csv", ".json", ".xml", ".yaml", ".yml",
                                        ".db",  ".ini", ".log", ".html", ".pdf", ".zip",  ".lnk"};
  std::string suffix = std::filesystem::path(name).extension().string();
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::find(kSuffixes.begin(), kSuffixes.end(), suffix) == kSuffixes.end()) return true;
  add(name);
  return false;
}

void IgnoredFiles::add(const char* name) {
  if (count_++ == 0) first_ = name;
}

void IgnoredFiles::log_warning(const std::string& directory, const char* what) const {
  if (count_ > 0)
    log::warn(fmt::format("{}: {} {} skipped, such as {}: no {} suffix", directory, with_commas(count_),
                          count_ == 1 ? "file is" : "files are", first_, what));
}

}  // namespace dptrain::data
