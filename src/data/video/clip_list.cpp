#include "data/video/clip_list.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "core/format.h"
#include "data/images/image_info.h"
#include "data/images/pixel_finish.h"
#include "data/on_error.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"

namespace dptrain::data {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The run of digits at `at`, without leading zeros. Advances `at` past it.
std::string_view number_at(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  std::string_view digits = text.substr(begin, at - begin);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

/// Compares runs of digits by value, other characters by bytes.
bool comes_before(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view left = number_at(a, i), right = number_at(b, j);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i, ++j;
    }
  }
  return a.size() - i != b.size() - j ? a.size() - i < b.size() - j : a < b;
}

std::string path_of(const std::string& folder, const std::string& name) { return folder + "/" + name; }

/// Calls f with the bytes of a frame's file. Rethrows errors as ClipError with the frame's name.
template <class F>
void with_frame(const std::string& folder, const std::string& name, const F& f) {
  thread_local std::vector<std::uint8_t> bytes;
  try {
    read_file(path_of(folder, name), bytes);
    f(bytes);
  } catch (const SampleError& error) {
    throw ClipError(name + ": " + error.sample().reason);
  } catch (const ImageError& error) {
    throw ClipError(name + ": " + error.what());
  } catch (const ClipError& error) {
    throw ClipError(name + ": " + error.reason(), error.byte());
  }
}

std::vector<std::string> frames_in(const std::string& folder) {
  std::vector<std::string> names = frame_names(folder);
  if (names.empty()) throw ClipError("the folder has no images");
  return names;
}

}  // namespace

std::vector<std::string> frame_names(const std::string& folder) {
  std::vector<std::string> names;
  try {
    names = list_folder(folder).files;
  } catch (const Error& error) {
    throw ClipError(error.what());
  }
  std::erase_if(names, [](const std::string& name) { return format_of_name(name).empty(); });
  std::sort(names.begin(), names.end(), comes_before);
  return names;
}

void read_frame_folder(const std::string& folder, const PickFrames& pick, const FrameOptions& options,
                       const ReadHint& hint, Array& out) {
  const std::vector<std::string> names = frames_in(folder);
  const std::vector<std::int64_t> picks = pick(static_cast<std::int64_t>(names.size()));
  DecodeOptions decode{.color = options.color, .rotate = options.rotate};
  if (!options.resizes()) {
    decode.min_height = hint.min_height;
    decode.min_width = hint.min_width;
    decode.part = hint.part;
  }
  ClipBuffer buffer(out, static_cast<std::int64_t>(picks.size()), options.color);
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (i > 0 && picks[i] == picks[i - 1]) {
      buffer.repeat();
      continue;
    }
    with_frame(folder, names[static_cast<std::size_t>(picks[i])], [&](const std::vector<std::uint8_t>& bytes) {
      thread_local Array frame;
      decode_image(bytes, decode, frame);
      add_frame(view_of(frame), options, buffer);
    });
  }
}

ClipInfo check_frame_folder(const std::string& folder) {
  const std::vector<std::string> names = frames_in(folder);
  ClipInfo info{.format = "", .frames = static_cast<std::int64_t>(names.size())};
  for (const std::string& name : names)
    with_frame(folder, name, [&](const std::vector<std::uint8_t>& bytes) {
      thread_local Array frame;
      if (info.format.empty()) info.format = image_info(bytes).format + " frames";
      decode_image(bytes, {}, frame);
      if (info.height == 0) info.height = frame.shape[0], info.width = frame.shape[1];
    });
  return info;
}

ClipInfo peek_frame_folder(const std::string& folder) {
  const std::vector<std::string> names = frames_in(folder);
  ClipInfo info{.format = "", .frames = static_cast<std::int64_t>(names.size())};
  with_frame(folder, names.front(), [&](const std::vector<std::uint8_t>& bytes) {
    const ImageInfo frame = image_info(bytes);
    info.format = frame.format + " frames";
    info.height = frame.height;
    info.width = frame.width;
  });
  return info;
}

namespace {

namespace fs = std::filesystem;

bool is_image(const std::string& name) { return !format_of_name(name).empty(); }

bool holds_frames(const Listing& listing) {
  IgnoredFiles unused;
  return std::any_of(listing.files.begin(), listing.files.end(), is_image) &&
         std::none_of(listing.files.begin(), listing.files.end(),
                      [&](const std::string& name) { return !is_image(name) && unused.accepts(name.c_str()); });
}

std::uint64_t hash_of_clip(const Clip& clip, std::uint64_t hash) {
  if (!clip.frames) return hash_ends(clip.path, hash);
  const std::vector<std::string> names = frame_names(clip.path);
  hash = hash_number(names.size(), hash);
  return names.empty() ? hash : hash_ends(clip.path + "/" + names.front(), hash);
}

}  // namespace

bool has_clip_files(const std::string& folder) {
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

void ClipList::add_folder(const std::string& folder, IgnoredFiles& ignored_files) {
  std::error_code ignored;
  if (!entered_.insert(fs::canonical(folder, ignored).string()).second) return;
  const Listing listing = list_folder(folder);
  const fs::path base(folder);
  for (const std::string& name : listing.files) {
    if (is_image(name))
      ignored_files.add(name.c_str());
    else if (ignored_files.accepts(name.c_str()))
      add_clip((base / name).string(), false);
  }
  for (const std::string& name : listing.folders) {
    const std::string path = (base / name).string();
    if (is_frame_folder(path))
      add_clip(path, true);
    else
      add_folder(path, ignored_files);
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
  const std::int64_t hashed = std::min(size(), kHashed);
  for (std::int64_t i = 0; i < hashed; ++i) hash = hash_of_clip((*this)[i * size() / hashed], hash);
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
