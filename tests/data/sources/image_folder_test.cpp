#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "core/format.h"
#include "data/image_files.h"
#include "data/loader.h"
#include "data/sources/file_list.h"
#include "data/sources/image_folder.h"
#include "data/sources/split.h"
#include "data/transform.h"
#include "data/transforms/cropping.h"
#include "support/tier.h"

namespace dptrain::data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

/// Class folders with files of which only the names matter.
class ImageFolders : public testing::Test {
 protected:
  std::string put(const std::string& name, const Bytes& bytes = text_bytes("no image")) {
    const std::string path = folder_.file(name);
    fs::create_directories(fs::path(path).parent_path());
    return write_plain(path, bytes);
  }
  void link(const std::string& target, const std::string& name) {
    fs::create_directories(fs::path(folder_.file(name)).parent_path());
    fs::create_symlink(target, folder_.file(name));
  }
  ImageFolderSpec spec(const OnError& on_error = {}) const {
    ImageFolderSpec made;
    made.directory.value = folder_.file("");
    made.on_error = on_error;
    return made;
  }
  static Sources open(const ImageFolderSpec& spec, std::int64_t outputs, std::int64_t side = 8) {
    DatasetConfig datasets;
    datasets.train = dataset_family().make(spec);
    return open_sources(datasets, model_of({side, side, 3}, {outputs}), 3);
  }
  /// Files in order, below the folder.
  static std::vector<std::string> files(const Source& source, const std::string& root) {
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < source.size(); ++i) names.push_back(source.label_place(i).substr(root.size()));
    return names;
  }
  std::vector<std::string> files(const Source& source) const { return files(source, folder_.file("")); }

  TempFolder folder_;
};

TEST_F(ImageFolders, OrderAndLabels) {
  for (const char* name :
       {"b/2.jpg", "b/10.jpg", "a/z.jpg", "a/Z.jpg", "a/sub/1.jpg", "a/sub/deep/0.jpg", "a/a b.jpg",
        "a/h\xC3\xA9t\xC3\xA9.jpg", "a/.hidden.jpg", ".git/x.jpg", "b/.thumbs/1.jpg", "c d/1.png", "readme.txt"})
    put(name);
  const auto source = open(spec(), 3).train;
  EXPECT_THAT(files(*source), ElementsAre("a/Z.jpg", "a/a b.jpg", "a/h\xC3\xA9t\xC3\xA9.jpg", "a/z.jpg", "a/sub/1.jpg",
                                          "a/sub/deep/0.jpg", "b/10.jpg", "b/2.jpg", "c d/1.png"));
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < source->size(); ++i) labels.push_back(source->label_class(i));
  EXPECT_THAT(labels, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 2));
  EXPECT_THAT(source->class_names(), ElementsAre("a", "b", "c d"));
  EXPECT_EQ(source->label_type(), LabelType::kClass);
}

TEST_F(ImageFolders, FollowsLinksButNoCycles) {
  put("a/1.jpg");
  put("elsewhere/more/2.jpg");
  fs::rename(folder_.file("elsewhere"), folder_.file(".elsewhere"));
  link(".", "a/self");
  link("..", "a/up");
  link("../.elsewhere", "a/more");
  link("../../a", ".elsewhere/more/back");
  link("1.jpg", "a/same.jpg");
  link("missing", "a/broken.jpg");
  link("circle.jpg", "a/circle.jpg");
  link("a", "b");
  ASSERT_EQ(mkfifo(folder_.file("a/pipe.jpg").c_str(), 0600), 0);
  const auto source = open(spec(), 2).train;
  EXPECT_THAT(files(*source),
              ElementsAre("a/1.jpg", "a/broken.jpg", "a/circle.jpg", "a/same.jpg", "a/more/more/2.jpg", "b/1.jpg",
                          "b/broken.jpg", "b/circle.jpg", "b/same.jpg", "b/more/more/2.jpg"));
  EXPECT_EQ(source->class_names().size(), 2U);  // b links to a and is a second class
  Array out;
  for (std::int64_t i = 0; i < source->size(); ++i) {
    const std::string name = source->label_place(i);
    if (!name.ends_with("broken.jpg") && !name.ends_with("circle.jpg")) continue;
    EXPECT_THAT(error_of(ErrorKind::kData, [&] { source->read(i, 0, out); }), HasSubstr(".jpg: cannot open: "));
  }
}

