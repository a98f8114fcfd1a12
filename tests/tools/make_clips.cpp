// Generates a data set of clips: a square that moves down, left, right or up, one folder per direction. Files cycle
// through .mp4 (mpeg4 with B-frames), .avi (mpeg4), .mov (mjpeg) and .mkv (ffv1); without FFmpeg's headers, or with
// --frames, they are folders of PPM images.
//
//   dptrain_make_clips FOLDER [--clips N] [--length FRAMES] [--size H W] [--seed S] [--frames] [--damage PERCENT]
//
// --damage truncates, empties or overwrites this percentage of the files and prints their names.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "clips/write_clip.h"

namespace {

namespace fs = std::filesystem;
using namespace dptrain::test;

struct Options {
  std::string folder;
  int clips = 40, length = 24, height = 32, width = 32, damage = 0;
  std::uint64_t seed = 1;
  bool frames = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto number = [&] {
      if (++i >= argc) throw std::runtime_error(flag + " wants a number");
      return std::atoi(argv[i]);
    };
    if (flag == "--clips")
      options.clips = number();
    else if (flag == "--length")
      options.length = number();
    else if (flag == "--size")
      options.height = number(), options.width = number();
    else if (flag == "--seed")
      options.seed = static_cast<std::uint64_t>(number());
    else if (flag == "--damage")
      options.damage = number();
    else if (flag == "--frames")
      options.frames = true;
    else if (options.folder.empty() && flag[0] != '-')
      options.folder = flag;
    else
      throw std::runtime_error("unknown argument " + flag);
  }
  if (options.folder.empty()) throw std::runtime_error("wants a folder");
  return options;
}

struct Kind {
  const char* suffix;
  ClipKind kind;
};
constexpr Kind kKinds[] = {{".mp4", {.codec = "mpeg4", .key_every = 12, .b_frames = 2, .quality = 4}},
                           {".avi", {.codec = "mpeg4", .key_every = 12, .quality = 4}},
                           {".mov", {.codec = "mjpeg", .quality = 4}},
                           {".mkv", {.codec = "ffv1", .key_every = 1}}};

/// Applies one of three kinds of damage that every decoder detects.
void damage(const std::string& path, int which) {
  const auto size = fs::file_size(path);
  switch (which % 3) {
    case 0: fs::resize_file(path, size * static_cast<unsigned>(3 + which % 6) / 10); break;
    case 1: fs::resize_file(path, 0); break;
    default: {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const std::string noise(static_cast<std::size_t>(size) / 2, '\xA5');
      file.seekp(static_cast<std::streamoff>(size / 4));
      file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
    }
  }
  std::puts(path.c_str());
}

void make(const Options& options) {
  const bool files = can_write_clips() && !options.frames;
  int damaged = 0;
  for (int i = 0; i < options.clips; ++i) {
    const int direction = i % 4;
    const MadeClip clip = moving_square(direction, options.seed * 1'000'003 + static_cast<std::uint64_t>(i),
                                        options.length, options.height, options.width);
    char name[32];
    std::snprintf(name, sizeof name, "%05d", i);
    const fs::path folder = fs::path(options.folder) / kDirections[direction];
    fs::create_directories(folder);
    const std::string path = (folder / name).string();
    if (!files) {
      write_frame_folder(path, clip);
      continue;
    }
    const Kind& kind = kKinds[i / 4 % 4];
    write_clip(path + kind.suffix, clip, kind.kind);
    if (i * options.damage / 100 != (i + 1) * options.damage / 100) damage(path + kind.suffix, damaged++);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  make(parse(argc, argv));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "make_clips: %s\n", error.what());
  return 1;
}
