#include "data/sources/file_list.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/activity.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/on_error.h"
#include "data/sources/hash.h"

namespace dptrain::data {

std::uint64_t hash_ends(const std::string& path, std::uint64_t hash) {
  constexpr std::int64_t kBytes = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return hash_number(0, hash);
  const auto size = static_cast<std::int64_t>(file.tellg());
  hash = hash_number(static_cast<std::uint64_t>(size), hash);
  std::array<char, kBytes> bytes{};
  for (const std::int64_t place : {std::int64_t{0}, std::max<std::int64_t>(0, size - kBytes)}) {
    file.clear();
    file.seekg(place);
    file.read(bytes.data(), kBytes);
    hash = hash_bytes(bytes.data(), static_cast<std::size_t>(file.gcount()), hash);
  }
  return hash;
}

namespace {

/// Protects memory from huge files, such as a disk image named .jpg.
constexpr off_t kMaxFileBytes = off_t{1} << 30;

std::string error_text(int error) { return std::generic_category().message(error); }

enum class Kind { kFile, kFolder, kOther };

/// An open folder.
class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path), stream_(opendir(path.c_str())) {
    if (stream_ == nullptr) fail("cannot open the folder", errno);
  }
  ~Folder() { closedir(stream_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// Device and inode, which do not depend on the path.
  std::pair<dev_t, ino_t> identity() const {
    struct stat info {};
    if (fstat(dirfd(stream_), &info) != 0) fail("cannot read the folder", errno);
    return {info.st_dev, info.st_ino};
  }

  /// Calls f(name, kind) for every entry that is not hidden, in no order.
  template <class F>
  void each(const F& f) const {
    while (true) {
      errno = 0;
      const dirent* const entry = readdir(stream_);
      if (entry == nullptr && errno != 0) fail("cannot read the folder", errno);
      if (entry == nullptr) return;
      if (entry->d_name[0] != '.') f(static_cast<const char*>(entry->d_name), kind(*entry));
    }
  }

 private:
  /// Most file systems return the type with the name; fstatat() for each entry takes many times as long.
  Kind kind(const dirent& entry) const {
    if (entry.d_type == DT_REG) return Kind::kFile;
    if (entry.d_type == DT_DIR) return Kind::kFolder;
    if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return Kind::kOther;
    struct stat info {};
    if (fstatat(dirfd(stream_), entry.d_name, &info, 0) != 0) return Kind::kFile;  // read_file() reports the error
    return S_ISREG(info.st_mode) ? Kind::kFile : S_ISDIR(info.st_mode) ? Kind::kFolder : Kind::kOther;
  }
  [[noreturn]] void fail(const char* what, int error) const {
    throw Error(ErrorKind::kData, fmt::format("{}: {}: {}", path_, what, error_text(error)));
  }

  const std::string path_;
  DIR* stream_;
};

std::string below(const std::string& folder, const char* name) {
  return folder.empty() ? name : folder.back() == '/' ? folder + name : folder + "/" + name;
}

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

/// The traversal of one add_folder().
class FileList::Walk {
 public:
  Walk(FileList& list, const std::string& start, const std::function<bool(const char* name)>& accepts)
      : list_(list), accepts_(accepts), activity_("listing " + printable(start)) {
    // A link to a folder above would add the files of other classes.
    std::error_code ignored;
    skip_parents(std::filesystem::absolute(start, ignored));
    skip_parents(std::filesystem::canonical(start, ignored));
    struct stat info {};
    if (stat(start.c_str(), &info) == 0) seen_.erase({info.st_dev, info.st_ino});  // "." is its own parent
  }

  void enter(const std::string& path) {
    std::vector<std::string> folders;
    const std::size_t first = list_.names_.size();
    {
      const Folder folder(path);
      if (!seen_.insert(folder.identity()).second) return;
      if (list_.folders_.size() == std::numeric_limits<std::uint32_t>::max())
        throw Error(ErrorKind::kData, path + ": too many folders");
      list_.folders_.push_back(path);
      folder.each([&](const char* name, Kind kind) {
        if (kind == Kind::kFile && (!accepts_ || accepts_(name))) list_.add_name(name), activity_.advance();
        if (kind == Kind::kFolder) folders.emplace_back(name);
      });
    }
    const char* const text = list_.text_.data();
    std::sort(list_.names_.begin() + static_cast<std::ptrdiff_t>(first), list_.names_.end(),
              [&](std::uint64_t a, std::uint64_t b) { return std::strcmp(text + a, text + b) < 0; });
    std::sort(folders.begin(), folders.end());
    for (const std::string& name : folders) enter(below(path, name.c_str()));
  }

 private:
  void skip_parents(std::filesystem::path path) {
    struct stat info {};
    for (path = path.parent_path(); !path.empty(); path = path.parent_path()) {
      if (stat(path.c_str(), &info) == 0) seen_.insert({info.st_dev, info.st_ino});
      if (path == path.parent_path()) return;
    }
  }

  FileList& list_;
  const std::function<bool(const char* name)>& accepts_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  Activity activity_;
};

void FileList::add_name(const char* name) {
  names_.push_back(text_.size());
  owners_.push_back(static_cast<std::uint32_t>(folders_.size() - 1));
  text_.insert(text_.end(), name, name + std::strlen(name) + 1);
}

void FileList::add_file(const std::string& path) {
  if (folders_.empty() || !folders_.back().empty()) folders_.emplace_back();
  add_name(path.c_str());
}

void FileList::add_folder(const std::string& folder, const std::function<bool(const char* name)>& accepts) {
  Walk(*this, folder, accepts).enter(folder);
}

std::string FileList::path(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  return below(folders_[owners_[i]], text_.data() + names_[i]);
}

std::uint64_t FileList::hash(std::uint64_t hash) const {
  for (const std::uint64_t name : names_) {
    const char* const text = text_.data() + name;
    hash = hash_bytes(text, std::strlen(text) + 1, hash);
  }
  return hash;
}

std::vector<std::string> sub_folders(const std::string& folder, std::int64_t& files) {
  Listing listing = list_folder(folder);
  files = std::ssize(listing.files);
  return std::move(listing.folders);
}

Listing list_folder(const std::string& folder) {
  Listing found;
  Folder(folder).each([&](const char* name, Kind kind) {
    if (kind == Kind::kFolder) found.folders.emplace_back(name);
    if (kind == Kind::kFile) found.files.emplace_back(name);
  });
  std::sort(found.folders.begin(), found.folders.end());
  std::sort(found.files.begin(), found.files.end());
  return found;
}

void read_file(const std::string& path, std::vector<std::uint8_t>& bytes) {
  const auto fail = [&](std::int64_t byte, const std::string& reason) {
    throw SampleError({.file = path, .byte = byte, .reason = reason});
  };
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe in its place must not block
  if (file.get() < 0) fail(-1, "cannot open: " + error_text(errno));
  struct stat info {};
  if (fstat(file.get(), &info) != 0) fail(-1, "cannot read: " + error_text(errno));
  if (!S_ISREG(info.st_mode)) fail(-1, "is not a file");
  if (info.st_size > kMaxFileBytes)
    fail(-1, fmt::format("has {} bytes; the limit is {}", with_commas(info.st_size), with_commas(kMaxFileBytes)));
  bytes.resize(static_cast<std::size_t>(info.st_size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(static_cast<std::int64_t>(have), "cannot read: " + error_text(errno));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
}

}  // namespace dptrain::data
