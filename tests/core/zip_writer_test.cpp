// Written archives read back, in the 32-bit and the 64-bit format.

#include "core/zip.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace dptrain {
namespace {

const FileErrors kWrittenZipErrors{
    .cannot_open = [](const std::string& path, const std::string& why) { return Error(ErrorKind::kData, path + why); },
    .damaged = [](const std::string& name,
                  const std::string& why) { return Error(ErrorKind::kCheckpoint, name + why); },
    .refused = [](const std::string& name,
                  const std::string& why) { return Error(ErrorKind::kCheckpoint, name + why); },
};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::shared_ptr<const FileBytes> joined(const ZipPieces& pieces) {
  std::vector<std::byte> all;
  for (const auto& piece : pieces.pieces) all.insert(all.end(), piece.begin(), piece.end());
  return FileBytes::from_memory("a.zip", all, kWrittenZipErrors);
}

std::string text_of(const FileBytes& member) {
  std::string text(static_cast<std::size_t>(member.size()), '\0');
  member.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(ZipWriter, ReadsBackEveryMember) {
  const std::string first = "{}", second(1000, 'x'), none;
  const std::vector<ZipMember> members{
      {"metadata.json", bytes_of(first)}, {"empty", bytes_of(none)}, {"model.weights.h5", bytes_of(second)}};
  // A limit of 0 writes every number as 64 bits, 100 those after the large member.
  for (const std::uint64_t limit : {kZip32Limit, std::uint64_t{0}, std::uint64_t{100}}) {
    SCOPED_TRACE(limit);
    const auto archive = joined(zip_pieces(members, limit));
    EXPECT_TRUE(is_archive(*archive));
    EXPECT_EQ(archive_names(*archive), (std::vector<std::string>{"metadata.json", "empty", "model.weights.h5"}));
    EXPECT_EQ(text_of(*archive_member(archive, "metadata.json")), first);
    EXPECT_EQ(text_of(*archive_member(archive, "empty")), none);
    EXPECT_EQ(text_of(*archive_member(archive, "model.weights.h5")), second);
  }
}

TEST(ZipWriter, TheSameMembersGiveTheSameBytes) {
  const std::string text = "weights";
  const auto once = joined(zip_pieces({{"a", bytes_of(text)}})), again = joined(zip_pieces({{"a", bytes_of(text)}}));
  EXPECT_EQ(once->read(0, once->size()), again->read(0, again->size()));
}

TEST(ZipWriter, CountsMembersBeyond16Bits) {
  const std::string text = "x";
  std::vector<ZipMember> members;
  for (int i = 0; i < 65'536; ++i) members.push_back({std::to_string(i), bytes_of(text)});
  const auto archive = joined(zip_pieces(members));
  EXPECT_EQ(archive_names(*archive).size(), members.size());
  EXPECT_EQ(text_of(*archive_member(archive, "65535")), text);
}

}  // namespace
}  // namespace dptrain
