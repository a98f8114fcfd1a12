// Clips as samples: selection and order of frames, video files and folders of frames, transforms of whole clips.

#include "data/sources/video.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "clips/write_clip.h"
#include "core/format.h"
#include "data/cache.h"
#include "data/image_files.h"
#include "data/loader.h"
#include "data/loader_batches.h"
#include "data/transform.h"
#include "data/transforms/colour.h"
#include "data/transforms/cropping.h"
#include "data/transforms/geometry.h"
#include "data/transforms/mixing.h"
#include "data/transforms/normalization.h"

namespace dptrain::data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kLevel = 7;  ///< frame k has gray level 10 + kLevel k, which identifies it after any decoder

test::MadeClip numbered(int frames, int height = 32, int width = 48) {
  test::MadeClip clip{height, width, {}};
  for (int f = 0; f < frames; ++f)
    clip.frames.emplace_back(static_cast<std::size_t>(height * width * 3), static_cast<std::uint8_t>(10 + kLevel * f));
  return clip;
}

/// The indices of the frames in a sample.
std::vector<std::int64_t> numbers_in(const Array& clip) {
  std::vector<std::int64_t> numbers;
  const std::int64_t each = clip.shape.elements() / clip.shape[0];
  for (std::int64_t f = 0; f < clip.shape[0]; ++f) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < each; ++i) sum += clip.u8[static_cast<std::size_t>(f * each + i)];
    numbers.push_back((sum / each - 10 + kLevel / 2) / kLevel);
  }
  return numbers;
}

class Videos : public testing::Test {
 protected:
  std::string path(const std::string& name) {
    const std::string made = folder_.file(name);
    fs::create_directories(fs::path(made).parent_path());
    return made;
  }
  VideoSpec spec(std::int64_t frames, std::int64_t stride = 1) const {
    VideoSpec made;
    made.directory.value = folder_.file("");
    made.frames = frames;
    made.stride = stride;
    return made;
  }
  static std::shared_ptr<const Source> open(const VideoSpec& spec, const Shape& input, std::int64_t outputs = 2) {
    DatasetConfig datasets;
    datasets.train = dataset_family().make(spec);
    return open_sources(datasets, model_of(input, {outputs}), 3).train;
  }
  std::vector<std::int64_t> read(const Source& source, std::int64_t index, const ReadHint& hint = {}) {
    source.read(index, 0, clip_, hint);
    return numbers_in(clip_);
  }

  TempFolder folder_;
  Array clip_;
};

TEST_F(Videos, SortsFoldersOfFramesByNumber) {
  for (int f = 0; f < 12; ++f)
    write_plain(path(fmt::format("run/one/{}.ppm", f + 1)),
                pnm_bytes({8, 8, 3, Bytes(8 * 8 * 3, static_cast<std::uint8_t>(10 + kLevel * f))}));
  write_plain(path("run/one/notes.txt"), text_bytes("of a person"));
  test::write_frame_folder(path("walk/two"), numbered(6, 8, 8));
  test::write_frame_folder(path("walk/more/three"), numbered(5, 8, 8));
  const auto source = open(spec(4, 2), {4, 8, 8, 3});
  ASSERT_EQ(source->size(), 3);
  EXPECT_THAT(source->class_names(), ElementsAre("run", "walk"));
  EXPECT_EQ(source->label_class(0), 0);
  EXPECT_EQ(source->label_class(2), 1);
  EXPECT_THAT(source->label_place(1), HasSubstr("walk/more/three"));
  EXPECT_THAT(read(*source, 0), ElementsAre(2, 4, 6, 8));  // the middle: (12 - 7) / 2
  EXPECT_EQ(clip_.shape, (Shape{4, 8, 8, 3}));
  EXPECT_THAT(read(*source, 1), ElementsAre(0, 2, 4, 4)) << "the last frame replaces missing ones";
}

