#include "core/zip.h"

#include <algorithm>
#include <optional>

#include <zlib.h>

#include "core/crc32.h"
#include "core/files.h"
#include "core/format.h"

namespace dptrain {
namespace {

// The zip format: PKWARE's APPNOTE 6.3.10, sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.14 to 4.3.16,
// 4.5.3 (sizes of 64 bits).

constexpr std::uint64_t kEndBytes = 22, kLocatorBytes = 20, kLongestComment = 65535;
constexpr std::uint32_t kSee64 = 0xFFFFFFFF;                    ///< the value is in the 64-bit record
constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20U;  ///< up to this size any ratio is valid (all zeros)
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;

/// A range of another file.
class Slice final : public FileBytes {
 public:
  Slice(std::shared_ptr<const FileBytes> whole, std::uint64_t offset, std::uint64_t size)
      : FileBytes(whole->name(), size, whole->file_errors()), whole_(std::move(whole)), offset_(offset) {}

 private:
  void copy(std::uint64_t offset, std::span<std::byte> out) const override { whole_->read(offset_ + offset, out); }

  std::shared_ptr<const FileBytes> whole_;
  std::uint64_t offset_;
};

struct Directory {
  std::uint64_t offset = 0, size = 0;
};

struct Member {
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0, header = 0;
};

/// Finds the central directory by its end record, which ends the file except for a comment.
Directory find_directory(const FileBytes& file) {
  const std::uint64_t reach = std::min(file.size(), kEndBytes + kLongestComment);
  const std::vector<std::byte> tail = file.read(file.size() - reach, reach);
  for (std::uint64_t back = kEndBytes; back <= reach; ++back) {
    Cursor at(file, std::span(tail).subspan(static_cast<std::size_t>(reach - back)));
    if (at.u32() != zip::kEnd) continue;
    at.skip(8);
    const std::uint32_t size = at.u32(), offset = at.u32();
    if (at.u16() != back - kEndBytes) continue;  // these bytes only resemble the record
    if (offset != kSee64 && size != kSee64) return {offset, size};
    const std::uint64_t end = file.size() - back;
    if (end < kLocatorBytes) break;
    const std::vector<std::byte> locator = file.read(end - kLocatorBytes, kLocatorBytes);
    Cursor to(file, locator);
    if (to.u32() != zip::kLocator64) break;
    to.skip(4);
    const std::vector<std::byte> record = file.read(to.u64(), 56);
    Cursor wide(file, record);
    if (wide.u32() != zip::kEnd64) break;
    wide.skip(36);
    const std::uint64_t wide_size = wide.u64();
    return {wide.u64(), wide_size};
  }
  file.throw_damaged("it is a zip archive without its directory, perhaps truncated");
}

/// Reads sizes and offset beyond 32 bits. The field has, in this order, those that the entry leaves out.
void read_extra64(const FileBytes& file, std::span<const std::byte> extra, Member& member) {
  Cursor at(file, extra);
  while (at.left() >= 4) {
    const std::uint16_t id = at.u16(), length = at.u16();
    Cursor field(file, at.take(length));
    if (id != 1) continue;
    if (member.size == kSee64) member.size = field.u64();
    if (member.packed == kSee64) member.packed = field.u64();
    if (member.header == kSee64) member.header = field.u64();
  }
}

/// Calls f(name, member) for each entry of the directory until f returns true.
template <class F>
void each_member(const FileBytes& file, const F& f) {
  const Directory directory = find_directory(file);
  const std::vector<std::byte> bytes = file.read(directory.offset, directory.size);
  Cursor at(file, bytes);
  while (at.left() >= 46) {
    if (at.u32() != zip::kCentral) file.throw_damaged("the directory of the zip archive is invalid");
    Member member;
    at.skip(4);
    member.flags = at.u16();
    member.method = at.u16();
    at.skip(4);
    member.crc = at.u32();
    member.packed = at.u32();
    member.size = at.u32();
    const std::uint16_t name_length = at.u16(), extra_length = at.u16(), comment_length = at.u16();
    at.skip(8);
    member.header = at.u32();
    const auto name = at.take(name_length), extra = at.take(extra_length);
    at.skip(comment_length);
    std::string text(name.size(), '\0');
    std::ranges::transform(name, text.begin(), [](std::byte byte) { return std::to_integer<char>(byte); });
    read_extra64(file, extra, member);
    if (f(text, member)) return;
  }
}

std::optional<Member> find_member(const FileBytes& file, const std::string& wanted) {
  std::optional<Member> found;
  each_member(file, [&](const std::string& name, const Member& member) {
    if (name == wanted) found = member;
    return found.has_value();
  });
  return found;
}

/// Owns zlib's inflate state.
class Inflater {
 public:
  explicit Inflater(const FileBytes& file) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) file.refuse("cannot be inflated: zlib does not start");
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Continues with `in` and `out` and removes the read and written bytes from them. False at the end of the stream and
  /// for invalid data.
  bool run(std::span<std::byte>& in, std::span<std::byte>& out) {
    constexpr std::size_t kStep = std::size_t{1} << 30U;  // zlib counts in 32 bits
    const auto some_in = static_cast<uInt>(std::min(kStep, in.size()));
    const auto some_out = static_cast<uInt>(std::min(kStep, out.size()));
    stream_.next_in = reinterpret_cast<Bytef*>(in.data());
    stream_.avail_in = some_in;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = some_out;
    state_ = inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(some_in - stream_.avail_in);
    out = out.subspan(some_out - stream_.avail_out);
    return state_ == Z_OK;
  }
  bool ended() const noexcept { return state_ == Z_STREAM_END; }

