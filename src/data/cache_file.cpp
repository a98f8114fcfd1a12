#include "data/cache_file.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::data {
namespace {

constexpr std::uint64_t kPage = 4096, kCrcBytes = 4;
static_assert(sizeof(CacheHeader) <= kPage);

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

CacheLayout::CacheLayout(std::uint64_t samples)
    : flags(kPage), crcs(round_up(flags + samples, kCrcBytes)), rows(round_up(crcs + samples * kCrcBytes, kPage)) {}

void fail_cache(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::kWrite, fmt::format("{}: cannot {}: {}", file, what, std::generic_category().message(errno)));
}

CacheFile::~CacheFile() {
  if (descriptor_ >= 0) close(descriptor_);
}
CacheFile::CacheFile(CacheFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
CacheFile& CacheFile::operator=(CacheFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

bool CacheFile::lock(short kind, std::int64_t byte, bool wait) const {
  struct flock wanted {};
  wanted.l_type = kind;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = byte;
  wanted.l_len = 1;
  while (fcntl(descriptor_, wait ? F_OFD_SETLKW : F_OFD_SETLK, &wanted) != 0)
    if (errno != EINTR) return false;
  return true;
}

CacheMapping::CacheMapping(const CacheFile& file, std::uint64_t bytes, bool write) : bytes_(bytes) {
  void* const at = mmap(nullptr, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
  if (at != MAP_FAILED) at_ = static_cast<std::uint8_t*>(at);
}
CacheMapping::~CacheMapping() {
  if (at_ != nullptr) munmap(at_, bytes_);
}
CacheMapping::CacheMapping(CacheMapping&& other) noexcept
    : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
CacheMapping& CacheMapping::operator=(CacheMapping&& other) noexcept {
  std::swap(at_, other.at_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::uint32_t cache_crc(const std::uint8_t* row, std::uint64_t bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, row, static_cast<z_size_t>(bytes)));
}

}  // namespace dptrain::data
