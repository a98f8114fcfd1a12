#pragma once

// ClipList: the clips below some folders, in a fixed order: video files, and folders of frames such as 0001.jpg. One
// thread fills the list; then any thread may read it.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/sources/class_folders.h"
#include "data/video/clip.h"

namespace dptrain::data {

/// Names of the images in a folder, by suffix, without hidden ones. Numbers in names are sorted by value, so 2.jpg is
/// before 10.jpg, all else by bytes. Throws ClipError. Any thread, as the three functions below.
std::vector<std::string> frame_names(const std::string& folder);

/// Reads frames into `out`, u8 [frames, H, W, C]. Throws ClipError.
void read_frame_folder(const std::string& folder, const PickFrames& pick, const FrameOptions& options,
                       const ReadHint& hint, Array& out);
/// Decodes every frame. Throws ClipError.
ClipInfo check_frame_folder(const std::string& folder);
/// Reads only the first frame's header. Throws ClipError.
ClipInfo peek_frame_folder(const std::string& folder);

struct Clip {
  std::string path;
  bool frames = false;  ///< a folder of frames; false: a video file
};

class ClipList {
 public:
  void add_clip(const std::string& path, bool frames) { clips_.push_back({path, frames}); }
  /// Adds all clips below a folder: its files sorted by bytes, then its sub-folders. A sub-folder with images and no
  /// possible video files is a clip; others are searched. Follows links; enters each folder once. Skips hidden names,
  /// and counts in `ignored_files` images next to video files and names that it rejects.
  void add_folder(const std::string& folder, IgnoredFiles& ignored_files);

  std::int64_t size() const { return std::ssize(clips_); }
  const Clip& operator[](std::int64_t index) const { return clips_[static_cast<std::size_t>(index)]; }
  bool has_files() const;
  /// Hash of the paths relative to `root`, and of the sizes and ends of up to 64 evenly spread clips.
  std::uint64_t hash(const std::string& root) const;
  /// Hash of the paths, sizes and modification times of all files.
  std::uint64_t stamp() const;

 private:
  std::vector<Clip> clips_;
  std::set<std::string> entered_;
};

/// Whether a folder contains more video files than images, by suffix, at any depth.
bool has_clip_files(const std::string& folder);
/// Whether the folder is a clip: images and no possible video files.
bool is_frame_folder(const std::string& folder);

}  // namespace dptrain::data
