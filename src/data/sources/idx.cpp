#include "data/sources/idx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/format.h"
#include "core/memory.h"
#include "core/text.h"

namespace dptrain::data {
namespace {

/// A larger rank means a file of another format.
constexpr int kMaxDimensions = 8;
/// Compression ratio that sizes the first allocation for a packed file. The allocation doubles if it is exceeded.
constexpr std::uint64_t kLikelyRatio = 8;
constexpr std::uint64_t kSmallestAllocation = 64U << 10;

[[noreturn]] void fail(const ByteReader& reader, const std::string& message) {
  throw Error(ErrorKind::kData, reader.name() + ": " + message);
}

std::string bytes_text(std::uint64_t bytes) { return with_commas(static_cast<std::int64_t>(bytes)); }

std::optional<DType> element_type(std::uint8_t code) {
  switch (code) {
    case 0x08: return DType::kU8;
    case 0x09: return DType::kI8;
    case 0x0B: return DType::kI16;
    case 0x0C: return DType::kI32;
    case 0x0D: return DType::kF32;
    case 0x0E: return DType::kF64;
    default: return std::nullopt;
  }
}

struct IdxHeader {
  DType type = DType::kU8;
  std::vector<std::int64_t> extents;
  std::uint64_t header_bytes = 0, data_bytes = 0;
};

void read_magic(ByteReader& reader, IdxHeader& header) {
  std::array<std::uint8_t, 4> magic{};
  const std::size_t got = reader.read(magic.data(), magic.size());
  if (got == 0) fail(reader, "the file is empty; an IDX file is expected");
  const std::optional<DType> type = element_type(magic[2]);
  if (got < magic.size() || magic[0] != 0 || magic[1] != 0 || !type) {
    std::string found;
    for (std::size_t i = 0; i < got; ++i) found += fmt::format("{}{:02x}", i == 0 ? "" : " ", magic[i]);
    fail(reader,
         "not an IDX file: first bytes " + found +
             "; expected 00 00 <type> <rank> with type 08 (uint8), 09 (int8), 0b (int16), 0c (int32), 0d (float32) "
             "or 0e (float64)");
  }
  if (magic[3] == 0 || magic[3] > kMaxDimensions)
    fail(reader, fmt::format("the header names {} dimensions at byte 3; expected 1 to {}", magic[3], kMaxDimensions));
  header.type = *type;
  header.extents.resize(magic[3]);
}

void read_extents(ByteReader& reader, IdxHeader& header) {
  std::uint64_t bytes = size_of(header.type);
  for (std::size_t axis = 0; axis < header.extents.size(); ++axis) {
    std::array<std::uint8_t, 4> word{};
    const std::uint64_t at = reader.offset();
    if (const std::size_t got = reader.read(word.data(), word.size()); got < word.size())
      fail(reader,
           fmt::format("truncated: the header needs {} bytes, found {}", 4 + 4 * header.extents.size(), at + got));
    const std::uint32_t extent = std::uint32_t{word[0]} << 24 | std::uint32_t{word[1]} << 16 |
                                 std::uint32_t{word[2]} << 8 | std::uint32_t{word[3]};
    if (extent == 0) fail(reader, fmt::format("dimension {} is 0 at byte {}; expected at least 1", axis, at));
    if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / extent)
      fail(reader,
           fmt::format("the dimensions in the header are too large: more than 2^63 bytes after dimension {}", axis));
    bytes *= extent;
    header.extents[axis] = extent;
  }
  header.header_bytes = reader.offset();
  header.data_bytes = bytes;
}

[[noreturn]] void fail_truncated(const ByteReader& reader, const IdxHeader& header, std::uint64_t found) {
  const std::uint64_t item_bytes = header.data_bytes / static_cast<std::uint64_t>(header.extents[0]);
  fail(reader,
       fmt::format("truncated: {} bytes expected{}, found {} (item {} of {})",
                   bytes_text(header.header_bytes + header.data_bytes), reader.packed() ? " after decompression" : "",
                   bytes_text(header.header_bytes + found), found / item_bytes, header.extents[0]));
}

void read_elements(ByteReader& reader, const IdxHeader& header, std::vector<std::uint8_t>& bytes) {
  const std::uint64_t stored = reader.stored_bytes();
  const std::uint64_t likely = reader.packed() ? stored * kLikelyRatio : stored;
  std::uint64_t capacity = std::min(header.data_bytes, std::max(likely, kSmallestAllocation));
  std::uint64_t filled = 0;
  while (true) {
    reserve_huge(bytes, static_cast<std::size_t>(capacity));  // its rows are read in random order
    bytes.resize(static_cast<std::size_t>(capacity));
    const std::size_t got = reader.read(bytes.data() + filled, static_cast<std::size_t>(capacity - filled));
    filled += got;
    if (filled == header.data_bytes) return;
    if (filled < capacity) fail_truncated(reader, header, filled);
    capacity = std::min(header.data_bytes, 2 * capacity);
  }
}

void expect_end(ByteReader& reader, const IdxHeader& header) {
  std::array<std::uint8_t, 4096> rest{};
  const std::size_t more = reader.read(rest.data(), rest.size());
  if (more == 0 && reader.cut_short())
    fail(reader, "truncated: all items are there, but the archive ends before its checksum");
  if (more == 0) return;
  const std::uint64_t expected = header.header_bytes + header.data_bytes;
  const std::string found = reader.packed() ? (more < rest.size() ? bytes_text(expected + more) : "more")
                                            : bytes_text(std::max(reader.stored_bytes(), expected + more));
  fail(reader, fmt::format("oversized: {} bytes expected{} for {} items, found {}", bytes_text(expected),
                           reader.packed() ? " after decompression" : "", header.extents[0], found));
}

std::uint8_t swapped(std::uint8_t bits) { return bits; }
std::uint16_t swapped(std::uint16_t bits) { return __builtin_bswap16(bits); }
std::uint32_t swapped(std::uint32_t bits) { return __builtin_bswap32(bits); }
std::uint64_t swapped(std::uint64_t bits) { return __builtin_bswap64(bits); }

/// Converts elements from big-endian T to To. `Bits`: unsigned integer of T's size.
template <class T, class Bits, class To>
void convert(const IdxFile& file, std::vector<To>& to) {
  static_assert(sizeof(T) == sizeof(Bits));
  reserve_huge(to, file.bytes.size() / sizeof(T));
  to.resize(file.bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < to.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, file.bytes.data() + i * sizeof(T), sizeof(T));
    if constexpr (std::endian::native == std::endian::little) bits = swapped(bits);
    to[i] = static_cast<To>(std::bit_cast<T>(bits));
  }
}