 private:
  z_stream stream_{};
  int state_ = Z_OK;
};

/// Inflates a raw deflate stream, whose size must equal the directory's. Memory grows with the inflated bytes, not with
/// the claimed size.
std::vector<std::byte> inflated(const FileBytes& file, const Member& member, std::uint64_t data,
                                const std::string& name, std::uint64_t highest_ratio) {
  if (member.size > kFreeBytes && member.size / highest_ratio > member.packed)
    file.refuse(fmt::format(
        "contains {} deflated to {} of {} bytes: such a file compresses at most {} to 1, so it is damaged or malicious",
        name, member.packed, member.size, highest_ratio));
  std::vector<std::byte> packed = file.read(data, member.packed), all;
  std::span<std::byte> in(packed);
  Inflater inflater(file);
  for (bool more = true; more;) {
    const std::uint64_t written = all.size();
    if (written == member.size) {  // the end of the stream may follow, but no further byte
      std::byte beyond{};
      std::span<std::byte> out(&beyond, 1);
      more = inflater.run(in, out);
      if (!out.empty()) continue;
      file.throw_damaged(fmt::format("its member {} is longer than the {} bytes in the directory", name, member.size));
    }
    all.resize(static_cast<std::size_t>(std::min(member.size, written + std::max(kPiece, written))));
    std::span<std::byte> out = std::span(all).subspan(static_cast<std::size_t>(written));
    do more = inflater.run(in, out);
    while (more && !out.empty());
    all.resize(all.size() - out.size());
  }
  if (!inflater.ended() || all.size() != member.size)
    file.throw_damaged(
        fmt::format("its member {} cannot be inflated to the {} bytes in the directory", name, member.size));
  return all;
}

}  // namespace

bool is_archive(const FileBytes& file) {
  if (file.size() < kEndBytes) return false;
  const std::vector<std::byte> head = file.read(0, 4);
  return Cursor(file, head).u32() == zip::kLocal;
}

std::vector<std::string> archive_names(const FileBytes& archive) {
  std::vector<std::string> names;
  each_member(archive, [&](const std::string& name, const Member&) { return names.push_back(name), false; });
  return names;
}

std::shared_ptr<const FileBytes> archive_member(const std::shared_ptr<const FileBytes>& archive,
                                                const std::string& name, std::uint64_t highest_ratio) {
  const FileBytes& file = *archive;
  const std::optional<Member> member = find_member(file, name);
  if (!member) return nullptr;
  if ((member->flags & 1U) != 0) file.refuse("is an encrypted zip archive, which is not supported");
  const std::vector<std::byte> header = file.read(member->header, 30);
  Cursor at(file, header);
  if (at.u32() != zip::kLocal) file.throw_damaged(fmt::format("its member {} has no header", name));
  at.skip(22);
  const std::uint64_t name_length = at.u16(), extra_length = at.u16(),
                      data = member->header + 30 + name_length + extra_length;
  if (!file.contains(data, member->packed))
    file.throw_damaged(fmt::format("its member {} is outside of the file", name));
  std::shared_ptr<const FileBytes> bytes;
  if (member->method == 0 && member->packed == member->size)
    bytes = std::make_shared<Slice>(archive, data, member->size);
  else if (member->method == Z_DEFLATED)
    bytes = FileBytes::from_memory(file.name(), inflated(file, *member, data, name, highest_ratio), file.file_errors());
  else
    file.refuse(fmt::format("contains {} compressed by method {}, which is not supported", name, member->method));
  if (bytes->checksum(bytes->size()) != member->crc)
    bytes->throw_damaged(fmt::format("the checksum of its member {} does not match", name));
  return bytes;
}

