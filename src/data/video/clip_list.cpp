#include "data/video/clip_list.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "data/images/image_info.h"
#include "data/sources/file_list.h"
#include "data/sources/file_stamp.h"
#include "data/sources/hash.h"
#include "data/video/frame_folder.h"

namespace dptrain::data {
namespace {

namespace fs = std::filesystem;

bool is_image(const std::string& name) { return !format_of_name(name).empty(); }

bool holds_frames(const Listing& listing) {
  Strays unused;
  return std::any_of(listing.files.begin(), listing.files.end(), is_image) &&
         std::none_of(listing.files.begin(), listing.files.end(),
                      [&](const std::string& name) { return !is_image(name) && unused.wants(name.c_str()); });
}

std::uint64_t hash_of_clip(const Clip& clip, std::uint64_t hash) {
  if (!clip.frames) return hash_ends(clip.path, hash);
  const std::vector<std::string> names = frame_names(clip.path);
  hash = hash_number(names.size(), hash);
  return names.empty() ? hash : hash_ends(clip.path + "/" + names.front(), hash);
}

}  // namespace

bool holds_clip_files(const std::string& folder) {
  static const std::set<std::string> kSuffixes{".3gp", ".avi", ".flv", ".m4v", ".mkv", ".mov",  ".mp4", ".mpeg",
                                               ".mpg", ".mts", ".ogv", ".ts",  ".vob", ".webm", ".wmv"};
  FileList files;
  std::int64_t images = 0;
  files.add_folder(folder, [&](const char* name) {
    std::string suffix = fs::path(name).extension().string();
    for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    images += is_image(name) ? 1 : 0;
    return kSuffixes.contains(suffix);
  });
  return files.size() > images;
}

bool is_frame_folder(const std::string& folder) { return holds_frames(list_folder(folder)); }

void ClipList::add_folder(const std::string& folder, Strays& strays) {
  std::error_code ignored;
  if (!entered_.insert(fs::canonical(folder, ignored).string()).second) return;
  const Listing listing = list_folder(folder);
  const fs::path base(folder);
  for (const std::string& name : listing.files) {
    if (is_image(name))
      strays.add(name.c_str());
    else if (strays.wants(name.c_str()))
      add_clip((base / name).string(), false);
  }
  for (const std::string& name : listing.folders) {
    const std::string path = (base / name).string();
    if (is_frame_folder(path))
      add_clip(path, true);
    else
      add_folder(path, strays);
  }
}

bool ClipList::has_files() const {
  return std::any_of(clips_.begin(), clips_.end(), [](const Clip& clip) { return !clip.frames; });
}

std::uint64_t ClipList::hash(const std::string& root) const {
  constexpr std::int64_t kHashed = 64;
  std::uint64_t hash = kHashStart;
  for (const Clip& clip : clips_) {
    const std::string name = fs::path(clip.path).lexically_relative(root).string();
    hash = hash_bytes(name.data(), name.size() + 1, hash);
  }
  const std::int64_t looked_at = std::min(size(), kHashed);
  for (std::int64_t i = 0; i < looked_at; ++i) hash = hash_of_clip((*this)[i * size() / looked_at], hash);
  return hash;
}

std::uint64_t ClipList::stamp() const {
  std::uint64_t hash = kHashStart;
  for (const Clip& clip : clips_) {
    hash = hash_bytes(clip.path.data(), clip.path.size() + 1, hash);
    if (!clip.frames)
      hash = hash_stamp(clip.path, hash);
    else
      for (const std::string& name : frame_names(clip.path)) hash = hash_stamp(clip.path + "/" + name, hash);
  }
  return hash;
}

}  // namespace dptrain::data