TEST_F(Videos, AShortClipMayBeAnError) {
  test::write_frame_folder(path("a/1"), numbered(5, 8, 8));
  VideoSpec strict = spec(4, 2);
  strict.short_clips = ShortClips::kFail;
  const auto source = open(strict, {4, 8, 8, 3}, 1);
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { read(*source, 0); }),
              HasSubstr("has 5 frames; 4 frames with a stride of 2 need 7"));
}

TEST_F(Videos, ARandomStartDependsOnSeedEpochAndSample) {
  const VideoSpec some = spec(4, 3);
  std::set<std::int64_t> firsts;
  for (std::uint32_t epoch = 0; epoch < 200; ++epoch) {
    const DrawKey key{.seed = 7, .sample = 5, .epoch = epoch};
    const std::vector<std::int64_t> picks = pick_frames(some, 14, key);
    EXPECT_EQ(picks, pick_frames(some, 14, key));
    EXPECT_EQ(picks.back() - picks.front(), 9);
    firsts.insert(picks.front());
  }
  EXPECT_THAT(firsts, ElementsAre(0, 1, 2, 3, 4)) << "every start that leaves room";
  EXPECT_THAT(pick_frames(some, 14, std::nullopt), ElementsAre(2, 5, 8, 11));
  VideoSpec first = some;
  first.start = ClipStart::kFirst;
  EXPECT_THAT(pick_frames(first, 14, DrawKey{}), ElementsAre(0, 3, 6, 9));
  VideoSpec middle = some;
  middle.start = ClipStart::kMiddle;
  EXPECT_THAT(pick_frames(middle, 14, DrawKey{}), ElementsAre(2, 5, 8, 11));
  EXPECT_THAT(pick_frames(some, 1, std::nullopt), ElementsAre(0, 0, 0, 0));
}

TEST_F(Videos, FilesOfEveryFormatReturnTheRequestedFrames) {
  if (!test::can_write_clips()) GTEST_SKIP() << "built without FFmpeg's headers";
  constexpr int kFrames = 33;
  const test::MadeClip made = numbered(kFrames);
  struct Case {
    const char* name;
    test::ClipKind kind;
  };
  const std::vector<Case> cases{{"between.mp4", {.codec = "mpeg4", .key_every = 8, .b_frames = 2}},
                                {"one_key.mp4", {.codec = "mpeg4", .key_every = 100}},
                                {"plain.avi", {.codec = "mpeg4", .key_every = 8}},
                                {"between.avi", {.codec = "mpeg4", .key_every = 8, .b_frames = 2}},
                                {"between.mkv", {.codec = "mpeg4", .key_every = 8, .b_frames = 2}},
                                {"jpegs.mov", {.codec = "mjpeg"}},
                                {"jpegs.avi", {.codec = "mjpeg"}},
                                {"lossless.mkv", {.codec = "ffv1", .key_every = 5}}};
  for (const Case& one : cases) test::write_clip(path(std::string("a/") + one.name), made, one.kind);
  for (const std::int64_t stride : {1, 4}) {
    VideoSpec some = spec(5, stride);
    const auto source = open(some, {5, 32, 48, 3}, 1);
    ASSERT_EQ(source->size(), std::ssize(cases));
    for (std::int64_t i = 0; i < source->size(); ++i)
      for (std::uint32_t epoch = 0; epoch < 12; ++epoch) {
        const DrawKey key{.seed = 1, .sample = static_cast<std::uint64_t>(i), .epoch = epoch};
        EXPECT_EQ(read(*source, i, {.draw = key}), pick_frames(some, kFrames, key)) << source->label_place(i);
      }
  }
}

