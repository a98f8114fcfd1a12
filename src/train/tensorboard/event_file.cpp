#include "train/tensorboard/event_file.h"

#include <cstring>
#include <filesystem>

#include "core/crc32c.h"
#include "core/format.h"
#include "core/log.h"
#include "train/line_file.h"

namespace dptrain::train::tensorboard {
namespace {

constexpr double kWriteEverySeconds = 2;
constexpr std::size_t kWriteAtBytes = std::size_t{1} << 20;
constexpr std::size_t kHeadBytes = 12, kTailBytes = 4;

/// TensorFlow's, so that a checksum of bytes that hold a checksum is sound.
std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U; }

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::memcpy(text.data(), &value, bytes);
  return text;
}

bool has_checksum(std::string_view bytes, const char* stored) {
  std::uint32_t crc = 0;
  std::memcpy(&crc, stored, sizeof crc);
  return masked(crc32c(bytes)) == crc;
}

}  // namespace

std::string framed(std::string_view bytes) {
  const std::string length = little_endian(bytes.size(), 8);
  return length + little_endian(masked(crc32c(length)), 4) + std::string(bytes) +
         little_endian(masked(crc32c(bytes)), 4);
}

std::vector<std::string_view> records(std::string_view file) {
  std::vector<std::string_view> all;
  while (file.size() >= kHeadBytes + kTailBytes && has_checksum(file.substr(0, 8), file.data() + 8)) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    if (length > file.size() - kHeadBytes - kTailBytes) break;
    const std::string_view bytes = file.substr(kHeadBytes, length);
    if (!has_checksum(bytes, bytes.data() + length)) break;
    all.push_back(bytes);
    file.remove_prefix(kHeadBytes + length + kTailBytes);
  }
  return all;
}

void filter_records(const std::string& path, const std::function<bool(std::string_view record)>& keep) {
  const std::string all = read_text(path);
  std::string kept;
  for (const std::string_view record : records(all))
    if (keep(record)) kept += framed(record);
  if (kept.size() != all.size()) write_text(path, kept);
}

void EventFile::append(std::string_view event) {
  pending_ += framed(event);
  if (pending_.size() >= kWriteAtBytes || now_seconds() - written_ >= kWriteEverySeconds) flush();
}

bool EventFile::flush() {
  written_ = now_seconds();
  if (pending_.empty()) return true;
  std::error_code ignored;  // the write tells
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  const int failure = append_whole(path_, "", pending_);
  if (failure == 0) pending_.clear();
  if (failure != 0 && !warned_)
    log::warn(fmt::format("{}: cannot write: {}; events are kept and written later", path_, std::strerror(failure)));
  warned_ = failure != 0;
  return failure == 0;
}

}  // namespace dptrain::train::tensorboard
