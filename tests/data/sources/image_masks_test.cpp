// Pictures and masks: matching, errors about missing partners, reading, fingerprints, folders without a config.

#include "data/sources/image_masks.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "core/format.h"
#include "data/image_files.h"
#include "data/inspection.h"
#include "data/sources/image_folder.h"
#include "data/sources/split.h"
#include "data/yaml_sets.h"

namespace dptrain::data {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ImageMasksTest : public testing::Test {
 protected:
  std::string put(const std::string& name, const Bytes& bytes) const {
    const std::string path = folder_.file(name);
    fs::create_directories(fs::path(path).parent_path());
    return write_plain(path, bytes);
  }
  /// A picture of 2 x 3 pixels and its mask, all pixels of which have the class `value`.
  void put_pair(const std::string& stem, std::uint8_t value, const std::string& suffix = ".jpg") const {
    put("images/" + stem + suffix, suffix == ".jpg" ? jpeg_bytes(gradient(2, 3)) : png_bytes(gradient(2, 3)));
    put("masks/" + stem + ".png", png_mask(2, 3, 8, Bytes(6, value)));
  }
  Sources open(const std::string& more = "", const std::string& validation = "", const ModelSide& model = {}) const {
    DatasetConfig config;
    config.train = data_set_of("ImageMasks: {images: FOLDERimages, masks: FOLDERmasks" + more + "}", folder_.file(""));
    if (!validation.empty()) config.validation = data_set_of(validation, folder_.file(""));
    return open_sources(config, model, 7);
  }
  std::string refusal(const std::string& more = "", ErrorKind kind = ErrorKind::kData) const {
    return error_of(kind, [&] { open(more); });
  }
  /// The error of reading the keys.
  std::string config_error(const std::string& more) const {
    config::Diagnostics diagnostics;
    config::Reader reader(diagnostics);
    const auto text =
        config::SourceText::check("ImageMasks: {images: a, masks: b" + more + "}", "test.yaml", "", diagnostics);
    dataset_family().read(config::parse_yaml(*text, diagnostics), reader);
    EXPECT_FALSE(diagnostics.ok());
    return diagnostics.render(ErrorKind::kUsage);
  }
  static std::vector<std::uint8_t> classes(const Source& source, std::int64_t index) {
    Array mask;
    source.read_label_map(index, mask);
    return mask.u8;
  }

  TempFolder folder_;
};

TEST_F(ImageMasksTest, MatchesByPathWithoutSuffix) {
  put_pair("b/2", 2, ".png");
  put_pair("1", 1);
  put_pair("a.b/3.x", 3);
  put_pair("a.b/3", 4);
  put("images/notes.txt", text_bytes("not a picture"));
  const auto source = open().train;
  ASSERT_EQ(source->size(), 4);
  EXPECT_EQ(source->inputs(), 1);
  EXPECT_EQ(source->labels(), 1);
  EXPECT_EQ(source->label_name(0), "");
  EXPECT_EQ(source->label_type(), LabelType::kMap);
  EXPECT_EQ(source->label_width(), 0);
  std::vector<std::string> found;
  for (std::int64_t i = 0; i < source->size(); ++i) {
    Array picture, mask;
    source->read(i, 0, picture);
    source->read_label_map(i, mask);
    EXPECT_EQ(picture.shape, (Shape{2, 3, 3}));
    EXPECT_EQ(mask.shape, (Shape{2, 3, 1}));
    EXPECT_EQ(source->peek_shape(i), picture.shape);
    EXPECT_EQ(source->peek_label_map(i), mask.shape);
    EXPECT_EQ(fs::path(source->label_map_place(i)).stem(), fs::path(source->label_place(i)).stem());
    EXPECT_EQ(fs::path(source->label_map_place(i)).extension(), ".png");
    found.push_back(fmt::format("{} {}", source->label_place(i).substr(folder_.file("images/").size()), mask.u8[5]));
  }
  EXPECT_THAT(found, ElementsAre("1.jpg 1", "a.b/3.jpg 4", "a.b/3.x.jpg 3", "b/2.png 2"));
}

TEST_F(ImageMasksTest, ListsAllFilesWithoutAPartner) {
  put_pair("1", 0);
  for (int i = 10; i < 35; ++i) put(fmt::format("images/p{}.jpg", i), jpeg_bytes(gradient(2, 3)));
  put("masks/q/8.png", png_mask(2, 3, 8, Bytes(6)));
  const std::string error = refusal();
  EXPECT_THAT(error, AllOf(HasSubstr("images: 25 of 26 pictures have no mask below "), HasSubstr("/p10.jpg\n"),
                           HasSubstr("/p29.jpg\n"), Not(HasSubstr("/p30.jpg")), HasSubstr("and 5 more"),
                           HasSubstr("masks: 1 of 2 masks have no picture below "), HasSubstr("/q/8.png")));
}

TEST_F(ImageMasksTest, ListsFilesThatDifferOnlyInTheSuffix) {
  put_pair("a/1", 0);
  put("images/a/1.png", png_bytes(gradient(2, 3)));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("images: two files differ only in the suffix"), HasSubstr("a/1.jpg and "),
                               HasSubstr("a/1.png")));
  fs::remove(folder_.file("images/a/1.png"));
  put("masks/a/1.gif", Bytes(3));
  EXPECT_THAT(refusal(), HasSubstr("masks: two files differ only in the suffix"));
}

