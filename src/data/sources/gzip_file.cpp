#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/idx.h"

namespace dptrain::data {
namespace {

/// Larger than zlib's default of 8 KiB for fewer system calls; beyond 128 KiB the time no longer falls.
constexpr unsigned kBufferBytes = 256U << 10;
/// gzread() takes an unsigned and returns an int.
constexpr std::size_t kMaxAtOnce = 1U << 30;

/// Reads gzip and plain files: zlib's gz* functions pass plain files through.
class GzipFile final : public ByteReader {
 public:
  explicit GzipFile(const std::string& path) : name_(path) {
    std::error_code code;
    const std::filesystem::file_status status = std::filesystem::status(path, code);
    if (code || !std::filesystem::exists(status)) fail("cannot open: " + std::generic_category().message(ENOENT));
    if (std::filesystem::is_directory(status)) fail("is a directory; a file is expected");
    if (std::filesystem::is_regular_file(status)) stored_ = std::filesystem::file_size(path, code);
    errno = 0;
    file_ = gzopen(path.c_str(), "rb");
    if (file_ == nullptr) fail("cannot open: " + std::generic_category().message(errno != 0 ? errno : ENOMEM));
    gzbuffer(file_, kBufferBytes);
    packed_ = gzdirect(file_) == 0;
  }
  ~GzipFile() override {
    if (file_ != nullptr) gzclose_r(file_);
  }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  std::size_t read(void* to, std::size_t count) override {
    std::size_t taken = 0;
    while (taken < count) {
      const auto wanted = static_cast<unsigned>(std::min(count - taken, kMaxAtOnce));
      const int got = gzread(file_, static_cast<char*>(to) + taken, wanted);
      if (got > 0) taken += static_cast<std::size_t>(got);
      if (got < static_cast<int>(wanted)) {
        check_end(taken);
        break;
      }
    }
    offset_ += taken;
    return taken;
  }
  std::uint64_t offset() const override { return offset_; }
  const std::string& name() const override { return name_; }
  std::uint64_t stored_bytes() const override { return stored_; }
  bool packed() const override { return packed_; }
  bool cut_short() const override { return cut_short_; }

 private:
  /// Throws for damage, but not at the end of the file or of an archive cut short, which the caller reports.
  void check_end(std::size_t taken) {
    int code = Z_OK;
    const char* const message = gzerror(file_, &code);
    cut_short_ = code == Z_BUF_ERROR;
    if (code == Z_OK || code == Z_STREAM_END || cut_short_) return;
    fail(fmt::format("damaged: byte {} after decompression cannot be read: {}",
                     with_commas(static_cast<std::int64_t>(offset_ + taken)),
                     code == Z_ERRNO ? std::generic_category().message(errno) : plain(message)));
  }
  /// Removes the path that zlib adds to its messages.
  std::string plain(const std::string& message) const {
    const std::string prefix = name_ + ": ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }
  [[noreturn]] void fail(const std::string& message) const { throw Error(ErrorKind::kData, name_ + ": " + message); }

  std::string name_;
  gzFile file_ = nullptr;
  std::uint64_t stored_ = 0, offset_ = 0;
  bool packed_ = false, cut_short_ = false;
};

}  // namespace

std::unique_ptr<ByteReader> open_bytes(const std::string& path) { return std::make_unique<GzipFile>(path); }

}  // namespace dptrain::data
