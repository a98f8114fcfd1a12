// Columns of a table that name files: images and clips as separate inputs, with and without other columns, unreadable
// files, errors about the model, caches, and rows for prediction.

#include <gmock/gmock.h>

#include <filesystem>

#include "core/format.h"
#include "data/cache.h"
#include "data/encoders/files.h"
#include "data/image_files.h"
#include "data/loader.h"
#include "data/mixing.h"
#include "data/sources/csv_stream.h"
#include "data/transforms/cropping.h"
#include "data/transforms/geometry.h"
#include "data/transforms/mixing.h"
#include "data/transforms/normalization.h"
#include "data/yaml_sets.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kPhotos = "CSV: {file: FOLDERt.csv, labels: kind, inputs: photo, columns: {photo: Image}}";
constexpr const char* kPhotosAndFacts =
    "CSV: {file: FOLDERt.csv, labels: kind, inputs: {photo: photo, facts: [age, size]}, columns: {photo: Image, "
    "age: {Rescaling: 1}, size: {Rescaling: 2}}}";

class CsvFilesTest : public testing::Test {
 protected:
  CsvFilesTest() {
    std::filesystem::create_directories(folder_.file("img/a"));
    std::filesystem::create_directories(folder_.file("img/b"));
    write_plain(folder_.file("img/a/1.jpg"), jpeg_bytes(gradient(20, 30)));
    write_plain(folder_.file("img/a/2.png"), png_bytes(gradient(12, 14)));
    write_plain(folder_.file("img/b/3.bmp"), bmp_bytes(gradient(16, 10)));
    write("t.csv", "kind,photo,age,size\na,img/a/1.jpg,3,1\na,  img/a/2.png ,4,2\nb,\"" + folder_.file("img/b/3.bmp") +
                       "\",5,3\n");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.file(name)) << text; }
  Sources open(const std::string& yaml, const ModelSide& model = {}) const {
    DatasetConfig config;
    config.train = data_set_of(yaml, folder_.file(""));
    return open_sources(config, model, 0);
  }
  static ModelSide two_inputs() {
    ModelSide model;
    model.input_names = {"facts", "photo"};
    model.input_shapes = {Shape{2}, Shape{4, 5, 3}};
    return model;
  }
  static Pipeline small() {
    ResizingSpec resizing;
    resizing.height = 4;
    resizing.width = 5;
    RescalingSpec rescaling;
    rescaling.scale = 0.5;
    return Pipeline({transform_family().make(resizing), transform_family().make(RandomFlipSpec{}),
                     transform_family().make(rescaling)},
                    false);
  }
  /// Columns and photos of the first batch of some epochs.
  static std::vector<std::vector<float>> batches(const std::shared_ptr<const Source>& source,
                                                 const CacheOptions& cache) {
    auto [samples, rest] = cached(source, small(), cache, "train", 1, two_inputs());
    LoaderOptions options;
    options.batch_size = source->size();
    options.shuffle = {Shuffle::Kind::kNone, 0};
    Loader loader(samples, std::move(rest), two_inputs(), {}, options);
    std::vector<std::vector<float>> found;
    for (int epoch = 0; epoch < 3; ++epoch) {
      const Batch batch = loader.next();
      found.emplace_back(batch.input(0), batch.input(0) + batch.rows() * 2);
      found.emplace_back(batch.input(1), batch.input(1) + batch.rows() * 60);
      loader.next_epoch();
    }
    return found;
  }

  TempFolder folder_;
};

TEST_F(CsvFilesTest, ImagesEqualThoseOfAnImageFolder) {
  const Sources sources = open(kPhotos);
  const Source& table = *sources.train;
  const auto folder = open("ImageFolder: FOLDERimg").train;
  ASSERT_EQ(table.size(), 3);
  EXPECT_EQ(table.inputs(), 1);
  EXPECT_EQ(table.input_shape(0), Shape());
  EXPECT_FALSE(table.has_one_shape(0));
  EXPECT_THAT(table.class_names(), ElementsAre("a", "b"));
  for (std::int64_t i = 0; i < 3; ++i) {
    Array ours, theirs;
    table.read(i, 0, ours);
    folder->read(i, 0, theirs);
    EXPECT_EQ(ours.shape, theirs.shape);
    EXPECT_EQ(ours.u8, theirs.u8);
    EXPECT_EQ(table.peek_shape(i), theirs.shape);
    EXPECT_EQ(table.label_class(i), folder->label_class(i));
  }
  EXPECT_THAT(table.column_lines(), ElementsAre(HasSubstr("paths; images of 3 channels, upright")));
  EXPECT_THAT(table.cell_lines(1), ElementsAre(HasSubstr("img/a/2.png -> 12x14x3")));
}