TEST_F(ImageMasksTest, RejectsAFolderWithoutFiles) {
  put_pair("1", 0);
  fs::remove(folder_.file("masks/1.png"));
  EXPECT_THAT(refusal(), HasSubstr("masks: no files; expected masks"));
  fs::remove(folder_.file("masks"));
  EXPECT_THAT(refusal(), HasSubstr("no such file or folder"));
}

TEST_F(ImageMasksTest, TakeAndSplitKeepPairs) {
  for (std::uint8_t i = 0; i < 8; ++i) put_pair(std::to_string(i), i);
  const Sources sources = open(", take: 6", "Split: {fraction: 0.5}");
  ASSERT_EQ(sources.train->size(), 3);
  ASSERT_EQ(sources.validation->size(), 3);
  for (const auto& source : {sources.train, sources.validation})
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(source->label_type(), LabelType::kMap);
      EXPECT_EQ(fs::path(source->label_place(i)).stem(), std::to_string(classes(*source, i)[0]));
      EXPECT_EQ(source->peek_label_map(i), (Shape{2, 3, 1}));
    }
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("", "Split: {fraction: 0.5, stratified: true}"); }),
              HasSubstr("stratified needs one class for each sample, found masks; remove stratified"));
}

TEST_F(ImageMasksTest, FingerprintAndCacheKeyFollowTheFiles) {
  for (std::uint8_t i = 0; i < 3; ++i) put_pair(std::to_string(i), i);
  const auto before = open().train;
  EXPECT_EQ(open().train->fingerprint(), before->fingerprint());
  EXPECT_EQ(open().train->cache_key(), before->cache_key());
  EXPECT_NE(open(", exif: ignore").train->cache_key(), before->cache_key());
  EXPECT_NE(open(", color_mode: grayscale").train->fingerprint(), before->fingerprint());
  EXPECT_NE(open(", classes: {a: \"#000000\", b: \"#010101\"}").train->fingerprint(), before->fingerprint());
  put_pair("1", 5);
  EXPECT_NE(open().train->fingerprint(), before->fingerprint());
  EXPECT_NE(open().train->cache_key(), before->cache_key());
}

