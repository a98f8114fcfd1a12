#pragma once

// A cache file of samples of one shape, and how processes of a machine lock parts of one: what cache_disk.cpp and
// cache_part.cpp share. In the file a page with the header comes first, then a CacheFlag for each sample, the CRC-32 of
// each, and, from the next page on, the samples.

#include <fcntl.h>

#include <cstdint>
#include <string>

#include "core/shape.h"

namespace dptrain::data {

struct CacheHeader {
  char magic[16];
  std::uint64_t key, samples, bytes;  ///< bytes: of one sample
  std::uint64_t type, rank;           ///< type: 0 of bytes, 1 of floats
  std::int64_t dims[8];
  // While the file is written, by several processes at once.
  std::uint64_t machine;  ///< on which they run
  std::uint64_t tried;    ///< samples with a flag
  std::uint32_t shaped;   ///< `bytes`, `type`, `rank` and `dims` are known, and the file has its size
  std::uint32_t finished;
};
inline constexpr char kCacheMagic[16] = "dptrain cache 3";

/// Of a sample. Any other value: as kMissing.
enum CacheFlag : std::uint8_t { kMissing = 0, kThere = 1, kUnreadable = 2 };

struct CacheLayout {
  explicit CacheLayout(std::uint64_t samples);
  std::uint64_t flags = 0, crcs = 0, rows = 0;  ///< where they begin
  std::uint64_t bytes(const CacheHeader& header) const { return rows + header.samples * header.bytes; }
};

/// "FILE: cannot WHAT: " and errno's words, as Error{kWrite}.
[[noreturn]] void fail_cache(const std::string& file, const std::string& what);

/// A descriptor; closing it also gives up its locks.
class CacheFile {
 public:
  explicit CacheFile(int descriptor = -1) : descriptor_(descriptor) {}
  ~CacheFile();
  CacheFile(CacheFile&& other) noexcept;
  CacheFile& operator=(CacheFile&& other) noexcept;
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

  /// F_WRLCK, alone, F_RDLCK, with others that read, or F_UNLCK, on one byte: a lock of this open file, whoever else in
  /// this process has the file open. False, with errno, where others have it and this does not `wait`, or it cannot be.
  bool lock(short kind, std::int64_t byte, bool wait) const;

 private:
  int descriptor_;
};

/// Memory that is the file, shared with all who map it.
class CacheMapping {
 public:
  CacheMapping() = default;
  CacheMapping(const CacheFile& file, std::uint64_t bytes, bool write);
  ~CacheMapping();
  CacheMapping(CacheMapping&& other) noexcept;
  CacheMapping& operator=(CacheMapping&& other) noexcept;
  std::uint8_t* get() const { return at_; }  ///< null: it could not be mapped
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint8_t* at_ = nullptr;
  std::uint64_t bytes_ = 0;
};

std::uint32_t cache_crc(const std::uint8_t* row, std::uint64_t bytes);

}  // namespace dptrain::data
