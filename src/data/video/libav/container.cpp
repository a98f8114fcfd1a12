#include "data/video/libav/container.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "core/format.h"
#include "core/text.h"
#include "data/video/clip.h"
#include "data/video/container_length.h"

namespace dptrain::data::libav {
namespace {

/// Repeats pread() until `to` is full or the file ends. Returns the number of bytes, or -errno.
std::int64_t read_at(int file, std::int64_t place, std::span<std::uint8_t> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t n =
        pread(file, to.data() + done, to.size() - done, static_cast<off_t>(place + static_cast<std::int64_t>(done)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<std::int64_t>(done);
}

/// Refuses files and URLs that a playlist refers to: a clip is one file.
int open_nothing(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) { return AVERROR(EPERM); }

int orientation_of(const std::int32_t* matrix) {
  const double turn = functions().rotation(matrix);  // counterclockwise
  if (!std::isfinite(turn)) return 1;
  switch (std::lround(turn / 90)) {
    case -1: return 6;
    case 1: return 8;
    case 2:
    case -2: return 3;
    default: return 1;
  }
}

/// Whether the container's header is sufficient, so that avformat_find_stream_info() need not decode frames.
bool has_complete_header(const AVFormatContext& context, const AVStream& stream) {
  const std::string_view name = context.iformat->name;
  const bool known = name.starts_with("mov,") || name.starts_with("matroska");
  return known && (context.ctx_flags & AVFMTCTX_NOHEADER) == 0 && stream.codecpar->codec_id != AV_CODEC_ID_NONE &&
         stream.codecpar->width > 0 && stream.codecpar->height > 0;
}

}  // namespace

std::int64_t FrameTimes::at(std::int64_t time) const {
  return std::upper_bound(times.begin(), times.end(), time) - times.begin() - 1;
}

Container::Container(const std::string& path) {
  functions();
  clear_error();
  try {
    open_file(path);
    open_stream(path);
  } catch (...) {
    close();
    throw;
  }
}

Container::~Container() { close(); }

void Container::close() {
  const Functions& f = functions();
  if (context_ != nullptr) f.close_input(&context_);
  if (io_ != nullptr) {
    f.free(io_->buffer);
    f.free_io(&io_);
  }
  if (file_ >= 0) ::close(file_);
}

void Container::open_file(const std::string& path) {
  const auto fail_with = [](int error) { throw ClipError(std::string("cannot open: ") + std::strerror(error)); };
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe in its place must not block
  if (file_ < 0) fail_with(errno);
  struct stat info {};
  if (fstat(file_, &info) != 0) fail_with(errno);
  if (!S_ISREG(info.st_mode)) throw ClipError("is not a file");
  if (info.st_size == 0) throw ClipError("is empty", 0);
  size_ = info.st_size;
  const auto missing = missing_length(size_, [this](std::int64_t place, std::span<std::uint8_t> to) {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, read_at(file_, place, to)));
  });
  if (missing)
    throw ClipError(fmt::format("is cut short: {} of its {} bytes are missing", with_commas(*missing - size_),
                                with_commas(*missing)),
                    size_);
}

void Container::open_stream(const std::string& path) {
  constexpr int kBufferBytes = 1 << 15;
  const Functions& f = functions();
  auto* const buffer = static_cast<unsigned char*>(f.malloc(kBufferBytes));
  if (buffer == nullptr) fail(AVERROR(ENOMEM));
  io_ = f.alloc_io(buffer, kBufferBytes, 0, this, read, nullptr, move);
  if (io_ == nullptr) {
    f.free(buffer);
    fail(AVERROR(ENOMEM));
  }
  context_ = f.alloc_context();
  if (context_ == nullptr) fail(AVERROR(ENOMEM));
  context_->pb = io_;
  context_->flags |= AVFMT_FLAG_CUSTOM_IO;
  context_->io_open = open_nothing;
  context_->error_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER;
  if (const int error = f.open_input(&context_, path.c_str(), nullptr, nullptr); error < 0) fail(error);
  int index = f.find_best_stream(context_, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (index < 0 || !has_complete_header(*context_, *context_->streams[index])) {
    if (const int error = f.find_stream_info(context_, nullptr); error < 0) fail(error);
    index = f.find_best_stream(context_, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  }
  if (index < 0) throw ClipError("has no video");
  stream_ = context_->streams[index];
  for (unsigned i = 0; i < context_->nb_streams; ++i)
    if (context_->streams[i] != stream_) context_->streams[i]->discard = AVDISCARD_ALL;
}

int Container::read(void* self, std::uint8_t* to, int size) {
  auto& file = *static_cast<Container*>(self);
  const std::int64_t n = read_at(file.file_, file.place_, {to, static_cast<std::size_t>(size)});
  if (n < 0) return file.read_error_ = AVERROR(static_cast<int>(-n));
  file.place_ += n;
  return n == 0 ? AVERROR_EOF : static_cast<int>(n);
}

std::int64_t Container::move(void* self, std::int64_t offset, int whence) {
  auto& file = *static_cast<Container*>(self);
  if ((whence & AVSEEK_SIZE) != 0) return file.size_;
  switch (whence & ~AVSEEK_FORCE) {
    case SEEK_SET: break;
    case SEEK_CUR: offset += file.place_; break;
    case SEEK_END: offset += file.size_; break;
    default: return AVERROR(EINVAL);
  }
  if (offset < 0) return AVERROR(EINVAL);
  return file.place_ = offset;
}

void Container::fail(int error) const {
  throw ClipError(error_text(read_error_ != 0 ? read_error_ : error), size_ > 0 && place_ > 0 ? place_ : -1);
}

bool Container::next(Packet& packet) {
  const Functions& f = functions();
  if (packet.get() == nullptr) packet.reset(f.alloc_packet());
  if (packet.get() == nullptr) fail(AVERROR(ENOMEM));
  constexpr int kMaxRetries = 1000;
  for (int again = 0;;) {
    f.unref_packet(packet.get());
    const int error = f.read_frame(context_, packet.get());
    if (error == AVERROR(EAGAIN) && ++again < kMaxRetries) continue;
    if (error == AVERROR_EOF && read_error_ == 0) return check_whole(), false;
    if (error < 0) fail(error);
    if (packet->stream_index != stream_->index) continue;
    ++packets_;
    if (packet->size == 0) continue;  // repeats the previous frame
    if ((packet->flags & AV_PKT_FLAG_CORRUPT) != 0)
      throw ClipError("damaged: " + error_text(AVERROR_INVALIDDATA), packet->pos);
    return true;
  }
}

/// The demuxers of AVI and Matroska skip damaged parts silently, so compare the packets with the header or the log.
void Container::check_whole() const {
  if (!from_beginning_) return;
  const std::string kind = format();
  if (kind == "avi" && packets_ < stream_->nb_frames)
    throw ClipError(
        fmt::format("damaged: the file has {} of {} frames", with_commas(packets_), with_commas(stream_->nb_frames)));
  if (kind == "matroska" && has_demuxer_error()) throw ClipError("damaged: " + error_text(AVERROR_INVALIDDATA));
}

bool Container::is_independent(bool all_keys) const {
  const AVCodecID codec = stream_->codecpar->codec_id;
  const AVCodecDescriptor* const kind = functions().descriptor(codec);
  return (kind != nullptr && (kind->props & AV_CODEC_PROP_INTRA_ONLY) != 0) || (codec == AV_CODEC_ID_FFV1 && all_keys);
}

FrameTimes Container::times() {
  FrameTimes found;
  Packet packet;
  bool known = true, first = true;
  while (next(packet)) {
    if (std::exchange(first, false)) found.first = packet->pts;
    if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0) continue;  // decoded, but not shown
    ++found.frames;
    known = known && packet->pts != AV_NOPTS_VALUE;
    if (!known) continue;
    found.times.push_back(packet->pts);
    if ((packet->flags & AV_PKT_FLAG_KEY) != 0) found.keys.push_back(packet->pts);
  }
  std::sort(found.times.begin(), found.times.end());
  std::sort(found.keys.begin(), found.keys.end());
  if (!known || std::adjacent_find(found.times.begin(), found.times.end()) != found.times.end()) {
    found.times.clear();
    found.keys.clear();
  }
  const bool all_keys = found.keys.size() == found.times.size();
  found.independent = is_independent(all_keys);
  // An AVI file without an index marks every frame as a key frame.
  if (format() == "avi" && all_keys && !found.independent && found.known()) found.keys.resize(1);
  return found;
}

bool Container::seek(std::int64_t time) {
  from_beginning_ = false;
  return functions().seek_frame(context_, stream_->index, time, AVSEEK_FLAG_BACKWARD) >= 0;
}

int Container::orientation() const {
  const auto turned = [](const auto* side_data, int count) {
    for (int i = 0; i < count; ++i)
      if (side_data[i].type == AV_PKT_DATA_DISPLAYMATRIX && side_data[i].size >= 9 * sizeof(std::int32_t))
        return orientation_of(reinterpret_cast<const std::int32_t*>(side_data[i].data));
    return 1;
  };
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
  return turned(stream_->codecpar->coded_side_data, stream_->codecpar->nb_coded_side_data);
#else
  return turned(stream_->side_data, stream_->nb_side_data);
#endif
}

std::string Container::format() const {
  const std::string_view names = context_->iformat->name;
  if (names.starts_with("mov,")) return "mp4";
  return std::string(names.substr(0, names.find(',')));
}

}  // namespace dptrain::data::libav