TEST_F(ImageMasksTest, ColorsOfClasses) {
  const Bytes pixels{0x46, 0x82, 0xB4, 0x80, 0x40, 0x80, 0, 0, 0};
  put("images/1.png", png_bytes(gradient(1, 3)));
  put("masks/1.png", png_bytes({1, 3, 3, pixels}));
  const std::string colors = ", classes: {road: \"#804080\", sky: \"#4682b4\"}, ignore_colors: [\"#000000\"], ";
  const auto source = open(colors + "ignore_class: 9").train;
  EXPECT_THAT(source->class_names(), ElementsAre("road", "sky"));
  EXPECT_THAT(classes(*source, 0), ElementsAre(1, 0, 9));
  const config::Typed written = data_set_of("ImageMasks: {images: a, masks: b" + colors + "ignore_class: 9}", "");
  EXPECT_EQ(written.as<ImageMasksSpec>().ignore_colors, (std::vector<Rgb>{{0, 0, 0}}));
  EXPECT_THAT(config::to_yaml(written.write()), AllOf(HasSubstr("road: \"#804080\""), HasSubstr("sky: \"#4682B4\""),
                                                      HasSubstr("ignore_colors: [\"#000000\"]")));
}

TEST_F(ImageMasksTest, RejectsInvalidColors) {
  EXPECT_THAT(config_error(", classes: {a: blue}"), HasSubstr("must be a color in quotes, as in \"#804080\""));
  EXPECT_THAT(config_error(", classes: [a, b]"), HasSubstr("must be the color of each class"));
  EXPECT_THAT(config_error(", ignore_colors: \"#000000\", ignore_class: 255"),
              HasSubstr("list the color of each class"));
  EXPECT_THAT(config_error(", classes: {a: \"#000001\"}, ignore_colors: \"#000000\""),
              HasSubstr("ignore_colors needs the data set's ignore_class"));
  EXPECT_THAT(config_error(", classes: {a: \"#000001\", b: \"#000001\"}"),
              HasSubstr("the class 'b' has the color #000001 of the class 'a'"));
  EXPECT_THAT(config_error(", classes: {a: \"#000001\"}, ignore_colors: \"#000001\", ignore_class: 255"),
              HasSubstr("ignore_colors has the color #000001 of the class 'a'"));
  EXPECT_THAT(config_error(", classes: {a: \"#000001\"}, class_names: [a]"), HasSubstr("remove class_names"));
}

TEST_F(ImageMasksTest, ComparesClassesWithTheModel) {
  put_pair("1", 0);
  const ModelSide model = model_of({2, 3, 3}, {2, 3, 2});
  EXPECT_THAT(error_of(ErrorKind::kUsage,
                       [&] { open(", classes: {a: \"#000000\", b: \"#000001\", c: \"#000002\"}", "", model); }),
              HasSubstr("classes lists 3 colors, but the model has 2 outputs for each pixel"));
  EXPECT_THAT(open(", class_names: [a, b]", "", model).train->class_names(), ElementsAre("a", "b"));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open(", class_names: [a, b, c]", "", model); }),
              HasSubstr("class_names lists 3 names, but the model has 2 outputs"));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open(", color_mode: grayscale", "", model); }),
              HasSubstr("write color_mode: rgb"));
}

TEST_F(ImageMasksTest, ErrorsNameTheMask) {
  put_pair("1", 0);
  put("masks/1.png", jpeg_bytes(gradient(2, 3)));
  const auto source = open(", on_error: skip").train;
  EXPECT_TRUE(source->bad_samples()->skips());
  Array mask;
  try {
    source->read_label_map(0, mask);
    ADD_FAILURE() << "no error";
  } catch (const SampleError& error) {
    EXPECT_EQ(error.sample().file, folder_.file("masks/1.png"));
    EXPECT_THAT(error.what(), HasSubstr("a JPEG image; expected a PNG"));
  }
  EXPECT_EQ(source->peek_label_map(0), Shape{});
}

