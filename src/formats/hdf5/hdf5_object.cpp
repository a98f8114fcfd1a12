#include "formats/hdf5/hdf5_object.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/format.h"

namespace dptrain::formats {
namespace {

const FileErrors kCheckpointErrors{
    .cannot_open =
        [](const std::string& path, const std::string& reason) {
          return Error(ErrorKind::kCheckpoint, fmt::format("cannot open checkpoint '{}': {}", path, reason));
        },
    .damaged =
        [](const std::string& name, const std::string& what) {
          return Error(
              ErrorKind::kCheckpoint,
              fmt::format("'{}' is damaged: {}. Take another checkpoint of the run (best.h5, last.h5, an older epoch)",
                          name, what));
        },
    .refused =
        [](const std::string& name, const std::string& what) {
          return Error(ErrorKind::kCheckpoint, fmt::format("'{}' {}", name, what));
        },
};

}  // namespace

std::shared_ptr<const Hdf5Bytes> checkpoint_file(const std::string& path) {
  return Hdf5Bytes::from_file(path, kCheckpointErrors);
}

std::shared_ptr<const Hdf5Bytes> checkpoint_bytes(std::string name, std::vector<std::byte> bytes) {
  return Hdf5Bytes::from_memory(std::move(name), std::move(bytes), kCheckpointErrors);
}

namespace {

// Message types.
constexpr std::uint16_t kSpace = 0x01, kLinkInfo = 0x02, kType = 0x03, kLink = 0x06, kExternal = 0x07, kLayout = 0x08,
                        kFilters = 0x0B, kAttribute = 0x0C, kContinuation = 0x10, kSymbolTable = 0x11,
                        kAttributeInfo = 0x15;
constexpr std::uint8_t kSharedFlag = 2;

std::size_t padded(std::size_t size) { return (size + 7) / 8 * 8; }

Hdf5Layout decode_layout(const Hdf5Bytes& file, std::span<const std::byte> message) {
  Cursor at(file, message);
  Hdf5Layout layout;
  const std::uint8_t version = at.u8();
  std::uint8_t kind = 0;
  if (version == 1 || version == 2) {  // before HDF5 1.6.3
    const std::uint8_t rank = at.u8();
    kind = at.u8();
    at.skip(5);
    if (kind != 0) layout.address = at.u64();
    at.skip(4 * std::size_t{rank});  // extents, cut to 32 bits; the dataspace has them in full
    layout.size = kind == 0 ? at.u32() : std::numeric_limits<std::uint64_t>::max();
  } else if (version == 3 || version == 4) {
    kind = at.u8();
    if (kind == 1) layout.address = at.u64();
    if (kind <= 1) layout.size = kind == 0 ? at.u16() : at.u64();
  } else {
    file.throw_damaged(fmt::format("a dataset has the unknown layout version {}", version));
  }
  if (kind == 0) {
    layout.is_compact = true;
    if (layout.size > at.left()) file.throw_damaged("a record is shorter than its contents");
    const auto data = at.take(static_cast<std::size_t>(layout.size));
    layout.compact.assign(data.begin(), data.end());
  } else if (kind != 1) {
    layout.unreadable =
        fmt::format("is stored {}, which is not supported; {}", kind == 2 ? "in chunks" : "virtually", kHdf5Rewrite);
  }
  return layout;
}

Hdf5Attribute decode_attribute(const Hdf5Bytes& file, std::span<const std::byte> message) {
  Cursor at(file, message);
  Hdf5Attribute attribute;
  const std::uint8_t version = at.u8(), flags = at.u8();
  if (version < 1 || version > 3) file.throw_damaged(fmt::format("an attribute has the unknown version {}", version));
  attribute.shared = version > 1 && (flags & 3U) != 0;
  const std::size_t name = at.u16(), type = at.u16(), space = at.u16();
  if (version == 3) at.skip(1);  // character set of the name
  const auto take = [&](std::size_t size) { return at.take(version == 1 ? padded(size) : size).first(size); };
  attribute.name = until_nul(take(name));
  const auto type_bytes = take(type), space_bytes = take(space), value = at.take(at.left());
  attribute.type.assign(type_bytes.begin(), type_bytes.end());
  attribute.space.assign(space_bytes.begin(), space_bytes.end());
  attribute.value.assign(value.begin(), value.end());
  return attribute;
}

/// Links are messages of the header or, if there are too many, in a fractal heap.
void decode_link_info(const Hdf5Bytes& file, std::span<const std::byte> message, Hdf5Header& header) {
  header.is_group = true;
  Cursor at(file, message);
  const std::uint8_t version = at.u8(), flags = at.u8();
  if (version != 0) file.throw_damaged(fmt::format("a group has links of the unknown version {}", version));
  const bool ordered = (flags & 1U) != 0;
  if (ordered) at.skip(8);  // largest creation index
  if (at.u64() == kUndefinedAddress) return;
  header.unreadable =
      ordered ? "has ordered names in a fractal heap, which is not supported; write the file without track_order"
              : fmt::format(
                    "has its names in a fractal heap, which is not supported. HDF5 uses one for more than 8 "
                    "names of which one is not ASCII. Rename the layers to ASCII letters, save the model as "
                    ".keras, or {}",
                    kHdf5Rewrite);
}

/// One of a group's names: of an object if the link is hard.
void decode_link(const Hdf5Bytes& file, std::span<const std::byte> message, Hdf5Symbols& links) {
  constexpr std::uint8_t kHasKind = 8, kHasOrder = 4, kHasCharset = 16, kHard = 0;
  Cursor at(file, message);
  const std::uint8_t version = at.u8(), flags = at.u8();
  if (version != 1) file.throw_damaged(fmt::format("a link has the unknown version {}", version));
  const std::uint8_t kind = (flags & kHasKind) != 0 ? at.u8() : kHard;
  at.skip(((flags & kHasOrder) != 0 ? 8 : 0) + ((flags & kHasCharset) != 0 ? 1 : 0));
  std::string name = until_nul(at.take(static_cast<std::size_t>(at.number(std::size_t{1} << (flags & 3U)))));
  const std::uint64_t address = kind == kHard ? at.u64() : kUndefinedAddress;
  if (name.empty()) file.throw_damaged("a link has no name");
  if (!links.emplace(name, address).second) file.throw_damaged(fmt::format("a group has two links named '{}'", name));
}

/// Piece of an object header that is still to be read.
struct Block {
  std::uint64_t address = 0, length = 0;
};

void decode_message(const Hdf5Bytes& file, std::uint16_t type, std::uint8_t flags, std::span<const std::byte> data,
                    Hdf5Header& header, std::deque<Block>& blocks) {
  const bool shared = (flags & kSharedFlag) != 0;
  Cursor at(file, data);
  switch (type) {
    case kSpace:
      if (shared)
        header.unreadable = "has a shared dataspace, which is not supported";
      else
        header.space = decode_space(file, data);
      break;
    case kType:
      if (shared)
        header.unreadable = "has a named datatype, which is not supported";
      else
        header.type = decode_type(file, data);
      break;
    case kLayout: header.layout = decode_layout(file, data); break;
    case kExternal: header.unreadable = "keeps its data in another file, which is not allowed"; break;
    case kFilters: header.unreadable = fmt::format("is compressed, which is not supported; {}", kHdf5Rewrite); break;
    case kAttribute:
      if (!shared) header.attributes.push_back(decode_attribute(file, data));
      break;
    case kContinuation: {
      const std::uint64_t address = at.u64();
      blocks.push_back({address, at.u64()});
      break;
    }
    case kSymbolTable:
      header.is_group = header.has_symbol_table = true;
      header.tree = at.u64();
      header.heap = at.u64();
      break;
    case kLinkInfo: decode_link_info(file, data, header); break;
    case kLink:
      header.is_group = true;
      decode_link(file, data, header.links);
      break;
    case kAttributeInfo:
      header.unreadable = fmt::format("uses the newer attribute format, which is not supported; {}", kHdf5Rewrite);
      break;
    default: break;  // fill values, time stamps, comments
  }
}

}  // namespace

Hdf5Header read_header(const Hdf5Bytes& file, std::uint64_t address) {
  const std::vector<std::byte> prefix = file.read(address, 16);
  if (std::memcmp(prefix.data(), "OHDR", 4) == 0)
    file.refuse(fmt::format("uses the newer object format of HDF5, which is not supported; {}", kHdf5Rewrite));
  Cursor at(file, prefix);
  if (at.u8() != 1) file.throw_damaged(fmt::format("no object header at byte {}", address));
  at.skip(1);
  std::size_t messages = at.u16();
  at.skip(4);  // reference count
  std::deque<Block> blocks{{address + 16, at.u32()}};

  Hdf5Header header;
  std::uint64_t total = 0;
  while (!blocks.empty() && messages > 0) {
    const Block block = blocks.front();
    blocks.pop_front();
    const std::vector<std::byte> bytes = file.read(block.address, block.length);
    total += block.length;
    if (total > file.size()) file.throw_damaged("an object header contains a cycle");
    Cursor cursor(file, bytes);
    for (; cursor.left() >= 8 && messages > 0; --messages) {
      const std::uint16_t type = cursor.u16(), size = cursor.u16();
      const std::uint8_t flags = cursor.u8();
      cursor.skip(3);
      decode_message(file, type, flags, cursor.take(size), header, blocks);
    }
  }
  return header;
}

Hdf5Space decode_space(const Hdf5Bytes& file, std::span<const std::byte> message) {
  Cursor at(file, message);
  Hdf5Space space;
  const std::uint8_t version = at.u8(), rank = at.u8();
  at.skip(1);  // whether maximal extents follow
  if (version < 1 || version > 2 || rank > 32) file.throw_damaged("a dataspace is of an unknown kind");
  if (version == 1) {
    at.skip(5);
  } else {
    space.null = at.u8() == 2;
  }
  if (space.null) space.elements = 0;
  for (int i = 0; i < rank; ++i) {
    space.dims.push_back(at.u64());
    const std::uint64_t dim = space.dims.back();
    // No tensor needs more, and Shape requires a product below 2^63.
    constexpr std::uint64_t kMax = std::uint64_t{1} << 48U;
    if (dim > kMax || (dim != 0 && space.elements > kMax / dim)) file.throw_damaged("a dataspace is impossibly large");
    space.elements *= dim;
  }
  return space;
}

Hdf5Type decode_type(const Hdf5Bytes& file, std::span<const std::byte> message) {
  Cursor at(file, message);
  Hdf5Type type;
  const std::uint8_t kind = at.u8() & 0x0FU;
  const std::uint32_t bits = static_cast<std::uint32_t>(at.number(3));
  type.size = at.u32();
  if (type.size == 0) file.throw_damaged("a datatype has no size");
  switch (kind) {
    case 0: {
      type.kind = Hdf5Type::Kind::kInteger;
      type.little_endian = (bits & 1U) == 0;
      type.is_signed = (bits & 8U) != 0;
      at.skip(2);
      const bool plain = at.u16() == type.size * 8 && type.size <= 8;
      if (!plain) type.kind = Hdf5Type::Kind::kOther;
      break;
    }
    case 1: {
      type.kind = Hdf5Type::Kind::kFloat;
      type.little_endian = (bits & 0x41U) == 0;
      at.skip(2);
      const std::uint16_t precision = at.u16();
      at.skip(1);
      const std::uint8_t exponent = at.u8();
      at.skip(1);
      const std::uint8_t mantissa = at.u8();
      type.ieee = precision == type.size * 8 && ((type.size == 2 && exponent == 5 && mantissa == 10) ||
                                                 (type.size == 4 && exponent == 8 && mantissa == 23) ||
                                                 (type.size == 8 && exponent == 11 && mantissa == 52));
      break;
    }
    case 3:
      type.kind = Hdf5Type::Kind::kFixedString;
      type.null_padded = (bits & 0x0FU) == 1;
      type.space_padded = (bits & 0x0FU) == 2;
      break;
    case 5: type.kind = Hdf5Type::Kind::kOpaque; break;
    case 9:
      if ((bits & 0x0FU) == 1 && type.size == 16) type.kind = Hdf5Type::Kind::kVariableString;
      break;
    default: break;
  }
  return type;
}

namespace {

class SymbolReader {
 public:
  SymbolReader(const Hdf5Bytes& file, const Hdf5Header& header) : file_(file) {
    const std::vector<std::byte> prefix = file.read(header.heap, 32);
    Cursor at(file, prefix);
    if (!at.signature("HEAP")) file.throw_damaged("a group has no heap of names");
    at.skip(4);
    const std::uint64_t size = at.u64();
    at.skip(8);
    names_ = file.read(at.u64(), size);
    tree(header.tree, 32);
  }

