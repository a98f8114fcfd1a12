#include "core/files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain {
namespace fs = std::filesystem;
namespace {

std::string system_error() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe): glibc's is per thread

class BytesOnDisk final : public FileBytes {
 public:
  BytesOnDisk(std::string name, int fd, std::uint64_t size, const FileErrors& file_errors)
      : FileBytes(std::move(name), size, file_errors), fd_(fd) {}
  BytesOnDisk(const BytesOnDisk&) = delete;
  BytesOnDisk& operator=(const BytesOnDisk&) = delete;
  ~BytesOnDisk() override { close(fd_); }

 private:
  void copy(std::uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t got = pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(fmt::format("cannot be read: {}", system_error()));
      if (got == 0) throw_damaged("it was truncated while it was read");
      offset += static_cast<std::uint64_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }

  int fd_;
};

class BytesInMemory final : public FileBytes {
 public:
  BytesInMemory(std::string name, std::vector<std::byte> bytes, const FileErrors& file_errors)
      : FileBytes(std::move(name), bytes.size(), file_errors), bytes_(std::move(bytes)) {}

 private:
  void copy(std::uint64_t offset, std::span<std::byte> out) const override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

  std::vector<std::byte> bytes_;
};

}  // namespace

std::shared_ptr<const FileBytes> FileBytes::from_file(const std::string& path, const FileErrors& file_errors) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe at this path must not block
  if (fd < 0) throw file_errors.cannot_open(path, system_error());
  struct stat info {};
  const bool has_info = fstat(fd, &info) == 0;
  if (!has_info || !S_ISREG(info.st_mode)) {
    close(fd);
    throw file_errors.cannot_open(
        path, has_info && S_ISDIR(info.st_mode) ? "it is a folder; name the file in it" : "it is not a regular file");
  }
  return std::make_shared<BytesOnDisk>(path, fd, static_cast<std::uint64_t>(info.st_size), file_errors);
}

std::shared_ptr<const FileBytes> FileBytes::from_memory(std::string name, std::vector<std::byte> bytes,
                                                        const FileErrors& file_errors) {
  return std::make_shared<BytesInMemory>(std::move(name), std::move(bytes), file_errors);
}

void FileBytes::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (!contains(offset, out.size()))
    throw_damaged(fmt::format("{} bytes at {} are outside of its {} bytes", out.size(), offset, size_));
  copy(offset, out);
}

std::vector<std::byte> FileBytes::read(std::uint64_t offset, std::uint64_t length) const {
  if (!contains(offset, length))
    throw_damaged(fmt::format("{} bytes at {} are outside of its {} bytes", length, offset, size_));
  std::vector<std::byte> bytes(static_cast<std::size_t>(length));
  copy(offset, bytes);
  return bytes;
}

std::uint32_t FileBytes::checksum(std::uint64_t length) const {
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(length, std::uint64_t{1} << 20U)));
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < length;) {
    const auto part =
        std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(length - at, piece.size())));
    read(at, part);
    crc = crc32(part, crc);
    at += part.size();
  }
  return crc;
}

void FileBytes::throw_damaged(const std::string& what) const { throw file_errors_->damaged(name_, what); }

void FileBytes::refuse(const std::string& what) const { throw file_errors_->refused(name_, what); }

std::string missing_file_advice(const std::string& missing) {
  std::error_code error;
  fs::path file(missing);
  if (!file.has_filename()) file = file.parent_path();  // a folder with a trailing slash
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    return fmt::format("; the folder '{}' does not exist either: a relative path starts at the config's folder",
                       folder.string());
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return did_you_mean(file.filename().string(), names);
}

namespace {

using Use = FileKind::Use;

std::string head_of(const std::string& path) {
  std::array<char, 128> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  return {head.data(), static_cast<std::size_t>(file.gcount())};
}

/// By the name of the first member, at the beginning of the file.
FileKind kind_of_zip(std::string_view head) {
  const auto has = [&](const char* word) { return head.find(word) != std::string_view::npos; };
  if (has("data.pkl") || has("/version") || has("/byteorder")) return {Use::kUnreadableModel, "a PyTorch file"};
  if (has(".npy")) return {Use::kArrays, "a file of NumPy arrays"};
  if (has("metadata.json") || has("config.json") || has("model.weights.h5")) return {Use::kModel, "a Keras model"};
  if (has("[Content_Types].xml")) return {Use::kOther, "an Excel workbook"};
  return {Use::kOther, "a zip archive"};
}

}  // namespace

FileKind kind_of_file(const std::string& path) {
  const std::string head = head_of(path);
  if (head.empty()) return {};
  std::string suffix = std::filesystem::path(path).extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (head.starts_with("PK\x03\x04")) return kind_of_zip(head);
  if (head.starts_with("\x89HDF")) return {Use::kHdf5, "an HDF5 file"};
  if (head.starts_with("\x93NUMPY")) return {Use::kArrays, "a NumPy array"};
  if (head.starts_with("\x89PNG") || head.starts_with("\xFF\xD8\xFF")) return {Use::kPicture, "a picture"};
  if (suffix == ".safetensors") return {Use::kModel, "a safetensors file"};
  if (suffix == ".onnx") return {Use::kUnreadableModel, "an ONNX model"};
  if (suffix == ".tflite") return {Use::kUnreadableModel, "a TensorFlow Lite model"};
  if (suffix == ".pt" || suffix == ".pth" || suffix == ".ckpt") return {Use::kUnreadableModel, "a PyTorch file"};
  if (head.starts_with("\x80\x02") || suffix == ".pkl" || suffix == ".joblib")
    return {Use::kUnreadableModel, "a pickle of Python"};
  if (suffix == ".csv" || suffix == ".tsv") return {Use::kTable, "a table"};
  return {};
}

