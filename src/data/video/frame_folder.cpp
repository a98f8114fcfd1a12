#include "data/video/frame_folder.h"

#include <algorithm>
#include <cctype>

#include "core/format.h"
#include "data/images/finish.h"
#include "data/images/image_info.h"
#include "data/on_error.h"
#include "data/sources/file_list.h"

namespace dptrain::data {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The run of digits at `at`, without zeros in front; `at` moves behind it.
std::string_view number_at(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  std::string_view digits = text.substr(begin, at - begin);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

/// Numbers by value, all else by bytes.
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

/// Calls f with the frame's bytes; an error gets the frame's name.
template <class F>
void with_frame(const std::string& folder, const std::string& name, const F& f) {
  thread_local std::vector<std::uint8_t> bytes;  // of a worker
  try {
    read_file(path_of(folder, name), bytes);
    f(bytes);
  } catch (const SampleError& error) {
    throw ClipError(name + ": " + error.sample().words);
  } catch (const ImageError& error) {
    throw ClipError(name + ": " + error.what());
  } catch (const ClipError& error) {
    throw ClipError(name + ": " + error.words(), error.byte());
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
    decode.least_height = hint.least_height;
    decode.least_width = hint.least_width;
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

}  // namespace dptrain::data