/// Returns false if the type is not an integer.
template <class To>
bool convert_integers(const IdxFile& file, std::vector<To>& to) {
  switch (file.type) {
    case DType::kU8: return convert<std::uint8_t, std::uint8_t>(file, to), true;
    case DType::kI8: return convert<std::int8_t, std::uint8_t>(file, to), true;
    case DType::kI16: return convert<std::int16_t, std::uint16_t>(file, to), true;
    case DType::kI32: return convert<std::int32_t, std::uint32_t>(file, to), true;
    default: return false;
  }
}

}  // namespace

IdxFile parse_idx(ByteReader& reader) {
  IdxHeader header;
  read_magic(reader, header);
  read_extents(reader, header);
  IdxFile file;
  file.name = reader.name();
  file.type = header.type;
  file.count = header.extents[0];
  file.item = Shape({header.extents.begin() + 1, header.extents.end()});
  file.stored_bytes = reader.stored_bytes();
  read_elements(reader, header, file.bytes);
  expect_end(reader, header);
  return file;
}

bool is_integer(const IdxFile& file) { return file.type != DType::kF32 && file.type != DType::kF64; }

std::vector<float> idx_floats(const IdxFile& file) {
  std::vector<float> out;
  if (file.type == DType::kF32) {
    convert<float, std::uint32_t>(file, out);
  } else if (file.type == DType::kF64) {
    convert<double, std::uint64_t>(file, out);
  } else {
    convert_integers(file, out);
  }
  return out;
}

std::vector<std::int32_t> idx_integers(const IdxFile& file) {
  std::vector<std::int32_t> out;
  if (!convert_integers(file, out))
    throw Error(ErrorKind::kInternal, file.name + ": expected integers, found " + std::string(name_of(file.type)));
  return out;
}

}  // namespace dptrain::data