TEST_F(ImageFolders, ClassNames) {
  for (const char* name : {"cats/1.jpg", "dogs/1.jpg", "emus/1.jpg"}) put(name);
  ImageFolderSpec given = spec();
  given.class_names = {"emus", "cats", "dogs"};
  const auto source = open(given, 3).train;
  EXPECT_THAT(files(*source), ElementsAre("emus/1.jpg", "cats/1.jpg", "dogs/1.jpg"));
  EXPECT_THAT(source->class_names(), ElementsAre("emus", "cats", "dogs"));
  given.class_names = {"emus", "cats", "dog"};
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(given, 3); }),
              HasSubstr("no folder for the class 'dog' of class_names; did you mean 'dogs'?"));
  given.class_names = {"emus", "cats"};
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(given, 2); }),
              HasSubstr("the folder 'dogs' is not in class_names (emus, cats)"));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(spec(), 2); }),
              HasSubstr("3 class folders, but the model has 2 outputs"));
}

TEST_F(ImageFolders, RejectsChannelsThatDoNotFitTheModel) {
  for (const char* name : {"a/1.jpg", "b/1.jpg"}) put(name);
  ImageFolderSpec gray = spec();
  gray.color_mode = ColorMode::kGrayscale;
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open(gray, 2); }),
              HasSubstr("images are read with 1 channel, the model expects 3; write color_mode: rgb"));
}

TEST_F(ImageFolders, NothingThere) {
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(spec(), 2); }),
              HasSubstr("no sub-folders, 0 files; expected one folder"));
  fs::create_directories(folder_.file("a"));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(spec(), 2); }),
              HasSubstr("none of the 1 class folders has a file"));
  ImageFolderSpec missing = spec();
  missing.directory.value += "missing";
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(missing, 2); }),
              HasSubstr("data.train: no such file or folder: " + missing.directory.value));
  put("b/1.jpg");  // an empty class is a warning only
  EXPECT_EQ(open(spec(), 2).train->label_class(0), 1);
}

TEST_F(ImageFolders, ClassesOfTwoSetsMustAgree) {
  for (const char* name : {"train/a/1.jpg", "train/b/1.jpg", "test/a/1.jpg", "test/c/1.jpg"}) put(name);
  DatasetConfig datasets;
  ImageFolderSpec train, test;
  train.directory.value = folder_.file("train");
  test.directory.value = folder_.file("test");
  datasets.train = dataset_family().make(train);
  datasets.test = dataset_family().make(test);
  EXPECT_THAT(error_of(ErrorKind::kData,
                       [&] {
                         open_sources(datasets, model_of({8, 8, 3}, {2}), 3);
                       }),
              HasSubstr("the classes of data.test are a, c, those of data.train a, b"));
}

/// The disk cache depends on: each of many files of the same size, and the decoding options.
TEST_F(ImageFolders, CacheKeyChangesWithEveryFileAndOption) {
  for (int i = 0; i < 200; ++i) put("a/" + std::to_string(1000 + i) + ".jpg");
  put("b/2.jpg");
  const auto key = [&](const ImageFolderSpec& spec) { return open(spec, 2).train->cache_key(); };
  const std::string before = key(spec());
  EXPECT_EQ(key(spec()), before);
  ImageFolderSpec ignore = spec();
  ignore.exif = Exif::kIgnore;
  EXPECT_NE(key(ignore), before);
  const auto file = folder_.file("a/1101.jpg");
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::milliseconds(1));
  EXPECT_NE(key(spec()), before);
}

TEST_F(ImageFolders, FingerprintChangesWithTheData) {
  put("a/1.jpg");
  put("b/2.jpg");
  const auto print = [&] { return open(spec(), 2).train->fingerprint(); };
  const std::string before = print();
  EXPECT_EQ(print(), before);
  put("b/2.jpg", text_bytes("no imagf"));
  EXPECT_NE(print(), before);
  put("b/2.jpg");
  EXPECT_EQ(print(), before);
  fs::rename(folder_.file("b/2.jpg"), folder_.file("b/3.jpg"));
  EXPECT_NE(print(), before);
}

