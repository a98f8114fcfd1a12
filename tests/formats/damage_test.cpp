// Truncated files and flipped bytes give an error or the right contents, never a crash or wrong numbers.

#include <cstring>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "formats/checkpoint_sample.h"
#include "formats/contents.h"
#include "formats/hdf5/hdf5_writer.h"
#include "formats/keras/keras_import.h"
#include "formats/keras_sample.h"
#include "support/sanitizer.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

FileContents from_bytes(std::vector<std::byte> bytes) {
  return FileContents::from_bytes(checkpoint_bytes("file.h5", std::move(bytes)));
}

/// Reads all contents; false for an expected error.
bool readable(const std::vector<std::byte>& bytes, graph::Model& model) {
  bool good = true;
  const auto attempt = [&](const auto& read) {
    try {
      read(from_bytes(bytes));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint) << error.what();
      EXPECT_NE(std::string(error.what()).find("file.h5"), std::string::npos) << error.what();
      good = false;
    }
  };
  attempt([](const FileContents& contents) { contents.state(); });
  attempt([&](const FileContents& contents) { load_weights(contents, model); });
  attempt([](const FileContents& contents) { describe_file(contents); });
  return good;
}

class Damage : public ::testing::Test {
 protected:
  void SetUp() override {
    const sample::Folder folder;
    save_checkpoint(folder / "a.h5", model_, sample::compiled(), sample::state_of(model_));
    whole_ = sample::bytes_of(folder / "a.h5");
    graph::Model model = model_;
    ASSERT_TRUE(readable(whole_, model));
  }

  graph::Model model_ = sample::tiny_cnn();
  std::vector<std::byte> whole_;
};

TEST_F(Damage, RejectsAFileTruncatedAnywhere) {
  graph::Model model = model_;
  const std::size_t sealed = whole_.size() - kSealBytes;
  for (std::size_t size = 0; size < sealed; size += 1 + size / 97) {
    const std::vector<std::byte> cut(whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(readable(cut, model)) << size;
  }
  std::vector<std::byte> cut(whole_.begin(), whole_.end() - static_cast<std::ptrdiff_t>(kSealBytes) - 1);
  try {
    from_bytes(cut);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("it is cut off"), std::string::npos) << error.what();
  }
}

TEST_F(Damage, DetectsEveryFlippedByteOfASealedFile) {
  graph::Model model = model_;
  for (std::size_t at = 0; at < whole_.size() - kSealBytes; at += 53) {
    std::vector<std::byte> bytes = whole_;
    bytes[at] ^= std::byte{1};
    EXPECT_FALSE(readable(bytes, model)) << at;
  }
}

TEST_F(Damage, FlippedBytesOfAnUnsealedFileAreDetectedOrHarmless) {
  if (test::kThreadSanitizer) GTEST_SKIP() << "a minute, and no threads";
  // Another program may have rewritten the file: without the seal, only the checksums of the datasets remain.
  whole_.resize(whole_.size() - kSealBytes);
  int harmless = 0;
  for (std::size_t at = 0; at < whole_.size(); at += test::kAddressSanitizer ? 47 : 11) {
    std::vector<std::byte> bytes = whole_;
    bytes[at] ^= std::byte{0x40};
    graph::Model model = model_;
    for (graph::Weight& weight : model.weights) weight.values.assign(weight.values.size(), 0);
    if (!readable(bytes, model)) continue;
    ++harmless;
    for (std::size_t i = 0; i < model.weights.size(); ++i)
      EXPECT_EQ(model.weights[i].values, model_.weights[i].values) << "wrong numbers from byte " << at;
  }
  EXPECT_GT(harmless, 0);  // unused space, texts
}

TEST_F(Damage, DetectsChangedNumbersOfAnUnsealedFile) {
  // The kernel's bytes in the file with one flipped bit, and without the seal.
  const auto* kernel = reinterpret_cast<const std::byte*>(model_.weights[0].values.data());
  const auto found =
      std::search(whole_.begin(), whole_.end(), kernel, kernel + model_.weights[0].values.size() * sizeof(float));
  ASSERT_NE(found, whole_.end());
  *found ^= std::byte{1};
  whole_.resize(whole_.size() - kSealBytes);
  try {
    load_weights(from_bytes(whole_), model_);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "'file.h5' is damaged: the checksum of '/model_weights/conv1/conv1/kernel:0' does not match. Take "
                 "another checkpoint of the run (best.h5, last.h5, an older epoch)");
  }
}

