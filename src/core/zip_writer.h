#pragma once

// Writes a zip archive whose members are stored as they are, the form in which Keras writes `.keras` files. What
// core/zip_archive.h reads back. Any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dptrain {

struct ZipMember {
  std::string name;                    ///< ASCII, at most 65,535 bytes
  std::span<const std::byte> bytes{};  ///< the caller's
};

/// Sizes and offsets from here on stand in the format's 64-bit records.
inline constexpr std::uint64_t kZip32Limit = 0xFFFFFFFF;

/// The archive in pieces, in their order: those of the members are the caller's bytes, all others lie in `headers`.
struct ZipPieces {
  std::vector<std::vector<std::byte>> headers;
  std::vector<std::span<const std::byte>> pieces;
};

/// Without time stamps: the same members give the same bytes. `limit` is for tests.
ZipPieces zip_pieces(const std::vector<ZipMember>& members, std::uint64_t limit = kZip32Limit);

/// Atomically (core/atomic_file.h); returns bytes written. Throws Error{kWrite}.
std::uint64_t write_zip(const std::string& path, const std::vector<ZipMember>& members);

}  // namespace dptrain
