#pragma once

// The bytes of a file that are read by their place, from the disk or from memory, and a cursor over a piece of them.
// Every access is checked against the size, before anything is allocated: the contents are not to be trusted. FileBytes
// is immutable and serves any thread; a Cursor belongs to one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"

namespace dptrain {

/// How errors about a file of some sort are worded.
struct FileVoice {
  Error (*cannot_open)(const std::string& path, const std::string& reason);
  Error (*damaged)(const std::string& name, const std::string& what);
  Error (*refused)(const std::string& name, const std::string& what);  ///< sound, but not for us
};

class FileBytes {
 public:
  /// `voice` outlives all that is made of the file.
  static std::shared_ptr<const FileBytes> of_file(const std::string& path, const FileVoice& voice);
  static std::shared_ptr<const FileBytes> of_memory(std::string name, std::vector<std::byte> bytes,
                                                    const FileVoice& voice);
  virtual ~FileBytes() = default;

  const std::string& name() const noexcept { return name_; }
  const FileVoice& voice() const noexcept { return *voice_; }
  std::uint64_t size() const noexcept { return size_; }
  bool contains(std::uint64_t offset, std::uint64_t length) const noexcept {
    return offset <= size_ && length <= size_ - offset;
  }
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t length) const;

  [[noreturn]] void damaged(const std::string& what) const;
  [[noreturn]] void refuse(const std::string& what) const;

 protected:
  FileBytes(std::string name, std::uint64_t size, const FileVoice& voice)
      : name_(std::move(name)), size_(size), voice_(&voice) {}
  virtual void copy(std::uint64_t offset, std::span<std::byte> out) const = 0;

 private:
  std::string name_;
  std::uint64_t size_;
  const FileVoice* voice_;
};

/// Little-endian numbers from a piece of the file, one after the other; running over its end is damage.
class Cursor {
 public:
  Cursor(const FileBytes& file, std::span<const std::byte> bytes) : file_(&file), bytes_(bytes) {}

  std::size_t left() const noexcept { return bytes_.size(); }
  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) file_->damaged("a record is shorter than its contents");
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  void skip(std::size_t count) { take(count); }
  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const std::byte byte : take(size)) {
      value |= std::to_integer<std::uint64_t>(byte) << shift;
      shift += 8;
    }
    return value;
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  bool signature(const char (&expected)[5]) {
    const auto found = take(4);
    for (std::size_t i = 0; i < 4; ++i)
      if (std::to_integer<char>(found[i]) != expected[i]) return false;
    return true;
  }

 private:
  const FileBytes* file_;
  std::span<const std::byte> bytes_;
};

}  // namespace dptrain