TEST_F(Videos, ResizesWhileDecoding) {
  VideoSpec small = spec(2);
  small.image_size = {16, 24};
  test::MadeClip made = test::moving_square(2, 1, 6, 32, 48);
  test::write_frame_folder(path("a/frames"), made);
  if (test::can_write_clips()) test::write_clip(path("a/lossless.mkv"), made, {.codec = "ffv1", .key_every = 1});
  const auto source = open(small, {2, 16, 24, 3}, 1);
  EXPECT_EQ(source->input_shape(0), (Shape{2, 16, 24, 3}));
  Array frames;
  source->read(source->size() - 1, 0, frames);
  EXPECT_EQ(frames.shape, (Shape{2, 16, 24, 3}));
  if (!test::can_write_clips()) GTEST_SKIP() << "built without FFmpeg's headers";
  source->read(0, 0, clip_);
  ASSERT_EQ(clip_.shape, frames.shape);
  double apart = 0;
  for (std::size_t i = 0; i < frames.u8.size(); ++i)
    apart += std::abs(static_cast<double>(frames.u8[i]) - static_cast<double>(clip_.u8[i]));
  EXPECT_LT(apart / static_cast<double>(frames.u8.size()), 2) << "swscale and Resizing with antialias";
}

TEST_F(Videos, ALosslessFileKeepsItsFrames) {
  if (!test::can_write_clips()) GTEST_SKIP() << "built without FFmpeg's headers";
  const test::MadeClip made = test::moving_square(0, 3, 5, 19, 23);
  test::write_clip(path("a/1.mkv"), made, {.codec = "ffv1", .key_every = 1});
  for (const ColorMode color : {ColorMode::kRgb, ColorMode::kGrayscale, ColorMode::kRgba}) {
    VideoSpec all = spec(5);
    all.color_mode = color;
    const std::int64_t channels = color == ColorMode::kGrayscale ? 1 : color == ColorMode::kRgb ? 3 : 4;
    open(all, {5, 19, 23, channels}, 1)->read(0, 0, clip_);
    ASSERT_EQ(clip_.shape, (Shape{5, 19, 23, channels}));
    for (std::int64_t f = 0; f < 5; ++f)
      for (std::int64_t i = 0; i < 19 * 23; ++i) {
        const std::uint8_t* const rgb = made.frames[static_cast<std::size_t>(f)].data() + 3 * i;
        const std::uint8_t* const found = clip_.u8.data() + (f * 19 * 23 + i) * channels;
        if (color == ColorMode::kGrayscale) {
          EXPECT_NEAR(found[0], 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2], 2);
        } else {
          EXPECT_THAT(std::vector(found, found + 3), ElementsAre(rgb[0], rgb[1], rgb[2]));
        }
      }
  }
}

TEST_F(Videos, AppliesTheRotationOfAPhone) {
  if (!test::can_write_clips()) GTEST_SKIP() << "built without FFmpeg's headers";
  test::MadeClip made{32, 48, {}};  // dark above, bright below
  for (int f = 0; f < 3; ++f) {
    made.frames.emplace_back(32 * 48 * 3, std::uint8_t{30});
    std::fill(made.frames.back().begin() + 16 * 48 * 3, made.frames.back().end(), std::uint8_t{200});
  }
  const auto side_is = [&](std::int64_t y, std::int64_t x) {
    return clip_.u8[static_cast<std::size_t>((y * clip_.shape[2] + x) * 3)] > 100 ? "bright" : "dark";
  };
  test::write_clip(path("a/1.mp4"), made, {.turn = 90});
  test::write_clip(path("a/2.mov"), made, {.codec = "mjpeg", .turn = -90});
  test::write_clip(path("a/3.mp4"), made, {.turn = 180});
  VideoSpec some = spec(2);
  const auto source = open(some, {2, 48, 32, 3}, 1);
  EXPECT_EQ(source->peek_shape(0), (Shape{2, 48, 32, 3}));
  source->read(0, 0, clip_);
  ASSERT_EQ(clip_.shape, (Shape{2, 48, 32, 3}));
  EXPECT_STREQ(side_is(24, 2), "dark") << "what was above is on the left";
  EXPECT_STREQ(side_is(24, 30), "bright");
  source->read(1, 0, clip_);
  EXPECT_STREQ(side_is(24, 2), "bright");
  EXPECT_STREQ(side_is(24, 30), "dark");
  source->read(2, 0, clip_);
  ASSERT_EQ(clip_.shape, (Shape{2, 32, 48, 3}));
  EXPECT_STREQ(side_is(2, 24), "bright");
  some.exif = Exif::kIgnore;
  open(some, {2, 32, 48, 3}, 1)->read(0, 0, clip_);
  ASSERT_EQ(clip_.shape, (Shape{2, 32, 48, 3}));
  EXPECT_STREQ(side_is(2, 24), "dark");
}

