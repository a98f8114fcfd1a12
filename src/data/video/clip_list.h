#pragma once

// The clips below some folders, in a fixed order: files, and folders of frames, of which only the folder is kept.
// Filled by one thread, then read by any.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/sources/class_folders.h"
#include "data/video/clip.h"

namespace dptrain::data {

// A clip as a folder of images: 0001.jpg, 0002.jpg, ... Read anew each time, nothing is kept. Any thread.

/// The images of a folder by their suffixes, in order: numbers in names by their value, so that 2.jpg comes before
/// 10.jpg, all else by bytes; hidden ones are left out. Throws ClipError.
std::vector<std::string> frame_names(const std::string& folder);

/// `out` becomes u8 [frames, H, W, C]. Throws ClipError.
void read_frame_folder(const std::string& folder, const PickFrames& pick, const FrameOptions& options,
                       const ReadHint& hint, Array& out);
/// Decodes every frame. Throws ClipError.
ClipInfo check_frame_folder(const std::string& folder);
/// By the first frame's header. Throws ClipError.
ClipInfo peek_frame_folder(const std::string& folder);

struct Clip {
  std::string path;
  bool frames = false;  ///< a folder of them
};

class ClipList {
 public:
  /// One clip as it is: a file, or a folder of frames.
  void add_clip(const std::string& path, bool frames) { clips_.push_back({path, frames}); }
  /// All below a folder: its files sorted by bytes, then its sub-folders. A sub-folder that holds images and no other
  /// files that could be clips is a clip of frames; any other is gone into. Links are followed, each folder is entered
  /// once; hidden names are left out. Images beside clips, and names that `strays` does not want, are passed over.
  void add_folder(const std::string& folder, Strays& strays);

  std::int64_t size() const { return std::ssize(clips_); }
  const Clip& operator[](std::int64_t index) const { return clips_[static_cast<std::size_t>(index)]; }
  bool has_files() const;
  /// Of the names below `root`, and of the sizes and ends of some clips, evenly spread.
  std::uint64_t hash(const std::string& root) const;
  /// Of the names, sizes and times of change of all.
  std::uint64_t stamp() const;

 private:
  std::vector<Clip> clips_;
  std::set<std::string> entered_;
};

/// Whether most files below a folder are clips by their suffixes, rather than images.
bool holds_clip_files(const std::string& folder);
/// Whether the folder itself is a clip of frames.
bool is_frame_folder(const std::string& folder);

}  // namespace dptrain::data
