#include "data/sources/idx.h"

#include <gmock/gmock.h>

#include "data/fixtures.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

IdxFile parse(const Bytes& bytes) {
  MemoryReader reader(bytes.data(), bytes.size(), "f");
  return parse_idx(reader);
}
std::string refusal(const Bytes& bytes) {
  return error_of(ErrorKind::kData, [&] { parse(bytes); });
}

TEST(Idx, ReadsEveryElementType) {
  EXPECT_THAT(idx_floats(parse(idx_bytes(0x08, {3}, {0, 128, 255}))), ElementsAre(0, 128, 255));
  EXPECT_THAT(idx_floats(parse(idx_bytes(0x09, {3}, big_endian<std::int8_t>({-128, -1, 127})))),
              ElementsAre(-128, -1, 127));
  EXPECT_THAT(idx_floats(parse(idx_bytes(0x0B, {2}, big_endian<std::int16_t>({-32768, 258})))),
              ElementsAre(-32768, 258));
  EXPECT_THAT(idx_floats(parse(idx_bytes(0x0C, {2}, big_endian<std::int32_t>({-70000, 16909060})))),
              ElementsAre(-70000, 16909060));
  EXPECT_THAT(idx_floats(parse(idx_bytes(0x0D, {2}, big_endian<float>({-1.5F, 3e20F})))), ElementsAre(-1.5F, 3e20F));
  EXPECT_THAT(idx_floats(parse(idx_bytes(0x0E, {2}, big_endian<double>({0.1, -2.0})))), ElementsAre(0.1F, -2.0F));
}

TEST(Idx, IntegersAreExact) {
  EXPECT_THAT(idx_integers(parse(idx_bytes(0x0C, {2}, big_endian<std::int32_t>({2147483647, -2147483647 - 1})))),
              ElementsAre(2147483647, -2147483647 - 1));
  EXPECT_FALSE(is_integer(parse(idx_bytes(0x0D, {1}, big_endian<float>({1})))));
}

TEST(Idx, KeepsShape) {
  const IdxFile file = parse(idx_bytes(0x08, {3, 2, 5}, Bytes(30, 7)));
  EXPECT_EQ(file.count, 3);
  EXPECT_EQ(file.item, (Shape{2, 5}));
  EXPECT_EQ(parse(idx_bytes(0x08, {4}, Bytes(4))).item.rank(), 0);
}

TEST(Idx, RejectsOtherFiles) {
  EXPECT_EQ(refusal({}), "f: the file is empty; an IDX file is expected");
  EXPECT_EQ(
      refusal({0x89, 'P', 'N', 'G', 1, 2}),
      "f: not an IDX file: first bytes 89 50 4e 47; expected 00 00 <type> <rank> with type 08 (uint8), 09 (int8), 0b "
      "(int16), 0c (int32), 0d (float32) or 0e (float64)");
  EXPECT_THAT(refusal({0, 0}), HasSubstr("first bytes 00 00; expected"));
  EXPECT_THAT(refusal({0, 0, 0x0A, 1, 0, 0, 0, 0}), HasSubstr("first bytes 00 00 0a 01"));
  EXPECT_EQ(refusal({0, 0, 8, 0, 1}), "f: the header names 0 dimensions at byte 3; expected 1 to 8");
  EXPECT_EQ(refusal({0, 0, 8, 9, 1}), "f: the header names 9 dimensions at byte 3; expected 1 to 8");
}

TEST(Idx, ReportsWhereAFileIsTruncated) {
  const Bytes whole = idx_bytes(0x0B, {3, 2, 5}, Bytes(60, 1));
  const auto cut = [&](std::size_t bytes) {
    return refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)));
  };
  EXPECT_EQ(cut(15), "f: truncated: the header needs 16 bytes, found 15");
  EXPECT_EQ(cut(16), "f: truncated: 76 bytes expected, found 16 (item 0 of 3)");
  EXPECT_EQ(cut(35), "f: truncated: 76 bytes expected, found 35 (item 0 of 3)");
  EXPECT_EQ(cut(36), "f: truncated: 76 bytes expected, found 36 (item 1 of 3)");
  EXPECT_EQ(cut(75), "f: truncated: 76 bytes expected, found 75 (item 2 of 3)");
}

TEST(Idx, RejectsMoreDataThanTheHeaderDeclares) {
  EXPECT_EQ(refusal(idx_bytes(0x08, {3}, Bytes(5))), "f: oversized: 11 bytes expected for 3 items, found 13");
}