namespace {

Error write_error(const std::string& path, const std::string& reason) {
  return {ErrorKind::kWrite, fmt::format("cannot write '{}': {}", path, reason)};
}

/// Empty if the file system does not report it: FUSE file systems without statfs have 0 blocks.
std::optional<std::uint64_t> free_bytes(const std::string& folder) {
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0 || info.f_blocks == 0) return std::nullopt;
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

std::string no_space(const std::string& path, std::uint64_t need, std::optional<std::uint64_t> free,
                     const std::string& reason) {
  const std::string has =
      free ? fmt::format(", the file system has {} ({} bytes) free", human_bytes(*free), *free) : "";
  return fmt::format(
      "cannot write '{}': {}; the file needs {} ({} bytes){}. Free some space, or choose another run directory", path,
      reason, human_bytes(need), need, has);
}

/// Locks the whole file for writing, without waiting. The kernel releases the lock when the last duplicate of `fd` is
/// closed, as it is when the process is killed. False with errno set.
bool lock_file(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  while (fcntl(fd, F_OFD_SETLK, &whole) != 0)
    if (errno != EINTR) return false;
  return true;
}

/// Removes temporaries of `file` that no writer has locked. If the file system has no locks, all of them stay.
void remove_leftovers(const fs::path& folder, const std::string& file) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    if (target_of_temporary(entry->path().filename().string()) != file) continue;
    const int fd = open(entry->path().c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;  // another user's file, or no file
    if (lock_file(fd)) unlink(entry->path().c_str());
    close(fd);
  }
}

/// Pipes and devices, and /dev/stdout even if it is a file: it must not be replaced by another file.
bool is_written_directly(const std::string& path) {
  struct stat info {};
  return path.starts_with("/dev/") ||
         (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

}  // namespace

std::string target_of_temporary(const std::string& name) {
  const std::size_t end = name.rfind(".tmp-");
  const bool digits = end != std::string::npos && end + 5 < name.size() &&
                      name.find_first_not_of("0123456789", end + 5) == std::string::npos;
  return digits && name.front() == '.' ? name.substr(1, end - 1) : "";
}

bool sync_folder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return true;
  const bool good = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int error = errno;
  close(fd);
  errno = error;
  return good;
}

std::error_code create_folders(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> parents;  // parents of the missing folders, innermost first
  for (fs::path missing = fs::absolute(folder, error); !error && !fs::exists(missing, error);
       missing = missing.parent_path())
    parents.push_back(missing.parent_path());
  fs::create_directories(folder, error);
  for (const fs::path& parent : parents)
    if (!error && !sync_folder(parent.string())) error.assign(errno, std::generic_category());
  return error;
}

AtomicFile::AtomicFile(std::string path, std::uint64_t expected, Durability durability)
    : path_(std::move(path)), expected_(expected), durability_(durability) {
  const fs::path target(path_);
  folder_ = target.has_parent_path() ? target.parent_path().string() : ".";
  file_ = target.filename().string();
  is_stream_ = is_written_directly(path_);
  if (is_stream_) {
    fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    if (durability_ == Durability::kSynced) remove_leftovers(folder_, file_);
    // Before anything is written, because a full disk harms more than this file.
    if (const auto free = free_bytes(folder_); free && *free < expected)
      throw Error(ErrorKind::kWrite, no_space(path_, expected, free, "not enough space"));
    while (!create()) {
    }
  }
  if (fd_ < 0) throw write_error(path_, system_error());
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
  if (lock_ >= 0) close(lock_);
}

/// False: another writer has removed the file as a leftover, before it was locked.
bool AtomicFile::create() {
  std::random_device random;
  temporary_ =
      (fs::path(folder_) / fmt::format(".{}.tmp-{}", file_, std::uint64_t{random()} << 32U | random())).string();
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) temporary_.clear();
  if (fd_ < 0) return true;
  const bool taken = !lock_file(fd_) && (errno == EAGAIN || errno == EACCES);
  struct stat info {};
  const bool removed = fstat(fd_, &info) == 0 && info.st_nlink == 0;
  if (!taken && !removed) {
    lock_ = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    return true;
  }
  close(std::exchange(fd_, -1));
  unlink(temporary_.c_str());
  return false;
}

void AtomicFile::fail(int error) const {
  errno = error;
  const std::string reason = system_error();
  if (!is_stream_ && (error == ENOSPC || error == EDQUOT || error == EFBIG))
    throw Error(ErrorKind::kWrite, no_space(path_, std::max(size_, expected_), free_bytes(folder_), reason));
  throw write_error(path_, reason);
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    // Linux writes at most 0x7ffff000 bytes at once.
    const ssize_t written = write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30U));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(written == 0 ? EIO : errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::replace_head(std::span<const std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(written == 0 ? EIO : errno);
    done += static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (is_stream_) return;
  // Some file systems (NFS, quotas) report a full disk only here.
  const bool syncs = durability_ == Durability::kSynced, synced = !syncs || fsync(fd_) == 0;
  const int error = errno;
  const bool closed = close(std::exchange(fd_, -1)) == 0;
  if (!synced || !closed) fail(synced ? errno : error);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) throw write_error(path_, system_error());
  temporary_.clear();
  if (syncs && !sync_folder(folder_))
    throw Error(ErrorKind::kWrite,
                fmt::format("'{}' is written, but its folder could not be synced: {}", path_, system_error()));
}

std::uint64_t write_atomically(const std::string& path, const std::vector<std::span<const std::byte>>& parts,
                               Durability durability) {
  std::uint64_t bytes = 0;
  for (const auto& part : parts) bytes += part.size();
  AtomicFile file(path, bytes, durability);
  for (const auto& part : parts) file.append(part);
  file.commit();
  return bytes;
}

}  // namespace dptrain
