// Damaged video files give frames or an error with a reason, never a crash.

#include <gmock/gmock.h>

#include <random>

#include "clips/write_clip.h"
#include "core/format.h"
#include "data/fixtures.h"
#include "data/sources/video.h"
#include "data/video/clip.h"
#include "data/video/container_length.h"
#include "support/tier.h"

namespace dptrain::data {
namespace {

using testing::HasSubstr;

struct Container {
  const char* name;
  test::ClipKind kind;
};
const Container kContainers[] = {{"a.mp4", {.codec = "mpeg4", .key_every = 6, .b_frames = 2}},
                                 {"a.avi", {.codec = "mpeg4", .key_every = 6}},
                                 {"a.mov", {.codec = "mjpeg"}},
                                 {"a.mkv", {.codec = "ffv1", .key_every = 4}}};

std::vector<std::int64_t> middle(std::int64_t count) {
  VideoSpec spec;
  spec.frames = 6;
  return pick_frames(spec, count, std::nullopt);
}

class DamagedClips : public testing::TestWithParam<Container> {
 protected:
  void SetUp() override {
    if (!test::can_write_clips()) GTEST_SKIP() << "built without FFmpeg's headers";
    test::write_clip(folder_.file(GetParam().name), test::moving_square(1, 9, 20, 32, 40), GetParam().kind);
    whole_ = read_all(folder_.file(GetParam().name));
  }
  /// The error about the file, or "".
  std::string trouble(const Bytes& bytes, bool all) {
    const std::string path = write_plain(folder_.file(std::string("damaged-") + GetParam().name), bytes);
    try {
      if (all) {
        check_clip_file(path);
      } else {
        Array clip;
        read_clip_file(path, middle, {}, clip);
        EXPECT_EQ(clip.shape, (Shape{6, 32, 40, 3}));
      }
    } catch (const ClipError& error) {
      EXPECT_FALSE(error.reason().empty());
      return error.reason();
    }
    return "";
  }

  TempFolder folder_;
  Bytes whole_;
};

TEST_P(DamagedClips, IntactFilesHaveNoError) {
  EXPECT_EQ(trouble(whole_, true), "");
  EXPECT_EQ(trouble(whole_, false), "");
  const ClipInfo info = check_clip_file(folder_.file(GetParam().name));
  EXPECT_EQ(info.frames, 20);
  EXPECT_EQ(info.height, 32);
  EXPECT_EQ(info.width, 40);
}

TEST_P(DamagedClips, TruncatedFilesAreErrors) {
  for (std::size_t tenth = 0; tenth < 10; ++tenth) {
    const Bytes cut(whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(whole_.size() * tenth / 10));
    for (const bool all : {true, false}) EXPECT_NE(trouble(cut, all), "") << tenth << " tenths";
  }
  const Bytes one_byte(whole_.begin(), whole_.end() - 1);
  EXPECT_NE(trouble(one_byte, false), "");
}

TEST_P(DamagedClips, OverwrittenInTheMiddle) {
  Bytes noise = whole_;
  for (std::size_t i = noise.size() / 4; i < noise.size() * 3 / 4; ++i) noise[i] = 0xA5;
  EXPECT_NE(trouble(noise, true), "");
}

TEST_P(DamagedClips, FlippedBytesGiveFramesOrAnError) {
  std::mt19937 random(tier::case_seed(4));
  const int rounds = tier::how_many(60, 2000);
  for (int round = 0; round < rounds; ++round) {
    Bytes flipped = whole_;
    for (int i = 0; i < 1 + round % 5; ++i)
      flipped[random() % flipped.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    try {
      trouble(flipped, round % 2 == 0);
    } catch (const std::exception& error) {
      FAIL() << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DamagedClips, testing::ValuesIn(kContainers),
                         [](const auto& one) { return std::string(one.param.name).substr(2); });

TEST(ContainerLength, ReportsMissingBytes) {
  const auto missing = [](const Bytes& file) {
    return missing_length(std::ssize(file), [&](std::int64_t place, std::span<std::uint8_t> to) {
      std::size_t n = 0;
      for (; n < to.size() && place + static_cast<std::int64_t>(n) < std::ssize(file); ++n)
        to[n] = file[static_cast<std::size_t>(place) + n];
      return n;
    });
  };
  Bytes boxes{0, 0, 0, 16, 'f', 't', 'y', 'p', 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 12, 'm', 'd', 'a', 't', 1, 2, 3, 4};
  EXPECT_EQ(missing(boxes), std::nullopt);
  boxes.pop_back();
  EXPECT_EQ(missing(boxes), 28);
  Bytes riff{'R', 'I', 'F', 'F', 8, 0, 0, 0, 'A', 'V', 'I', ' ', 1, 2, 3, 4};
  EXPECT_EQ(missing(riff), std::nullopt);
  riff[4] = 9;
  EXPECT_EQ(missing(riff), 17);
  Bytes segment{0x1A, 0x45, 0xDF, 0xA3, 0x81, 7, 0x18, 0x53, 0x80, 0x67, 0x82, 1, 2};
  EXPECT_EQ(missing(segment), std::nullopt);
  segment[10] = 0x83;
  EXPECT_EQ(missing(segment), 14);
  segment[10] = 0xFF;  // unknown size
  EXPECT_EQ(missing(segment), std::nullopt);
  EXPECT_EQ(missing(Bytes(30, 7)), std::nullopt);
}

}  // namespace
}  // namespace dptrain::data