TEST_F(CsvFilesTest, TransformsApplyToImagesOnly) {
  const Sources sources = open(kPhotosAndFacts, two_inputs());
  const auto plain = batches(sources.train, {});
  EXPECT_THAT(plain[0], ElementsAre(3, 2, 4, 4, 5, 6));
  EXPECT_EQ(plain[2], plain[0]);
  EXPECT_NE(plain[3], plain[1]);  // flipped differently
  EXPECT_EQ(batches(sources.train, {.kind = CacheOptions::Kind::kMemory, .limit = {}, .folder = {}}), plain);
  const CacheOptions disk{
      .kind = CacheOptions::Kind::kDisk, .limit = {}, .folder = config::Path{folder_.file("cache")}};
  EXPECT_EQ(batches(sources.train, disk), plain);
  EXPECT_TRUE(std::filesystem::exists(folder_.file("cache/train.cache")));
  EXPECT_EQ(batches(sources.train, disk), plain);
}

TEST_F(CsvFilesTest, ATableMayContainOnlyPaths) {  // rows without cells
  write("t.csv", "photo\nimg/a/1.jpg\nimg/a/2.png\n");
  const Sources sources = open("CSV: {file: FOLDERt.csv, inputs: photo, columns: {photo: Image}}");
  ModelSide model;
  model.input_names = {"photo"};
  model.input_shapes = {Shape{4, 5, 3}};
  LoaderOptions options;
  options.batch_size = 2;
  Loader loader(sources.train, small(), model, {}, options);
  EXPECT_EQ(loader.next().rows(), 2);
}

TEST_F(CsvFilesTest, MixesOtherColumnsLikeTheLabel) {
  const Sources sources = open(kPhotosAndFacts, two_inputs());
  ResizingSpec resizing;
  resizing.height = 4;
  resizing.width = 5;
  const config::Typed mix_up = transform_family().make(MixUpSpec{});
  LoaderOptions options;
  options.batch_size = 3;
  options.shuffle = {Shuffle::Kind::kNone, 0};
  Loader loader(sources.train, Pipeline({transform_family().make(resizing), mix_up}, false), two_inputs(), {}, options);
  const Batch batch = loader.next();
  const std::unique_ptr<Transform> transform = make_transform(mix_up);
  const float facts[3][2] = {{3, 2}, {4, 4}, {5, 6}};
  for (std::int64_t i = 0; i < 3; ++i) {
    const DrawKey key{.seed = 0, .sample = static_cast<std::uint64_t>(i), .epoch = 0};
    const std::int64_t partner = transform->mixing()->partner(key, 1, 3);
    const float weight = transform->mixing()->weight(key, 1);
    for (int k = 0; k < 2; ++k)
      EXPECT_FLOAT_EQ(batch.input(0)[2 * i + k], weight * facts[i][k] + (1 - weight) * facts[partner][k]);
  }
}

TEST_F(CsvFilesTest, ChangedFilesChangeTheCacheKey) {
  const Sources before = open(kPhotos);
  write_plain(folder_.file("img/a/2.png"), png_bytes(gradient(13, 14)));
  const Sources after = open(kPhotos);
  EXPECT_NE(before.train->fingerprint(), after.train->fingerprint());
  EXPECT_NE(before.train->cache_key(), after.train->cache_key());
  EXPECT_NE(open("CSV: {file: FOLDERt.csv, labels: kind, inputs: photo, columns: {photo: {Image: {color_mode: rgba}}}}")
                .train->cache_key(),
            after.train->cache_key());
}

TEST_F(CsvFilesTest, NamesTheRowOfAnUnreadableFile) {
  write("t.csv", "kind,photo\na,img/a/1.jpg\na,img/a/none.jpg\na,\nb,t.csv\n");
  const auto source = open(kPhotos).train;
  ASSERT_NE(source->bad_samples(), nullptr);
  const auto refusal = [&](std::int64_t index) {
    Array image;
    return error_of(ErrorKind::kData, [&] { source->read(index, 0, image); });
  };
  const std::string table = folder_.file("t.csv");
  EXPECT_EQ(refusal(1), table + ":3: column 'photo': " + folder_.file("img/a/none.jpg") +
                            ": cannot open: No such file or directory");
  EXPECT_EQ(refusal(2), table + ":4: column 'photo': found nothing, expected the path of an image");
  EXPECT_THAT(refusal(3), HasSubstr(table + ":5: column 'photo': " + table + ": byte 0: "));
  EXPECT_FALSE(source->bad_samples()->skips());
  EXPECT_TRUE(open("CSV: {file: FOLDERt.csv, labels: kind, inputs: photo, columns: {photo: Image}, on_error: skip}")
                  .train->bad_samples()
                  ->skips());
}

