#include "init/draft.h"

#include <cctype>
#include <filesystem>

#include "config/node.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/images/image_info.h"
#include "data/video/clip_list.h"

namespace dptrain::init {
namespace fs = std::filesystem;
namespace {

constexpr const char* kKinds =
    "a CSV or HDF5 file, or a folder of class folders with photos, clips or texts, or of photos and masks";

std::string first_of(const std::string& folder, const std::vector<const char*>& names) {
  std::error_code ignored;
  for (const char* const name : names)
    if (fs::is_directory(fs::path(folder) / name, ignored)) return name;
  return "";
}

/// Class folders may contain folders of frames.
bool holds_clips(const std::string& path) {
  const std::string folder = below(path, roles_in(path).train);
  if (data::has_clip_files(folder)) return true;
  std::error_code error;
  for (const fs::directory_entry& of_class : fs::directory_iterator(folder, error))
    for (const fs::directory_entry& entry : fs::directory_iterator(of_class.path(), error))
      return entry.is_directory(error) && data::is_frame_folder(entry.path().string());
  return false;
}

[[noreturn]] void refuse_file(const std::string& path, const FileKind& kind) {
  std::string advice;
  if (kind.use == FileKind::Use::kArrays)
    advice = fmt::format("; in a config: data: {{train: {{Numpy: {{inputs: {}, labels: FILE}}}}}}", path);
  else if (kind.use == FileKind::Use::kPicture)
    advice = "; give the folder that has a folder of pictures for each class";
  else if (kind.use == FileKind::Use::kModel)
    advice = fmt::format("; 'dptrain ckpt convert {} model.yaml' writes a config for a model", path);
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: it is {}, but init --from expects {}{}", path, kind.name, kKinds, advice));
}

}  // namespace

bool has_texts(const std::string& folder) {
  int files = 0, texts = 0;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (entry.depth() == 0 || !entry->is_regular_file(error)) continue;
    if (!data::format_of_name(entry->path().filename().string()).empty())
      return false;  // its .txt files are captions or boxes
    ++files;
    if (entry->path().extension() == ".txt") ++texts;
  }
  return 2 * texts > files;
}

Draft draft_config(const DraftRequest& request) {
  std::error_code error;
  if (!fs::exists(request.path, error))
    throw Error(ErrorKind::kData, fmt::format("{}: no such file or folder", request.path));
  if (request.target && fs::is_directory(request.path, error))
    throw Error(ErrorKind::kUsage, fmt::format("--target names a column, and {} is a folder", request.path));
  if (fs::is_directory(request.path, error)) {
    if (has_masks(request.path)) return draft_masks(request);
    if (has_texts(request.path)) return draft_texts(request);
    return holds_clips(request.path) ? draft_clips(request) : draft_photos(request);
  }
  const FileKind kind = kind_of_file(request.path);
  if (kind.use == FileKind::Use::kHdf5) return draft_arrays(request);
  if (!kind.name.empty() && kind.use != FileKind::Use::kTable) refuse_file(request.path, kind);
  return draft_table(request);
}

Roles roles_in(const std::string& folder) {
  Roles roles{.train = first_of(folder, {"train", "training"})};
  if (roles.train.empty()) return roles;
  roles.validation = first_of(folder, {"val", "validation", "valid"});
  roles.test = first_of(folder, {"test", "testing"});
  return roles;
}

std::string below(const std::string& folder, const std::string& name) {
  return name.empty() ? folder : (fs::path(folder) / name).lexically_normal().string();
}

std::string sets_of_roles(const Roles& roles,
                          const std::function<std::string(const char* role, const std::string& name)>& set) {
  std::string text = "data:\n" + set("train", roles.train);
  text += roles.validation.empty() ? "  validation:\n    Split: {fraction: 0.15, stratified: true}\n"
                                   : set("validation", roles.validation);
  return roles.test.empty() ? text : text + set("test", roles.test);
}

std::shared_ptr<const data::Source> open_train(config::Typed set) {
  data::DatasetConfig only;
  only.train = std::move(set);
  return data::open_sources(only, {}, 0).train;
}

std::string found_classes(const std::string& path, const data::Source& source, const char* what) {
  return fmt::format("{}: {} of {}: {}", path, counted(source.size(), what),
                     counted(source.class_names().size(), "class"), some_names(source.class_names()));
}

std::string lowercase(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

std::string some_names(std::vector<std::string> names) {
  constexpr std::size_t kAll = 12, kSome = 10;
  for (std::string& name : names) name = printable(name);
  const bool some = names.size() > kAll;
  if (some) names.resize(kSome);
  return join(names, ", ") + (some ? ", ..." : "");
}

std::string yaml_word(const std::string& word) { return trim(config::to_yaml(config::Node::text(word))); }

std::string yaml_key(const std::string& name) {
  config::Node map = config::Node::map();
  map.set(name, config::Node::integer(0));
  const std::string line = trim(config::to_yaml(map));
  return line.substr(0, line.rfind(':'));
}

std::string yaml_list(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(yaml_word(word));
  return "[" + join(quoted, ", ") + "]";
}

}  // namespace dptrain::init