  Hdf5Symbols take() { return std::move(symbols_); }

 private:
  void count_node() {
    // Each node takes 24 bytes or more, so a sound tree has fewer; a million holds millions of names.
    if (++nodes_ > std::min<std::uint64_t>(file_.size() / 24, 1'000'000))
      file_.throw_damaged("the names of a group form a cycle");
  }

  void tree(std::uint64_t address, int max_level) {
    count_node();
    const std::vector<std::byte> head = file_.read(address, 24);
    Cursor at(file_, head);
    if (!at.signature("TREE") || at.u8() != 0) file_.throw_damaged("a group has no tree of names");
    const int level = at.u8();
    if (level > max_level) file_.throw_damaged("the tree of names of a group is not a tree");
    const std::uint64_t entries = at.u16();
    const std::vector<std::byte> body = file_.read(address + 24, (2 * entries + 1) * 8);
    Cursor entry(file_, body);
    for (std::uint64_t i = 0; i < entries; ++i) {
      entry.skip(8);  // key
      const std::uint64_t child = entry.u64();
      if (level > 0)
        tree(child, level - 1);
      else
        symbols(child);
    }
  }

  void symbols(std::uint64_t address) {
    count_node();
    const std::vector<std::byte> head = file_.read(address, 8);
    Cursor at(file_, head);
    if (!at.signature("SNOD") || at.u8() != 1) file_.throw_damaged("a group has no table of names");
    at.skip(1);
    const std::uint64_t count = at.u16();
    const std::vector<std::byte> body = file_.read(address + 8, count * 40);
    Cursor entry(file_, body);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t name = entry.u64(), object = entry.u64();
      const bool soft = entry.u32() == 2;
      entry.skip(20);
      if (name >= names_.size()) file_.throw_damaged("a name of a group is outside of its heap");
      symbols_.emplace(until_nul(std::span(names_).subspan(static_cast<std::size_t>(name))),
                       soft ? kUndefinedAddress : object);
    }
  }

  const Hdf5Bytes& file_;
  std::vector<std::byte> names_;
  Hdf5Symbols symbols_;
  std::uint64_t nodes_ = 0;
};

}  // namespace

Hdf5Symbols read_symbols(const Hdf5Bytes& file, const Hdf5Header& group) {
  if (!group.has_symbol_table) return group.links;
  if (!group.links.empty()) file.throw_damaged("a group has a symbol table as well as links");
  return SymbolReader(file, group).take();
}

}  // namespace dptrain::formats