TEST_F(ImageFolders, SplitAndTake) {
  for (int i = 0; i < 20; ++i) put((i < 10 ? "a/" : "b/") + std::to_string(i) + ".jpg", jpeg_bytes(gradient(8, 8)));
  DatasetConfig datasets;
  ImageFolderSpec train = spec();
  train.take = 16;
  datasets.train = dataset_family().make(train);
  SplitSpec split;
  split.fraction = 0.25;
  split.stratified = true;
  datasets.validation = dataset_family().make(split);
  const Sources sources = open_sources(datasets, model_of({8, 8, 3}, {2}), 3);
  EXPECT_EQ(sources.train->size(), 12);
  EXPECT_EQ(sources.validation->size(), 4);
  EXPECT_EQ(sources.train->bad_samples(), sources.validation->bad_samples());
  Array out;
  sources.validation->read(3, 0, out);
  EXPECT_EQ(out.shape, (Shape{8, 8, 3}));
}

TEST_F(ImageFolders, ManyFilesInAFolder) {
  const int count = tier::how_many(10000, 100000);
  const auto name = [](int i) { return fmt::format("a/{:06}.jpg", i); };
  fs::create_directories(folder_.file("a"));
  for (int i = 0; i < count; ++i) {
    FILE* const file = std::fopen(folder_.file(name(i)).c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fclose(file);
  }
  const auto source = open(spec(), 1).train;
  EXPECT_EQ(source->size(), count);
  EXPECT_TRUE(source->label_place(0).ends_with(name(0)));
  EXPECT_TRUE(source->label_place(count - 1).ends_with(name(count - 1)));
}

TEST_F(ImageFolders, ImagesWithoutLabels) {
  const std::string single = put("x.png", png_bytes(gradient(3, 4)));
  put("more/2.jpg");
  put("more/1.jpg");
  const auto source = open_images({single, folder_.file("more"), single}, {});
  EXPECT_EQ(source->label_type(), LabelType::kNone);
  EXPECT_THAT(files(*source), ElementsAre("x.png", "more/1.jpg", "more/2.jpg", "x.png"));
  Array out;
  source->read(3, 0, out);
  EXPECT_EQ(out.shape, (Shape{3, 4, 3}));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_images({folder_.file("none")}, {}); }), HasSubstr("no such file"));
  for (const char* same : {"more/", "more/.", "more/../more"})
    EXPECT_EQ(open_images({folder_.file(same)}, {})->size(), 2) << same;
}

// Loading with on_error

/// Ten good files and, in each class, some damaged ones.
class DamagedFolder : public ImageFolders {
 protected:
  void SetUp() override {
    for (int i = 0; i < 10; ++i)
      put((i % 2 == 0 ? "a/good" : "b/good") + std::to_string(i) + ".jpg", jpeg_bytes(gradient(8, 8 + i % 2)));
    const Bytes whole = jpeg_bytes(gradient(8, 8));
    put("a/cut.jpg", Bytes(whole.begin(), whole.begin() + 300));
    put("a/empty.jpg", {});
    put("b/notes.jpg", text_bytes("these are notes"));
  }
  /// Images of 8 x 8 fit, others are cropped.
  Loader make(const std::shared_ptr<const Source>& source, int workers, std::int64_t batch) const {
    LoaderOptions options;
    options.batch_size = batch;
    options.seed = 5;
    options.workers = workers;
    std::vector<config::Typed> transforms{transform_family().make(CenterCropSpec{8, 8})};
    return Loader(source, Pipeline(transforms, false), model_of({8, 8, 3}, {2}),
                  {{.kind = nn::LabelKind::kClass, .width = 2}}, options);
  }
  struct Seen {
    std::vector<std::vector<std::int64_t>> batches;
    std::vector<float> values;
    std::vector<std::int64_t> ends;
    bool operator==(const Seen&) const = default;
  };
  static Seen read(Loader& loader, int epochs) {
    Seen seen;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
        seen.batches.push_back(batch.indices());
        seen.values.insert(seen.values.end(), batch.input(0), batch.input(0) + batch.rows() * 8 * 8 * 3);
        for (std::int64_t row = 0; row < batch.rows(); ++row)
          seen.values.push_back(static_cast<float>(static_cast<const std::int32_t*>(batch.labels())[row]));
        seen.ends.push_back(batch.end());
      }
      loader.next_epoch();
    }
    return seen;
  }
};

