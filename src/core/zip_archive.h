#pragma once

// Zip archives, as Keras's `.keras` files and NumPy's `.npz` files are. Members without compression are read where they
// lie; deflated ones are inflated into memory by zlib. Every offset and length is checked: the contents are not to be
// trusted. A general zip library would want a file or all of its bytes, where this needs a window. Any thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/file_bytes.h"

namespace dptrain {

bool is_archive(const FileBytes& file);

/// What deflate packs at most: beyond it a claim is a lie.
inline constexpr std::uint64_t kDeflateRatio = 1032;

/// The member's bytes, its CRC-32 checked; null where there is none of that name. Named after the archive. A member
/// that claims to be more than 64 MiB and more than `highest_ratio` times as many as it is packed in is refused.
std::shared_ptr<const FileBytes> archive_member(const std::shared_ptr<const FileBytes>& archive,
                                                const std::string& name, std::uint64_t highest_ratio = kDeflateRatio);
/// In the order of the directory.
std::vector<std::string> archive_names(const FileBytes& archive);

}  // namespace dptrain
