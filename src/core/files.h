#pragma once

// Files: checked access to their bytes, atomic replacement, and advice for paths that cannot be used.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace dptrain {

// FileBytes reads a file, on disk or in memory, at any offset; a Cursor reads a part of it in order. Contents are not
// trusted: every access is checked against the size before anything is allocated. FileBytes is immutable; any thread.
// A Cursor belongs to one thread.

/// Constructors of the errors about a kind of file.
struct FileErrors {
  Error (*cannot_open)(const std::string& path, const std::string& reason);
  Error (*damaged)(const std::string& name, const std::string& what);
  Error (*refused)(const std::string& name, const std::string& what);  ///< valid, but not supported
};

class FileBytes {
 public:
  /// `file_errors` must outlive the file and all objects made from it.
  static std::shared_ptr<const FileBytes> from_file(const std::string& path, const FileErrors& file_errors);
  static std::shared_ptr<const FileBytes> from_memory(std::string name, std::vector<std::byte> bytes,
                                                      const FileErrors& file_errors);
  virtual ~FileBytes() = default;

  const std::string& name() const noexcept { return name_; }
  const FileErrors& file_errors() const noexcept { return *file_errors_; }
  std::uint64_t size() const noexcept { return size_; }
  bool contains(std::uint64_t offset, std::uint64_t length) const noexcept {
    return offset <= size_ && length <= size_ - offset;
  }
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t length) const;
  /// CRC-32 of the first `length` bytes.
  std::uint32_t checksum(std::uint64_t length) const;

  [[noreturn]] void throw_damaged(const std::string& what) const;
  [[noreturn]] void refuse(const std::string& what) const;

 protected:
  FileBytes(std::string name, std::uint64_t size, const FileErrors& file_errors)
      : name_(std::move(name)), size_(size), file_errors_(&file_errors) {}
  virtual void copy(std::uint64_t offset, std::span<std::byte> out) const = 0;

 private:
  std::string name_;
  std::uint64_t size_;
  const FileErrors* file_errors_;
};

/// Reads little-endian numbers from a piece of a file in order. A read beyond its end throws FileErrors::damaged.
class Cursor {
 public:
  Cursor(const FileBytes& file, std::span<const std::byte> bytes) : file_(&file), bytes_(bytes) {}

  std::size_t left() const noexcept { return bytes_.size(); }
  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) file_->throw_damaged("a record is shorter than its contents");
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

// Advice for a path that a command cannot use: the file is missing or of another kind. Any thread.

/// "; did you mean 'train-images.gz'?" among the files of its folder, or the first folder of the path that is
/// missing; "" if no name is near.
std::string missing_file_advice(const std::string& missing);

/// The kind of a file, by its first bytes and its name.
struct FileKind {
  enum class Use { kOther, kModel, kHdf5, kUnreadableModel, kTable, kArrays, kPicture } use = Use::kOther;
  std::string name{};  ///< "a Keras model", "a PyTorch file"; "" for kOther
};
FileKind kind_of_file(const std::string& path);

/// The HDF5 library is not thread-safe: every caller, in any module, holds this lock.
inline std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

// Atomic writes: a path has either the old file or the complete new one. Any thread. Several writers of one path may
// run at a time: the file of the last one remains. Between machines this requires file locks.

/// kRenamed: no fsync, and temporaries of killed processes stay. For many files that a user can write again, where
/// fsync would take most of the time.
enum class Durability { kSynced, kRenamed };

/// A file that its path gets on commit(): until then `.<file>.tmp-<random number>` in the folder, locked by
/// F_OFD_SETLK. Pipes and devices are written directly. All functions throw Error{kWrite}; the old file then stays
/// unchanged. One thread.
class AtomicFile {
 public:
  /// Removes unlocked temporaries of killed processes. Throws if the file system has less than `expected` bytes free.
  explicit AtomicFile(std::string path, std::uint64_t expected = 0, Durability durability = Durability::kSynced);
  ~AtomicFile();  ///< without commit(): removes the temporary
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void append(std::span<const std::byte> bytes);
  /// Replaces bytes at the beginning. Not for pipes.
  void replace_head(std::span<const std::byte> bytes);
  /// Calls fsync, rename, fsync on the folder; for kRenamed only rename. The last call.
  void commit();
  std::uint64_t size() const { return size_; }

 private:
  bool create();
  [[noreturn]] void fail(int error) const;

  const std::string path_;
  const std::uint64_t expected_;
  const Durability durability_;
  std::string folder_, file_;  ///< parts of the path
  std::string temporary_;      ///< "": the path itself is open
  std::uint64_t size_ = 0;
  bool is_stream_ = false;  ///< a pipe or device
  int fd_ = -1;
  int lock_ = -1;  ///< keeps the lock when `fd_` is closed
};

/// Writes the parts in order as an AtomicFile. Returns the bytes written.
std::uint64_t write_atomically(const std::string& path, const std::vector<std::span<const std::byte>>& parts,
                               Durability durability = Durability::kSynced);

/// Makes the folder and those above it that are missing, and syncs the folders that they are entries of, so that a file
/// in it survives a power failure.
std::error_code create_folders(const std::string& folder);

/// False with errno set. True as well if the folder cannot be opened, or the file system cannot sync folders.
bool sync_folder(const std::string& folder);

/// "net.h5" of the name ".net.h5.tmp-4711", "" of any other.
std::string target_of_temporary(const std::string& name);

}  // namespace dptrain