TEST_F(ImageFolders, IgnoresFilesWithSuffixesOfOtherFormats) {
  for (const char* name : {"a/1.jpg", "a/Thumbs.db", "a/notes.TXT", "b/2.weird", "b/3", "b/sub/labels.csv"}) put(name);
  EXPECT_THAT(files(*open(spec(), 2).train), ElementsAre("a/1.jpg", "b/2.weird", "b/3"));
  EXPECT_EQ(open_images({folder_.file("a")}, {})->size(), 1);
}

TEST_F(ImageFolders, RejectsFoldersOfDataSetsAsClasses) {
  for (const char* name : {"train/a/1.jpg", "train/b/2.jpg", "val/a/3.jpg", "val/b/4.jpg"}) put(name);
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(spec(), 2); }),
              HasSubstr("the folders train, val have the names of data sets, not of classes"));
  ImageFolderSpec meant = spec();
  meant.class_names = {"train", "val"};
  EXPECT_EQ(open(meant, 2).train->size(), 4);
}

TEST_F(ImageFolders, PhotosOfOtherSizesRequireResizing) {
  for (int i = 0; i < 6; ++i) put(fmt::format("{}/{}.png", i % 2 == 0 ? "a" : "b", i), png_bytes(gradient(12 + i, 20)));
  const auto loader = [&](const std::vector<config::Typed>& transforms, std::int64_t side = 8) {
    const auto source = open(spec({.skip = true}), 2, side).train;
    LoaderOptions options;
    options.batch_size = 2;
    return Loader(source, Pipeline(transforms, false), model_of({side, side, 3}, {2}),
                  {{.kind = nn::LabelKind::kClass, .width = 2}}, options)
        .samples();
  };
  EXPECT_THAT(
      error_of(ErrorKind::kData, [&] { loader({}); }),
      testing::AllOf(HasSubstr("the sizes of images differ from the 8x8 of the model: "), HasSubstr("a/0.png is 12x20"),
                     HasSubstr("add `Resizing: {height: 8, width: 8}` to data.transforms")));
  ResizingSpec resizing;
  resizing.height = resizing.width = 8;
  EXPECT_EQ(loader({transform_family().make(resizing)}), 6);
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { loader({transform_family().make(resizing)}, 16); }),
              testing::AllOf(HasSubstr("a/0.png (12x20) into 8x8, but the model expects 16x16"),
                             HasSubstr("write height: 16, width: 16"), HasSubstr("or change the Input to 8x8")));
  for (int i = 0; i < 30; ++i) put(fmt::format("a/fits{}.png", i), png_bytes(gradient(8, 8)));
  EXPECT_EQ(loader({}), 36);  // on_error covers a few images that do not fit
}

TEST_F(DamagedFolder, SkipDropsThemFromTheirBatches) {
  const auto source = open(spec({.skip = true}), 2).train;
  ASSERT_EQ(source->size(), 13);
  Loader loader = make(source, 1, 4);
  const Seen one = read(loader, 3);
  EXPECT_EQ(one.values.size(), 3U * 10U * (8 * 8 * 3 + 1));
  EXPECT_THAT(std::vector(one.ends.begin(), one.ends.begin() + 4), ElementsAre(4, 8, 12, 13));
  // The others keep the order of the epoch.
  std::vector<std::int64_t> order;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch)
    for (const std::int64_t index : Loader::order(13, {}, 5, epoch))
      if (source->label_place(index).find("good") != std::string::npos) order.push_back(index);
  std::vector<std::int64_t> delivered;
  for (const auto& batch : one.batches) delivered.insert(delivered.end(), batch.begin(), batch.end());
  EXPECT_EQ(delivered, order);

  const auto& all = source->bad_samples()->all();
  ASSERT_EQ(all.size(), 3U);  // each reported once in three epochs
  std::vector<std::string> described;
  for (const BadSample& bad : all)
    described.push_back(fs::path(bad.file).filename().string() + " " + std::to_string(bad.byte));
  EXPECT_THAT(described, testing::UnorderedElementsAre("cut.jpg 300", "empty.jpg 0", "notes.jpg 0"));

  for (const int workers : {2, 3, 7}) {
    const auto again = open(spec({.skip = true}), 2).train;
    Loader several = make(again, workers, 4);
    EXPECT_EQ(read(several, 3), one) << workers << " workers";
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(again->bad_samples()->all()[i].file, all[i].file) << workers << " workers";
  }
}