TEST(Idx, ChecksTheHeaderAgainstTheFileSize) {
  // 2^32 - 1 items each: 18 exabytes, or an overflow.
  EXPECT_EQ(refusal(idx_bytes(0x0E, {4294967295U, 4294967295U, 7}, Bytes(8))),
            "f: the dimensions in the header are too large: more than 2^63 bytes after dimension 1");
  EXPECT_EQ(refusal(idx_bytes(0x08, {2147483647U, 1000000}, Bytes(8))),
            "f: truncated: 2,147,483,647,000,012 bytes expected, found 20 (item 0 of 2147483647)");
  EXPECT_EQ(refusal(idx_bytes(0x08, {3, 0, 5}, {})), "f: dimension 1 is 0 at byte 8; expected at least 1");
}

class IdxOnDisk : public testing::Test {
 protected:
  TempFolder folder_;
};

TEST_F(IdxOnDisk, DetectsCompressionByContent) {
  const Bytes bytes = idx_bytes(0x08, {300, 28}, Bytes(8400, 9));
  for (const std::string& path :
       {write_plain(folder_.file("plain.gz"), bytes), write_gzip(folder_.file("packed"), bytes)}) {
    const IdxFile file = parse_idx(*open_bytes(path));
    EXPECT_EQ(file.count, 300);
    EXPECT_EQ(file.bytes, Bytes(8400, 9));
    EXPECT_EQ(file.name, path);
  }
}

TEST_F(IdxOnDisk, GrowsWithTheDecompressedData) {  // more than the first allocation of 64 KiB, packed 1000 to 1
  const Bytes elements(1 << 20, 3);
  const std::string path = write_gzip(folder_.file("zeros.gz"), idx_bytes(0x08, {1 << 10, 1 << 10}, elements));
  EXPECT_LT(std::filesystem::file_size(path), 8U << 10);
  EXPECT_EQ(parse_idx(*open_bytes(path)).bytes, elements);
}

TEST_F(IdxOnDisk, ReportsTheOffsetAfterDecompression) {
  Bytes elements(47040);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::uint8_t>(i * i >> 3);
  const std::string path = folder_.file("train-images.gz");
  write_gzip(path, idx_bytes(0x08, {61, 28, 28}, elements));
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { parse_idx(*open_bytes(path)); }),
            path + ": truncated: 47,840 bytes expected after decompression, found 47,056 (item 60 of 61)");
  write_gzip(path, idx_bytes(0x08, {59, 28, 28}, elements));
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { parse_idx(*open_bytes(path)); }),
            path + ": oversized: 46,272 bytes expected after decompression for 59 items, found 47,056");
}

TEST_F(IdxOnDisk, RejectsTruncatedArchives) {
  Bytes elements(6000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::uint8_t>(i * 7919 >> 5);
  const Bytes whole = read_all(write_gzip(folder_.file("whole.gz"), idx_bytes(0x08, {60, 100}, elements)));
  const std::string path = folder_.file("cut.gz");
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5}, std::size_t{12}, std::size_t{40}, whole.size() / 2,
                                  whole.size() - 9, whole.size() - 8, whole.size() - 4, whole.size() - 1}) {
    write_plain(path, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)));
    EXPECT_THAT(error_of(ErrorKind::kData, [&] { parse_idx(*open_bytes(path)); }),
                testing::AnyOf(HasSubstr("truncated: "), HasSubstr("not an IDX file"), HasSubstr("is empty"),
                               HasSubstr("damaged")));
  }
}

TEST_F(IdxOnDisk, DamagedArchive) {
  Bytes elements(60000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::uint8_t>(i * 7919 >> 5);
  const std::string path = folder_.file("bad.gz");
  Bytes packed = read_all(write_gzip(path, idx_bytes(0x08, {600, 100}, elements)));
  packed[packed.size() - 6] ^= 0x40U;  // the checksum
  write_plain(path, packed);
  const std::string text = error_of(ErrorKind::kData, [&] { parse_idx(*open_bytes(path)); });
  EXPECT_THAT(text, HasSubstr("bad.gz: damaged: byte "));
  EXPECT_THAT(text, EndsWith("after decompression cannot be read: incorrect data check"));
}

TEST_F(IdxOnDisk, MissingFileAndFolder) {
  const std::string path = folder_.file("nothing");
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { open_bytes(path); }), path + ": cannot open: No such file or directory");
  std::filesystem::create_directory(path);
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { open_bytes(path); }), path + ": is a directory; a file is expected");
}

}  // namespace
}  // namespace dptrain::data