TEST_F(ImageMasksTest, ScanReportsUnreadableMasksAndOtherSizes) {
  for (std::uint8_t i = 0; i < 4; ++i) put_pair(std::to_string(i), i);
  put("masks/1.png", png_mask(3, 2, 8, Bytes(6)));
  put("masks/3.png", text_bytes("no mask"));
  const DataScan found = scan(*open().train);
  ASSERT_EQ(found.damaged.size(), 2U);
  EXPECT_EQ(found.damaged[0].file, folder_.file("masks/1.png"));
  EXPECT_EQ(found.damaged[0].reason, "the mask has 2 x 3 pixels, its picture 3 x 2; expected equal sizes");
  EXPECT_EQ(found.damaged[1].file, folder_.file("masks/3.png"));
}

TEST_F(ImageMasksTest, CountsPixelsOfEachClass) {
  put_pair("1", 1);
  put_pair("2", 1);
  put_pair("3", 255);
  put("masks/2.png", png_mask(2, 3, 8, {0, 1, 1, 1, 0, 2}));
  put_pair("4", 0);
  put("masks/4.png", text_bytes("no mask"));
  const PixelClasses found = count_pixel_classes(*open().train, 0);
  EXPECT_EQ(found.masks, 4);
  EXPECT_EQ(found.unreadable, 1);
  EXPECT_EQ(found.pixels, 18);
  EXPECT_EQ(found.counts, (std::map<std::int64_t, std::int64_t>{{0, 2}, {1, 9}, {2, 1}, {255, 6}}));
  EXPECT_EQ(pixel_classes_report("train", found, {"ground", "road", "sky", "car"}),
            "train: 4 masks (1 cannot be read), 18 pixels\n"
            "  class   0 ground               2   11.11 %\n"
            "  class   1 road                 9   50.00 %\n"
            "  class   2 sky                  1    5.56 %\n"
            "  class   3 car                  0    0.00 %\n"
            "  class 255                      6   33.33 %\n");
}

TEST_F(ImageMasksTest, FoldersWithoutAConfig) {
  put_pair("a/1", 0);
  put_pair("2", 1);
  const auto source = open_path(folder_.file(""));
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->label_type(), LabelType::kMap);
  EXPECT_TRUE(source->bad_samples()->skips());
  const auto found = find_mask_folders(folder_.file(""));
  ASSERT_TRUE(found);
  EXPECT_EQ(fs::path(found->images).filename(), "images");
  put("masks/2.png", png_bytes(gradient(2, 3)));  // two classes of photos
  EXPECT_FALSE(find_mask_folders(folder_.file("")));
  EXPECT_EQ(open_path(folder_.file(""))->label_type(), LabelType::kClass);
}

TEST_F(ImageMasksTest, FoldersOfGrayPicturesNeedANameOfMasks) {
  for (const char* name : {"x/1.png", "gt/1.png"}) put(name, png_mask(2, 3, 8, Bytes(6)));
  const auto found = find_mask_folders(folder_.file(""));
  ASSERT_TRUE(found);
  EXPECT_EQ(fs::path(found->masks).filename(), "gt");
  fs::rename(folder_.file("gt"), folder_.file("y"));
  EXPECT_FALSE(find_mask_folders(folder_.file("")));
}

TEST_F(ImageMasksTest, PredictReadsPicturesWithoutMasks) {
  put_pair("1", 0);
  put("others/2.jpg", jpeg_bytes(gradient(5, 7), {.orientation = 6}));
  PredictFiles files;
  files.paths = {folder_.file("others")};
  files.sets = {data_set_of("ImageMasks: {images: FOLDERimages, masks: FOLDERmasks, exif: ignore}", folder_.file(""))};
  PredictSource input = open_for_predict(files, model_of({2, 3, 3}, {2, 3, 4}));
  EXPECT_EQ(input.key, "file");
  EXPECT_EQ(input.samples, 1);
  Array picture;
  input.next()->read(0, 0, picture);
  EXPECT_EQ(picture.shape, (Shape{5, 7, 3}));
}

}  // namespace
}  // namespace dptrain::data