TEST_F(Videos, ChecksTheModelBeforeReadingFiles) {
  test::write_frame_folder(path("a/1"), numbered(5, 8, 8));
  const auto refusal = [&](const VideoSpec& some, const Shape& input) {
    return error_of(ErrorKind::kUsage, [&] { open(some, input, 1); });
  };
  EXPECT_THAT(refusal(spec(4), {8, 8, 8, 3}), HasSubstr("clips have 4 frames, the model expects 8; write frames: 8"));
  EXPECT_THAT(refusal(spec(4), {4, 8, 8, 1}), HasSubstr("write color_mode: grayscale"));
  EXPECT_THAT(refusal(spec(4), {8, 8, 3}), HasSubstr("give the Input a shape of four axes"));
  const auto source = open(spec(4), {4, 16, 16, 3}, 1);
  EXPECT_THAT(error_of(ErrorKind::kData,
                       [&] {
                         Loader(source, Pipeline(), model_of({4, 16, 16, 3}, {1}), {}, loader_options(1));
                       }),
              HasSubstr("the sizes of clips differ from the 16x16 of the model"));
}

/// One batch of all clips, as floats.
std::vector<float> batch_of(const std::shared_ptr<const Source>& source, std::vector<config::Typed> transforms,
                            const Shape& input, bool evaluation, int workers = 1, std::int64_t epoch = 0) {
  LoaderOptions options;
  options.batch_size = source->size();
  options.shuffle = {Shuffle::Kind::kNone, 0};
  options.seed = 11;
  options.workers = workers;
  Loader loader(source, Pipeline(transforms, evaluation), model_of(input, {1}), {}, options);
  loader.seek(epoch, 0);
  const Batch batch = loader.next();
  return {batch.input(0), batch.input(0) + batch.rows() * input.elements()};
}

TEST_F(Videos, TransformsDrawOncePerClip) {
  // The frames are equal, so a draw per frame changes the result.
  const test::MadeClip one = test::moving_square(1, 5, 1, 24, 24);
  for (int i = 0; i < 3; ++i)
    test::write_frame_folder(path(fmt::format("a/{}", i)), {24, 24, std::vector(6, one.frames.front())});
  const Shape input{6, 16, 16, 3};
  const auto source = open(spec(6), input, 1);
  const std::vector<config::Typed> all{transform_family().make(RandomCropSpec{.height = 16, .width = 16}),
                                       transform_family().make(RandomFlipSpec{}),
                                       transform_family().make(RandomRotationSpec{{}, {0.2}}),
                                       transform_family().make(RandomBrightnessSpec{.factor = {0.3}}),
                                       transform_family().make(RescalingSpec{.scale = 1.0 / 255})};
  const std::vector<float> batch = batch_of(source, all, input, false);
  const std::int64_t frame = input.elements() / 6;
  for (std::int64_t clip = 0; clip < 3; ++clip)
    for (std::int64_t f = 1; f < 6; ++f)
      EXPECT_TRUE(std::equal(batch.begin() + clip * 6 * frame, batch.begin() + (clip * 6 + 1) * frame,
                             batch.begin() + (clip * 6 + f) * frame));
  EXPECT_FALSE(std::equal(batch.begin(), batch.begin() + frame, batch.begin() + 6 * frame)) << "another clip's draws";
  EXPECT_EQ(batch, batch_of(source, all, input, false, 3)) << "whatever the number of workers";
  EXPECT_NE(batch, batch_of(source, all, input, false, 1, 1)) << "another epoch's draws";
}