TEST_F(CsvFilesTest, ReportsMissingFilesAtOnce) {
  write("t.csv", "kind,photo\na,1.jpg\nb,2.jpg\n");
  EXPECT_THAT(
      error_of(ErrorKind::kData, [&] { open(kPhotos); }),
      HasSubstr(
          "t.csv:2: column 'photo': no such file: " + folder_.file("1.jpg") +
          ", and no file of the 2 rows checked exists; expected absolute paths, or paths relative to the folder"));
}

TEST_F(CsvFilesTest, ChecksTheModelBeforeReadingFiles) {
  const auto refusal = [&](const std::string& yaml, const ModelSide& model) {
    return error_of(ErrorKind::kUsage, [&] { open(yaml, model); });
  };
  EXPECT_THAT(
      refusal("CSV: {file: FOLDERt.csv, labels: kind, columns: {photo: Image}}", {}),
      HasSubstr("test.yaml:1:1: error: CSV: column 'photo' contains file names, but shares the input with other "
                "columns; use a separate input, as in `inputs: {photo: photo, others: [...]}`, or `inputs: photo`"));
  EXPECT_THAT(refusal(kPhotos, model_of(Shape{4, 5, 1}, Shape{2})),
              HasSubstr("files are read with 3 channels, the model expects 1"));
  EXPECT_THAT(refusal(kPhotos, model_of(Shape{7}, Shape{2})),
              HasSubstr("each file is an image of 3 axes, the model's input is float32 of 7; give the Input a shape as "
                        "[height, width, channels]"));
}

TEST_F(CsvFilesTest, ReadsClipsFromPaths) {
  for (const char* clip : {"clips/x", "clips/y"})
    for (int i = 0; i < 6; ++i) {
      std::filesystem::create_directories(folder_.file(clip));
      write_plain(folder_.file(clip + fmt::format("/{}.png", i)), png_bytes(gradient(8 + i, 6)));
    }
  write("t.csv", "kind,clip,age\na,clips/x,1\nb,clips/y,2\n");
  const auto source =
      open(
          "CSV: {file: FOLDERt.csv, labels: kind, inputs: {clip: clip, age: age}, columns: {clip: {Video: {frames: 3, "
          "image_size: [4, 4], color_mode: grayscale, start: first}}}}")
          .train;
  EXPECT_EQ(source->input_shape(0), Shape({3, 4, 4, 1}));
  EXPECT_FALSE(source->draws());
  EXPECT_EQ(source->inspect(1)->frames, 6);
  Array frames;
  source->read(0, 0, frames);
  EXPECT_EQ(frames.shape, Shape({3, 4, 4, 1}));
  EXPECT_TRUE(open("CSV: {file: FOLDERt.csv, labels: kind, inputs: clip, columns: {clip: Video}}").train->draws());
}

TEST_F(CsvFilesTest, ReadsRowsForPredictionLikeTrainingRows) {
  ModelSide model = two_inputs();
  model.fitted_state = open(kPhotosAndFacts, model).fitted_state;
  write("new.csv", "size,photo,age\n7,img/b/3.bmp,1\n8,none.png,2\n");
  config::Typed set = data_set_of(kPhotosAndFacts, folder_.file(""));
  CSVSpec spec = set.as<CSVSpec>();
  spec.on_error.skip = true;
  CsvStream stream(spec, model, folder_.file("new.csv"));
  const auto rows = stream.next(10);
  ASSERT_NE(rows, nullptr);
  Array image;
  rows->read(0, 0, image);
  EXPECT_EQ(image.shape, Shape({16, 10, 3}));
  EXPECT_THROW(rows->read(1, 0, image), SampleError);
  ASSERT_NE(rows->bad_samples(), nullptr);
  EXPECT_TRUE(rows->bad_samples()->skips());
}

TEST(ModelSideTransforms, ApplyToImagesIfPresent) {
  ModelSide model;
  model.input_names = {"a", "b", "c"};
  model.input_shapes = {Shape{2}, Shape{4, 4, 3}, Shape{5}};
  model.input_types = {DType::kF32, DType::kF32, DType::kI32};
  EXPECT_FALSE(model.is_transformed(0));
  EXPECT_TRUE(model.is_transformed(1));
  EXPECT_FALSE(model.is_transformed(2));
  model.input_shapes[1] = Shape{4, 4};
  EXPECT_TRUE(model.is_transformed(0));
  EXPECT_TRUE(model.is_transformed(1));
}