namespace {

constexpr std::uint16_t kPlain = 20, kZip64 = 45;  ///< versions of the format that a reader must support
constexpr std::uint16_t kFirstDay = (1 << 5) | 1;  ///< 1980-01-01, the earliest date of the format

/// Writes little-endian numbers in order.
class Record {
 public:
  void u16(std::uint64_t value) { put(value, 2); }
  void u32(std::uint64_t value) { put(value, 4); }
  void u64(std::uint64_t value) { put(value, 8); }
  void text(const std::string& text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  std::uint64_t size() const { return bytes_.size(); }

 private:
  void put(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFFU));
  }

  std::vector<std::byte> bytes_;
};

struct MemberEntry {
  const ZipMember& member;
  std::uint32_t crc = 0;
  std::uint64_t header = 0;  ///< offset of its local header
  bool wide = false;         ///< sizes and offset have 64 bits
};

/// The fields that both headers of a member share, from the version to the length of its name.
void put_common(Record& record, const MemberEntry& placed, std::uint64_t extra) {
  const std::uint64_t size = placed.wide ? kZip32Limit : placed.member.bytes.size();
  record.u16(placed.wide ? kZip64 : kPlain);
  record.u16(0);  // no flags
  record.u16(0);  // stored
  record.u16(0);  // midnight
  record.u16(kFirstDay);
  record.u32(placed.crc);
  record.u32(size);
  record.u32(size);
  record.u16(placed.member.name.size());
  record.u16(extra);
}

std::vector<std::byte> local_header(const MemberEntry& placed) {
  Record record;
  record.u32(zip::kLocal);
  put_common(record, placed, placed.wide ? 20 : 0);
  record.text(placed.member.name);
  if (placed.wide) {
    record.u16(1), record.u16(16);
    record.u64(placed.member.bytes.size());
    record.u64(placed.member.bytes.size());
  }
  return record.take();
}

void put_directory_entry(Record& record, const MemberEntry& placed) {
  record.u32(zip::kCentral);
  record.u16(placed.wide ? kZip64 : kPlain);
  put_common(record, placed, placed.wide ? 28 : 0);
  record.u16(0);  // no comment
  record.u16(0);  // on the first disk
  record.u16(0);
  record.u32(0);
  record.u32(placed.wide ? kZip32Limit : placed.header);
  record.text(placed.member.name);
  if (!placed.wide) return;
  record.u16(1), record.u16(24);
  record.u64(placed.member.bytes.size());
  record.u64(placed.member.bytes.size());
  record.u64(placed.header);
}

void put_end64(Record& record, std::uint64_t count, std::uint64_t size, std::uint64_t offset) {
  const std::uint64_t here = offset + size;
  record.u32(zip::kEnd64);
  record.u64(44);  // bytes of this record that follow
  record.u16(kZip64);
  record.u16(kZip64);
  record.u32(0), record.u32(0);  // on the first disk
  record.u64(count), record.u64(count);
  record.u64(size), record.u64(offset);
  record.u32(zip::kLocator64);
  record.u32(0);
  record.u64(here);
  record.u32(1);
}

}  // namespace

ZipPieces zip_pieces(const std::vector<ZipMember>& members, std::uint64_t limit) {
  ZipPieces all;
  Record directory;
  std::uint64_t at = 0;
  bool wide = false;
  std::vector<MemberEntry> placed;
  for (const ZipMember& member : members) {
    placed.push_back({member, crc32(member.bytes), at, member.bytes.size() >= limit || at >= limit});
    all.headers.push_back(local_header(placed.back()));
    at += all.headers.back().size() + member.bytes.size();
    put_directory_entry(directory, placed.back());
    wide = wide || placed.back().wide;
  }
  const std::uint64_t size = directory.size();
  constexpr std::uint64_t kMaxMembers = 0xFFFF;  // larger numbers are in the zip64 record
  const std::uint64_t count = std::min<std::uint64_t>(members.size(), kMaxMembers);
  wide = wide || at + size >= limit || count == kMaxMembers;
  if (wide) put_end64(directory, members.size(), size, at);
  directory.u32(zip::kEnd);
  directory.u16(0), directory.u16(0);  // on the first disk
  directory.u16(count), directory.u16(count);
  directory.u32(wide ? kZip32Limit : size);
  directory.u32(wide ? kZip32Limit : at);
  directory.u16(0);  // no comment
  all.headers.push_back(directory.take());
  for (std::size_t i = 0; i < members.size(); ++i) {
    all.pieces.emplace_back(all.headers[i]);
    all.pieces.push_back(members[i].bytes);
  }
  all.pieces.emplace_back(all.headers.back());
  return all;
}

std::uint64_t write_zip(const std::string& path, const std::vector<ZipMember>& members) {
  return write_atomically(path, zip_pieces(members).pieces);
}

}  // namespace dptrain
