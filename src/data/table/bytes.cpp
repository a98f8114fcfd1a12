#include "data/table/bytes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>
#include <zlib.h>

#include "core/files.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data::table {
namespace {

Error cannot_open(const std::string& path, const std::string& reason) {
  return {ErrorKind::kData, fmt::format("{}: cannot be opened: {}{}", path, reason, missing_file_advice(path))};
}
Error refused(const std::string& name, const std::string& what) {
  return {ErrorKind::kData, fmt::format("{}: {}", name, what)};
}

class FileContents final : public Bytes {
 public:
  FileContents(std::shared_ptr<const FileBytes> file, Activity* activity)
      : file_(std::move(file)), activity_(activity) {}

  std::size_t read(char* to, std::size_t most) override {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(most, file_->size() - offset_));
    if (count > 0) file_->read(offset_, std::as_writable_bytes(std::span(to, count)));
    offset_ += count;
    if (activity_ != nullptr) activity_->advance(static_cast<std::int64_t>(count));
    return count;
  }
  const std::string& name() const override { return file_->name(); }
  std::shared_ptr<const FileBytes> file() const override { return file_; }

 private:
  std::shared_ptr<const FileBytes> file_;
  Activity* activity_;
  std::uint64_t offset_ = 0;
};

class Descriptor final : public Bytes {
 public:
  Descriptor(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  std::size_t read(char* to, std::size_t most) override {
    for (;;) {
      const ssize_t got = ::read(descriptor_, to, most);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR)
        throw refused(name_, fmt::format("cannot be read: {}", std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
    }
  }
  const std::string& name() const override { return name_; }
  bool may_wait() const override { return true; }

 private:
  int descriptor_;
  std::string name_;
};

/// Returns the bytes that were read to detect the format, then the rest.
class PrependedBytes final : public Bytes {
 public:
  PrependedBytes(std::unique_ptr<Bytes> rest, std::string begin) : rest_(std::move(rest)), begin_(std::move(begin)) {}

  std::size_t read(char* to, std::size_t most) override {
    if (begin_.empty()) return rest_->read(to, most);
    const std::size_t count = std::min(most, begin_.size());
    std::memcpy(to, begin_.data(), count);
    begin_.erase(0, count);
    return count;
  }
  const std::string& name() const override { return rest_->name(); }
  bool may_wait() const override { return rest_->may_wait(); }

 private:
  std::unique_ptr<Bytes> rest_;
  std::string begin_;
};

bool is_gzip(std::string_view begin) { return begin == "\x1F\x8B"; }

}  // namespace

const FileErrors& csv_file_errors() {
  static const FileErrors file_errors{cannot_open, refused, refused};
  return file_errors;
}

std::vector<std::shared_ptr<const FileBytes>> open_files(const std::vector<std::string>& paths) {
  std::vector<std::shared_ptr<const FileBytes>> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) files.push_back(FileBytes::from_file(path, csv_file_errors()));
  return files;
}

std::unique_ptr<Bytes> bytes_of(std::shared_ptr<const FileBytes> file, Activity* activity) {
  char begin[2];
  const bool has = file->size() >= sizeof begin;
  if (has) file->read(0, std::as_writable_bytes(std::span(begin)));
  auto contents = std::make_unique<FileContents>(std::move(file), activity);
  if (has && is_gzip({begin, sizeof begin})) return unpacked(std::move(contents), "");
  return contents;
}

std::unique_ptr<Bytes> bytes_of(int descriptor, std::string name) {
  auto bytes = std::make_unique<Descriptor>(descriptor, std::move(name));
  std::string begin;
  for (char byte; begin.size() < 2 && bytes->read(&byte, 1) == 1;) begin.push_back(byte);
  if (is_gzip(begin)) return unpacked(std::move(bytes), std::move(begin));
  return std::make_unique<PrependedBytes>(std::move(bytes), std::move(begin));
}

namespace {

constexpr std::size_t kPackedBytes = 128 << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;

class GzipBytes final : public Bytes {
 public:
  GzipBytes(std::unique_ptr<Bytes> packed, const std::string& begin) : packed_(std::move(packed)), in_(kPackedBytes) {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw Error(ErrorKind::kMemory, name() + ": no memory to unpack it");
    std::copy(begin.begin(), begin.end(), in_.begin());
    stream_.next_in = in_.data();
    stream_.avail_in = static_cast<uInt>(begin.size());
  }
  ~GzipBytes() override { inflateEnd(&stream_); }
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;

  std::size_t read(char* to, std::size_t most) override {
    most = std::min<std::size_t>(most, 1U << 30);
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(most);
    while (stream_.avail_out == most) {
      if (stream_.avail_in == 0) refill();
      if (stream_.avail_in == 0) {
        if (at_member_) return 0;
        refuse("it ends in the middle; was it copied as a whole?");
      }
      if (at_member_ && !begin_member()) return 0;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        at_member_ = true;
        first_ = false;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        refuse(fmt::format("damaged: byte {} after decompression cannot be read: {}",
                           with_commas(static_cast<std::int64_t>(total_ + most - stream_.avail_out)),
                           stream_.msg != nullptr ? stream_.msg : zError(code)));
      }
    }
    total_ += most - stream_.avail_out;
    return most - stream_.avail_out;
  }
  const std::string& name() const override { return packed_->name(); }
  bool may_wait() const override { return packed_->may_wait(); }

 private:
  void refill() {
    stream_.next_in = in_.data();
    stream_.avail_in = static_cast<uInt>(packed_->read(reinterpret_cast<char*>(in_.data()), in_.size()));
  }
  /// Returns false if only zeros follow, as in the padding of tape archives.
  bool begin_member() {
    if (!first_)
      while (*stream_.next_in == 0) {
        ++stream_.next_in;
        if (--stream_.avail_in == 0) refill();
        if (stream_.avail_in == 0) return false;
      }
    inflateReset(&stream_);
    at_member_ = false;
    return true;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::kData, fmt::format("{}: {}", name(), what));
  }

  std::unique_ptr<Bytes> packed_;
  std::vector<Bytef> in_;
  z_stream stream_{};
  bool at_member_ = true, first_ = true;
  std::uint64_t total_ = 0;
};

}  // namespace

std::unique_ptr<Bytes> unpacked(std::unique_ptr<Bytes> packed, std::string begin) {
  return std::make_unique<GzipBytes>(std::move(packed), begin);
}

}  // namespace dptrain::data::table