class CsvMasksTest : public CsvFilesTest {
 protected:
  CsvMasksTest() {
    write_plain(folder_.file("img/m1.png"), png_mask(20, 30, 8, Bytes(600, 1)));
    write_plain(folder_.file("img/m2.png"), png_mask(12, 14, 8, Bytes(168, 2)));
    write("m.csv", "photo,mask,age\nimg/a/1.jpg,img/m1.png,3\nimg/a/2.png,\"" + folder_.file("img/m2.png") + "\",4\n");
  }
  static std::string masks(const std::string& mask, const std::string& more = "") {
    return "CSV: {file: FOLDERm.csv, inputs: photo, labels: mask, columns: {photo: Image, mask: " + mask + "}" + more +
           "}";
  }
  static Bytes read_map(const Source& source, std::int64_t index) {
    Array mask;
    source.read_label_map(index, mask);
    return mask.u8;
  }
};

TEST_F(CsvMasksTest, AColumnOfMasksIsALabel) {
  const auto source = open(masks("Mask", ", class_names: [a, b, c]")).train;
  ASSERT_EQ(source->labels(), 1);
  EXPECT_EQ(source->label_name(0), "");
  EXPECT_EQ(source->label_type(), LabelType::kMap);
  EXPECT_EQ(source->label_width(), 0);
  EXPECT_THAT(source->class_names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(source->peek_label_map(0), (Shape{20, 30, 1}));
  EXPECT_EQ(source->label_map_place(0), folder_.file("img/m1.png"));
  EXPECT_EQ(read_map(*source, 0), Bytes(600, 1));
  EXPECT_EQ(read_map(*source, 1), Bytes(168, 2));
  EXPECT_EQ(open(masks("Mask", ", take: 1")).train->label_type(), LabelType::kMap);
}

TEST_F(CsvMasksTest, ColorsAreSavedWithTheModel) {
  write_plain(folder_.file("img/m1.png"), png_bytes({1, 3, 3, {1, 1, 1, 2, 2, 2, 3, 3, 3}}));
  write("m.csv", "photo,mask\nimg/a/1.jpg,img/m1.png\n");
  const std::string yaml =
      masks("{Mask: {classes: {one: \"#010101\", two: \"#020202\"}, ignore_colors: \"#030303\"}}", ", ignore_class: 7");
  const Sources sources = open(yaml);
  EXPECT_THAT(read_map(*sources.train, 0), ElementsAre(0, 1, 7));
  EXPECT_THAT(sources.train->class_names(), ElementsAre("one", "two"));
  ModelSide model;
  model.fitted_state = sources.fitted_state;
  EXPECT_THAT(read_map(*open(yaml, model).train, 0), ElementsAre(0, 1, 7));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open(masks("Mask"), model); }), HasSubstr("the config's columns are"));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open(masks("Mask", ", class_names: [a]"), model); }),
              HasSubstr("the model was trained with"));
}

TEST_F(CsvMasksTest, FingerprintAndCacheKeyFollowTheMasks) {
  const auto before = open(masks("Mask")).train;
  write_plain(folder_.file("img/m2.png"), png_mask(12, 14, 8, Bytes(168, 0)));
  EXPECT_NE(open(masks("Mask")).train->fingerprint(), before->fingerprint());
  EXPECT_NE(open(masks("Mask")).train->cache_key(), before->cache_key());
}

TEST_F(CsvMasksTest, ErrorsNameTheRow) {
  write("m.csv", "photo,mask\nimg/a/1.jpg,img/m1.png\nimg/a/2.png,\nimg/a/2.png,img/a/1.jpg\n");
  const auto source = open(masks("Mask", ", on_error: skip")).train;
  ASSERT_EQ(source->size(), 3);
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { read_map(*source, 1); }),
              HasSubstr("m.csv:3: column 'mask': found nothing, expected the path of a mask"));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { read_map(*source, 2); }),
              HasSubstr("a JPEG image; expected a PNG, because JPEG changes"));
  EXPECT_TRUE(source->bad_samples()->skips());
}

TEST_F(CsvMasksTest, RejectsMasksThatAreNoLabel) {
  const auto refusal = [&](const std::string& yaml) { return error_of(ErrorKind::kUsage, [&] { open(yaml); }); };
  EXPECT_THAT(refusal("CSV: {file: FOLDERm.csv, inputs: mask, labels: age, columns: {mask: Mask}}"),
              HasSubstr("the column 'mask' is an input, but Mask is for labels; write `labels: mask`"));
  EXPECT_THAT(refusal("CSV: {file: FOLDERm.csv, inputs: photo, labels: [age, mask], columns: {photo: Image, mask: "
                      "Mask}}"),
              HasSubstr("a mask is the only column of its label"));
  EXPECT_THAT(refusal(masks("{Mask: {ignore_colors: \"#000000\"}}")), HasSubstr("list the color of each class"));
  EXPECT_THAT(refusal(masks("{Mask: {classes: {a: \"#000000\"}}}", ", class_names: [b]")),
              HasSubstr("class_names and the classes of 'mask' differ"));
}

}  // namespace
}  // namespace dptrain::data
