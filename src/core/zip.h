#pragma once

// Zip archives, such as Keras's `.keras` and NumPy's `.npz` files: a reader and a writer. Any thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"

namespace dptrain::zip {

/// Record signatures: PKWARE's APPNOTE 6.3.10, section 4.3.

inline constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                               kLocator64 = 0x07064b50;

}  // namespace dptrain::zip

namespace dptrain {

// The reader. Members without compression are read in place; deflated ones are inflated into memory by zlib. Contents
// are not trusted: every offset and length is checked.

bool is_archive(const FileBytes& file);

/// Highest compression ratio of deflate; a member that declares more is damaged or malicious.
inline constexpr std::uint64_t kDeflateRatio = 1032;

/// The member's bytes, with the archive's name and after a check of their CRC-32; null if the archive has no such
/// member. Rejects a member that declares more than 64 MiB and more than `highest_ratio` times its compressed size.
std::shared_ptr<const FileBytes> archive_member(const std::shared_ptr<const FileBytes>& archive,
                                                const std::string& name, std::uint64_t highest_ratio = kDeflateRatio);
/// In the order of the directory.
std::vector<std::string> archive_names(const FileBytes& archive);

// The writer stores members without compression, as Keras does in `.keras` files.

struct ZipMember {
  std::string name;                    ///< ASCII, at most 65,535 bytes
  std::span<const std::byte> bytes{};  ///< owned by the caller
};

/// Sizes and offsets from this value on are in the format's 64-bit records.
inline constexpr std::uint64_t kZip32Limit = 0xFFFFFFFF;

/// The pieces of an archive, in order: members refer to the caller's bytes, all other pieces to `headers`.
struct ZipPieces {
  std::vector<std::vector<std::byte>> headers;
  std::vector<std::span<const std::byte>> pieces;
};

/// The archive has no time stamps: the same members give the same bytes. `limit` is for tests.
ZipPieces zip_pieces(const std::vector<ZipMember>& members, std::uint64_t limit = kZip32Limit);

/// Writes atomically (core/files.h) and returns the bytes written. Throws Error{kWrite}.
std::uint64_t write_zip(const std::string& path, const std::vector<ZipMember>& members);

}  // namespace dptrain
