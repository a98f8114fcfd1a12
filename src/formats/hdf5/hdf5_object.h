#pragma once

// Object headers of HDF5: the messages that describe groups, datasets and attributes. They are decoded as the format
// specification (HDF5 File Format Specification 3.0, section IV.A) defines them, as far as Keras uses them. Reading
// anything else (shared messages, chunks, filters) is an error that names it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/shape.h"

namespace dptrain::formats {

// The bytes of an HDF5 file, as core/files.h reads them, with errors for checkpoints.

using Hdf5Bytes = FileBytes;

/// Throws Error{kCheckpoint} if the file cannot be opened. Readers throw it for damage.
std::shared_ptr<const Hdf5Bytes> checkpoint_file(const std::string& path);
std::shared_ptr<const Hdf5Bytes> checkpoint_bytes(std::string name, std::vector<std::byte> bytes);

/// Text up to the first NUL.
inline std::string until_nul(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    if (byte == std::byte{0}) break;
    text += std::to_integer<char>(byte);
  }
  return text;
}

constexpr std::uint64_t kUndefinedAddress = ~std::uint64_t{0};

/// Advice for files of other versions of the HDF5 format.
constexpr const char* kHdf5Rewrite = "rewrite it with 'h5repack --low=0 --high=1 -l CONTI -f NONE old.h5 new.h5'";

/// Name -> address of the object header; kUndefinedAddress for a link that is not hard.
using Hdf5Symbols = std::map<std::string, std::uint64_t, std::less<>>;

struct Hdf5Space {
  bool null = false;                ///< H5S_NULL: no value at all
  std::vector<std::uint64_t> dims;  ///< empty for a scalar
  std::uint64_t elements = 1;       ///< 0 for H5S_NULL; never overflows
};

struct Hdf5Type {
  enum class Kind { kInteger, kFloat, kFixedString, kVariableString, kOpaque, kOther };
  Kind kind = Kind::kOther;
  std::uint32_t size = 0;  ///< bytes of one element in the file
  bool little_endian = true;
  bool is_signed = false;
  bool ieee = false;  ///< kFloat: binary16, binary32 or binary64
  bool space_padded = false, null_padded = false;
};

/// Where a dataset's bytes are: in the file, or in its header.
struct Hdf5Layout {
  std::uint64_t address = kUndefinedAddress;
  std::uint64_t size = 0;  ///< the largest number if the file has none
  std::vector<std::byte> compact;
  bool is_compact = false;
  std::string unreadable;  ///< why it cannot be read: "is stored in chunks"
};

struct Hdf5Attribute {
  std::string name;
  bool shared = false;  ///< its type or space is a shared message
  std::vector<std::byte> type, space, value;
};

struct Hdf5Header {
  std::optional<Hdf5Space> space;
  std::optional<Hdf5Type> type;
  std::optional<Hdf5Layout> layout;
  bool is_group = false;
  /// The oldest format of groups: a B-tree of names in a local heap.
  bool has_symbol_table = false;
  std::uint64_t tree = kUndefinedAddress, heap = kUndefinedAddress;
  /// The links of a group without a symbol table.
  Hdf5Symbols links;
  /// Why the object cannot be read: "has filters".
  std::string unreadable;
  std::vector<Hdf5Attribute> attributes;
};

Hdf5Header read_header(const Hdf5Bytes& file, std::uint64_t address);

Hdf5Space decode_space(const Hdf5Bytes& file, std::span<const std::byte> message);
Hdf5Type decode_type(const Hdf5Bytes& file, std::span<const std::byte> message);

// The names in an HDF5 group. In the oldest format: a B-tree whose leaves point to tables of symbols, texts in a local
// heap (HDF5 File Format Specification 3.0, sections III.A, III.B, III.D). HDF5 converts a group to link messages in
// its header when it gets a name that is not ASCII.

/// `group`: the header of a group.
Hdf5Symbols read_symbols(const Hdf5Bytes& file, const Hdf5Header& group);

}  // namespace dptrain::formats
