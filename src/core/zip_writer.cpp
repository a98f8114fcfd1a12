// The zip format: PKWARE's APPNOTE 6.3.10, sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.14 to 4.3.16,
// 4.5.3 (sizes of 64 bits).

#include "core/zip_writer.h"

#include <algorithm>

#include "core/atomic_file.h"
#include "core/crc32.h"
#include "core/zip_records.h"

namespace dptrain {
namespace {

constexpr std::uint16_t kPlain = 20, kZip64 = 45;  ///< versions of the format that a reader must know
constexpr std::uint16_t kFirstDay = (1 << 5) | 1;  ///< 1980-01-01, the first that the format has

/// Numbers in little endian, behind each other.
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

struct Placed {
  const ZipMember& member;
  std::uint32_t crc = 0;
  std::uint64_t header = 0;  ///< its offset
  bool wide = false;         ///< with sizes and offset of 64 bits
};

/// The fields that both headers of a member share, from the version to the length of its name.
void put_common(Record& record, const Placed& placed, std::uint64_t extra) {
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

std::vector<std::byte> local_header(const Placed& placed) {
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

void put_directory_entry(Record& record, const Placed& placed) {
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
  std::vector<Placed> placed;
  for (const ZipMember& member : members) {
    placed.push_back({member, crc32(member.bytes), at, member.bytes.size() >= limit || at >= limit});
    all.headers.push_back(local_header(placed.back()));
    at += all.headers.back().size() + member.bytes.size();
    put_directory_entry(directory, placed.back());
    wide = wide || placed.back().wide;
  }
  const std::uint64_t size = directory.size();
  wide = wide || at + size >= limit;
  if (wide) put_end64(directory, members.size(), size, at);
  directory.u32(zip::kEnd);
  directory.u16(0), directory.u16(0);  // on the first disk
  directory.u16(members.size()), directory.u16(members.size());
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