TEST_F(Damage, IgnoresBytesAfterTheEnd) {
  graph::Model model = model_;
  whole_.resize(whole_.size() - kSealBytes);
  whole_.insert(whole_.end(), 1000, std::byte{'x'});
  EXPECT_TRUE(readable(whole_, model));
  EXPECT_FALSE(from_bytes(whole_).sealed);
}

/// Links as messages of an object header, with and without a symbol table.
TEST(DamagedLinks, AreReadOrRejected) {
  const std::vector<std::byte> whole = sample::bytes_of(test::test_data("fuzz/corpus/weights/keras3_cyrillic.h5"));
  const std::string name = "скрытый";
  const auto bytes_of_name = std::as_bytes(std::span(name));
  const auto read = [](std::vector<std::byte> bytes) {
    try {
      const auto layers = from_bytes(std::move(bytes)).layers();
      for (const StoredLayer& layer : layers)
        for (const StoredArray& weight : layer.weights) weight.floats();
      return std::string();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint) << error.what();
      return std::string(error.what());
    }
  };
  ASSERT_EQ(read(whole), "");

  // The message: version, flags, character set, length of the name, the name, address of the object.
  auto found = whole.begin();
  for (;; ++found) {
    found = std::search(found, whole.end(), bytes_of_name.begin(), bytes_of_name.end());
    ASSERT_NE(found, whole.end());
    if (found[-4] == std::byte{1} && found[-3] == std::byte{0x10}) break;
  }
  const auto at = found - whole.begin();
  const auto changed = [&](std::ptrdiff_t offset, unsigned value) {
    std::vector<std::byte> bytes = whole;
    bytes[static_cast<std::size_t>(at + offset)] = static_cast<std::byte>(value);
    return read(std::move(bytes));
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(changed(-4, 2), HasSubstr("a link has the unknown version 2"));
  EXPECT_THAT(changed(-1, 255), HasSubstr("a record is shorter than its contents"));
  EXPECT_THAT(changed(-1, 0), HasSubstr("a link has no name"));
  EXPECT_THAT(changed(-3, 0x13), HasSubstr("a record is shorter than its contents"));  // a length of 8 bytes
  for (std::ptrdiff_t offset = -600; offset < 200; ++offset)
    for (const unsigned value : {0x00U, 0x01U, 0x06U, 0x11U, 0x7FU, 0xFFU}) changed(offset, value);
}

/// Nested arrays next to another key: the object that contains both grows and copies its members.
std::string tower(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return R"({"config": )" + std::string(count, '[') + "1" + std::string(count, ']') + R"(, "name": "tower"})";
}

std::string depth_refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kCheckpoint ? error.what() : "another kind of error";
  }
  return "";
}

/// Copying or destroying such a tree recurses per level until the stack overflows.
TEST(DeepJson, IsRejectedAnywhereInAFile) {
  constexpr int kLevels = 200'000;
  const FileContents model = sample::legacy_file({}, {.model_config = tower(kLevels)});
  const std::string deep = "is JSON nested deeper than 128 levels";
  EXPECT_THAT(depth_refusal([&] { describe_file(model); }),
              ::testing::HasSubstr("'keras.h5': its model_config " + deep));
  EXPECT_THAT(depth_refusal([&] { model.stored(); }), ::testing::HasSubstr(deep));
  EXPECT_THAT(depth_refusal([&] { import_model_config("c.keras", tower(kLevels)); }),
              ::testing::HasSubstr("'c.keras': its model_config " + deep));

  const sample::Folder folder;
  const graph::Model tiny = sample::small_dense();
  CheckpointState state = sample::state_of(tiny);
  state.trainer = tower(kLevels);
  save_checkpoint(folder / "deep.h5", tiny, sample::compiled(), state);
  EXPECT_THAT(depth_refusal([&] { read_state(folder / "deep.h5"); }),
              ::testing::HasSubstr("the state of its trainer " + deep));
  EXPECT_THAT(depth_refusal([&] { describe_file(folder / "deep.h5"); }),
              ::testing::HasSubstr("the state of its trainer " + deep));
}

TEST(DeepJson, AcceptsTheNestingOfKeras) {
  EXPECT_EQ(depth_refusal([] { describe_file(sample::legacy_file({}, {.model_config = tower(100)})); }), "");
}

}  // namespace
}  // namespace dptrain::formats