TEST_F(Videos, CropsAndMixesWholeClips) {
  for (int i = 0; i < 4; ++i)
    test::write_frame_folder(
        path(fmt::format("a/{}", i)),
        {16, 16, std::vector(3, test::moving_square(1, static_cast<std::uint64_t>(i), 1, 16, 16).frames.front())});
  const Shape input{3, 16, 16, 3};
  VideoSpec sized = spec(3);
  sized.image_size = {16, 16};
  const auto source = open(sized, input, 1);
  const std::vector<float> mixed = batch_of(source, {transform_family().make(CutMixSpec{})}, input, false);
  const std::vector<float> plain = batch_of(source, {}, input, false);
  EXPECT_NE(mixed, plain);
  const std::int64_t frame = input.elements() / 3;
  for (std::int64_t clip = 0; clip < 4; ++clip)
    for (std::int64_t f = 1; f < 3; ++f)
      EXPECT_TRUE(std::equal(mixed.begin() + clip * 3 * frame, mixed.begin() + (clip * 3 + 1) * frame,
                             mixed.begin() + (clip * 3 + f) * frame))
          << "every frame has the same rectangle";
}

TEST_F(Videos, TrainingDrawsStartsAndEvaluationUsesTheMiddle) {
  test::write_frame_folder(path("a/1"), numbered(30, 8, 8));
  const Shape input{2, 8, 8, 3};
  const auto source = open(spec(2), input, 1);
  std::set<float> firsts;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    firsts.insert(batch_of(source, {}, input, false, 1, epoch).front());
    EXPECT_EQ(batch_of(source, {}, input, true, 1, epoch).front(), 10 + kLevel * 14);
  }
  EXPECT_GT(firsts.size(), 8U);
}

TEST_F(Videos, CachesOnlyClipsWithoutRandomStarts) {
  test::write_frame_folder(path("a/1"), numbered(9, 12, 8));
  test::write_frame_folder(path("a/2"), numbered(9, 8, 8));
  const Shape input{3, 6, 6, 3};
  const std::vector<config::Typed> transforms{transform_family().make(ResizingSpec{.height = 6, .width = 6})};
  const CacheOptions memory{.kind = CacheOptions::Kind::kMemory, .folder = {}};
  EXPECT_THAT(error_of(ErrorKind::kUsage,
                       [&] { cached(open(spec(3), input, 1), Pipeline(transforms, false), memory, "train"); }),
              HasSubstr("write start: middle in the data set, or cache: none"));
  VideoSpec middle = spec(3);
  middle.start = ClipStart::kMiddle;
  const auto source = open(middle, input, 1);
  const auto [kept, rest] = cached(source, Pipeline(transforms, false), memory, "train");
  LoaderOptions options;
  options.batch_size = 2;
  options.shuffle = {Shuffle::Kind::kNone, 0};
  Loader loader(kept, rest, model_of(input, {1}), {}, options);  // files of other sizes
  for (int epoch = 0; epoch < 2; ++epoch, loader.next_epoch()) {
    const Batch batch = loader.next();
    EXPECT_EQ(std::vector<float>(batch.input(0), batch.input(0) + 2 * input.elements()),
              batch_of(source, transforms, input, false));
  }
}

TEST_F(Videos, SkipsAndListsDamagedClips) {
  for (const char* name : {"a/1", "a/2", "a/3"}) test::write_frame_folder(path(name), numbered(4, 8, 8));
  write_plain(path("a/2/0003.ppm"), text_bytes("P6\n8 8\n255\nshort"));
  VideoSpec lenient = spec(4);
  lenient.on_error.skip = true;
  const Shape input{4, 8, 8, 3};
  const auto source = open(lenient, input, 1);
  LoaderOptions options;
  options.batch_size = 3;
  Loader loader(source, Pipeline(), model_of(input, {1}), {}, options);
  EXPECT_EQ(loader.next().rows(), 2);
  ASSERT_EQ(source->bad_samples()->all().size(), 1U);
  EXPECT_THAT(source->bad_samples()->all().front().str(), HasSubstr("a/2: 0003.ppm: byte "));
}

}  // namespace
}  // namespace dptrain::data
