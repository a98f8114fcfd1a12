// Checks of a zip archive's declared sizes and checksums, and inflating.

#include "core/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <zlib.h>

#include "core/crc32.h"
#include "core/error.h"

namespace dptrain {
namespace {

using ::testing::HasSubstr;

const FileErrors kZipErrors{
    .cannot_open = [](const std::string& path,
                      const std::string& reason) { return Error(ErrorKind::kData, path + ": cannot open: " + reason); },
    .damaged = [](const std::string& name,
                  const std::string& what) { return Error(ErrorKind::kCheckpoint, name + " is damaged: " + what); },
    .refused = [](const std::string& name,
                  const std::string& what) { return Error(ErrorKind::kCheckpoint, name + " " + what); },
};

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::vector<std::byte> packed(deflateBound(&stream, static_cast<uLong>(bytes.size())));
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// An archive of one deflated member with the given declared size and checksum.
std::shared_ptr<const FileBytes> archive(const std::vector<std::byte>& packed, std::uint64_t claimed,
                                         std::uint32_t crc) {
  const std::string name = "config.json";
  std::vector<std::byte> file;
  const auto put = [&](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFFU));
  };
  const auto put_name = [&] {
    for (const char c : name) file.push_back(static_cast<std::byte>(c));
  };
  const auto common = [&] {  // fields that the local header and the directory share, in order
    put(20, 2), put(0, 2), put(Z_DEFLATED, 2), put(0, 4);
    put(crc, 4), put(packed.size(), 4), put(claimed, 4), put(name.size(), 2), put(0, 2);
  };
  put(0x04034b50, 4), common(), put_name();
  file.insert(file.end(), packed.begin(), packed.end());
  const std::uint64_t directory = file.size();
  put(0x02014b50, 4), put(20, 2), common(), put(0, 2), put(0, 2), put(0, 2), put(0, 4), put(0, 4), put_name();
  const std::uint64_t size = file.size() - directory;
  put(0x06054b50, 4), put(0, 2), put(0, 2), put(1, 2), put(1, 2), put(size, 4), put(directory, 4), put(0, 2);
  return FileBytes::from_memory("a.keras", std::move(file), kZipErrors);
}

std::vector<std::byte> varied(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::uint32_t x = 1;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((x = x * 1664525U + 1013904223U) >> 24U);
  return bytes;
}

std::string archive_error(const std::vector<std::byte>& packed, std::uint64_t claimed, std::uint32_t crc = 0) {
  try {
    archive_member(archive(packed, claimed, crc), "config.json", 100);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kCheckpoint ? error.what() : "another kind of error";
  }
  return "";
}

TEST(ZipArchive, InflatesMembers) {
  for (const std::size_t size : {0U, 1U, 1000U, 1U << 20U, (1U << 20U) + 1, 5'000'000U}) {
    const std::vector<std::byte> bytes = varied(size);
    const auto member = archive_member(archive(deflated(bytes), size, crc32(bytes, 0)), "config.json");
    ASSERT_NE(member, nullptr);
    EXPECT_EQ(member->read(0, member->size()), bytes) << size;
  }
}

TEST(ZipArchive, AcceptsHighlyCompressedZeros) {
  const std::vector<std::byte> zeros(std::size_t{32} << 20U);
  const std::vector<std::byte> packed = deflated(zeros);
  ASSERT_GT(zeros.size() / packed.size(), 500U);
  EXPECT_EQ(archive_error(packed, zeros.size(), crc32(zeros, 0)), "");
}

/// A member of 1 MB that declares 1 GB, within the format's limits, is rejected before inflating.
TEST(ZipArchive, RejectsASizeBeyondTheMaximumRatio) {
  const std::vector<std::byte> packed(1'000'000);  // not read
  EXPECT_EQ(
      archive_error(packed, 1'000'000'000),
      "a.keras contains config.json deflated to 1000000 of 1000000000 bytes: such a file compresses at most 100 to "
      "1, so it is damaged or malicious");
  EXPECT_THAT(archive_error(packed, 0xFFFFFFFE), HasSubstr("such a file compresses at most 100 to 1"));
}

TEST(ZipArchive, RejectsAMemberOfAnotherLengthThanDeclared) {
  const std::vector<std::byte> packed = deflated(varied(3'000'000));
  EXPECT_THAT(archive_error(packed, 2'999'999), HasSubstr("longer than the 2999999 bytes"));
  EXPECT_THAT(archive_error(packed, 0), HasSubstr("longer than the 0 bytes"));
  EXPECT_THAT(archive_error(packed, 3'000'001), HasSubstr("cannot be inflated to the 3000001 bytes"));
  EXPECT_THAT(archive_error(packed, 200'000'000), HasSubstr("cannot be inflated to the 200000000 bytes"));
}

TEST(ZipArchive, RejectsATruncatedStream) {
  std::vector<std::byte> packed = deflated(varied(100'000));
  packed.resize(packed.size() - 1);
  EXPECT_THAT(archive_error(packed, 100'000), HasSubstr("cannot be inflated"));
  packed.resize(packed.size() / 2);
  EXPECT_THAT(archive_error(packed, 100'000), HasSubstr("cannot be inflated"));
}

}  // namespace
}  // namespace dptrain