TEST_F(DamagedFolder, SkipsABatchWithoutRows) {
  const auto source = open(spec({.skip = true}), 2).train;
  Loader loader = make(source, 2, 1);
  const Seen seen = read(loader, 2);
  EXPECT_EQ(seen.batches.size(), 20U);
  std::vector<std::int64_t> ends(seen.ends.begin(), seen.ends.begin() + 10);
  EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
  EXPECT_EQ(loader.batches_per_epoch(), 13);
  // Resuming after any batch gives the same rest.
  for (std::size_t i = 0; i < 10; ++i) {
    loader.seek(0, ends[i]);
    for (std::size_t next = i + 1; next < 10; ++next) EXPECT_EQ(loader.next().indices(), seen.batches[next]);
    EXPECT_EQ(loader.next().rows(), 0);
    EXPECT_EQ(loader.next().rows(), 0);
  }
}

TEST_F(DamagedFolder, FailNamesFileAndByte) {
  for (const int workers : {1, 4}) {
    const auto source = open(spec(), 2).train;
    Loader loader = make(source, workers, 2);
    std::string message;
    for (int i = 0; i < 2; ++i) {  // a repeated call fails again
      const std::string found = error_of(ErrorKind::kData, [&] { read(loader, 1); });
      if (i > 0) {
        EXPECT_EQ(found, message);
      }
      message = found;
    }
    EXPECT_EQ(source->bad_samples()->all().size(), 1U);
    EXPECT_THAT(message, testing::StartsWith(source->bad_samples()->all().front().str()));
    EXPECT_THAT(message, EndsWith("(on_error: skip leaves such files out)"));
  }
}

TEST_F(DamagedFolder, Limits) {
  const auto error = [&](const OnError& policy) {
    const auto source = open(spec(policy), 2).train;
    Loader loader = make(source, 3, 4);
    return error_of(ErrorKind::kData, [&] { read(loader, 1); });
  };
  EXPECT_THAT(error({.skip = true, .max_count = 2}),
              HasSubstr("3 of 13 files cannot be read, more than on_error allows (2); the last one: "));
  EXPECT_THAT(error({.skip = true, .max_fraction = 0.2}), HasSubstr("more than on_error allows (20 %)"));
  for (const OnError& policy : {OnError{.skip = true, .max_count = 3}, OnError{.skip = true, .max_fraction = 0.25}}) {
    const auto source = open(spec(policy), 2).train;
    Loader loader = make(source, 3, 4);
    EXPECT_EQ(read(loader, 2).values.size(), 2U * 10U * (8 * 8 * 3 + 1));
  }
}

TEST_F(ImageFolders, RejectsImagesThatDoNotFitTheModel) {
  put("a/1.jpg", jpeg_bytes(gradient(8, 8)));
  put("b/1.jpg", jpeg_bytes(gradient(8, 8)));
  put("a/small.jpg", jpeg_bytes(gradient(1, 1)));
  const auto source = open(spec({.skip = true}), 2).train;
  LoaderOptions options;
  options.batch_size = 4;
  Loader loader(source, {}, model_of({8, 8, 3}, {2}), {{.kind = nn::LabelKind::kClass, .width = 2}}, options);
  EXPECT_EQ(loader.next().rows(), 2);
  const auto& all = source->bad_samples()->all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all.front().file.ends_with("small.jpg"));
  EXPECT_EQ(all.front().byte, -1);
  EXPECT_THAT(all.front().reason, HasSubstr("1x1x3"));
}

TEST_F(ImageFolders, NoSampleAtAll) {
  for (const char* name : {"a/1.jpg", "a/2.jpg", "b/1.jpg"}) put(name);
  const auto source = open(spec({.skip = true}), 2).train;
  LoaderOptions options;
  options.batch_size = 2;
  Loader loader(source, {}, model_of({8, 8, 3}, {2}), {{.kind = nn::LabelKind::kClass, .width = 2}}, options);
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { loader.next(); }),
              AllOf(HasSubstr("none of the 3 samples can be read; the last one: "), HasSubstr("a text file")));
  EXPECT_EQ(source->bad_samples()->all().size(), 3U);
}

}  // namespace
}  // namespace dptrain::data
