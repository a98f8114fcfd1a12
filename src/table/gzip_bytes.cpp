#include <zlib.h>

#include <string>
#include <utility>
#include <vector>

#include "core/format.h"
#include "core/text.h"
#include "table/bytes.h"

namespace dptrain::table {
namespace {

constexpr std::size_t kPackedBytes = 128 << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;

class Unpacked final : public Bytes {
 public:
  Unpacked(std::unique_ptr<Bytes> packed, const std::string& begin) : packed_(std::move(packed)), in_(kPackedBytes) {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw Error(ErrorKind::kMemory, name() + ": no memory to unpack it");
    std::copy(begin.begin(), begin.end(), in_.begin());
    stream_.next_in = in_.data();
    stream_.avail_in = static_cast<uInt>(begin.size());
  }
  ~Unpacked() override { inflateEnd(&stream_); }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

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
  /// False where only zeros follow, with which tape archives fill their last block.
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
  return std::make_unique<Unpacked>(std::move(packed), begin);
}

}  // namespace dptrain::table
