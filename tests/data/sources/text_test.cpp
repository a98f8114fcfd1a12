// Folders of texts: samples, fitting of the vocabulary, unreadable files.

#include <gmock/gmock.h>

#include <filesystem>

#include "data/encoders/columns.h"
#include "data/image_files.h"
#include "data/sources/split.h"
#include "data/sources/text.h"

namespace dptrain::data {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class TextFolders : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(folder_.file(name)).parent_path());
    write_plain(folder_.file(name), text_bytes(text));
  }
  TextSpec spec(const std::string& arguments = "{output_sequence_length: 3}") const {
    TextSpec made;
    made.directory.value = folder_.file("");
    static_cast<config::Typed&>(made.vectorization) = encoder("TextVectorization: " + arguments);
    return made;
  }
  static Sources open(const TextSpec& spec, const std::string& fitted_state = "") {
    DatasetConfig datasets;
    datasets.train = dataset_family().make(spec);
    ModelSide model = model_of({3}, {2});
    model.fitted_state = fitted_state;
    return open_sources(datasets, model, 3);
  }
  static std::vector<std::int32_t> ids(const Source& source, std::int64_t index) {
    std::vector<std::int32_t> out(static_cast<std::size_t>(source.input_shape(0)[0]), -7);
    source.read_exact(index, 0, DType::kI32, out.data());
    return out;
  }

  TempFolder folder_;
};

TEST_F(TextFolders, ClassesAreFoldersAndSamplesTheirTextFilesInOrder) {
  put("b/1.txt", "x y");
  put("b/more/0.TXT", "y");
  put("a/2.txt", "y z, Z!");
  put("a/10.txt", "");
  put("a/notes.md", "q q q q");
  const Sources sources = open(spec());
  const Source& train = *sources.train;
  EXPECT_THAT(train.class_names(), ElementsAre("a", "b"));
  ASSERT_EQ(train.size(), 4);
  EXPECT_EQ(train.input_shape(0), Shape({3}));
  EXPECT_TRUE(train.can_read_exact(0, DType::kI32));
  EXPECT_THAT(ids(train, 0), ElementsAre(0, 0, 0)) << "10.txt precedes 2.txt";
  EXPECT_THAT(ids(train, 1), ElementsAre(2, 3, 3));
  EXPECT_THAT(ids(train, 2), ElementsAre(4, 2, 0));
  EXPECT_EQ(train.label_class(1, 0), 0);
  EXPECT_EQ(train.label_class(3, 0), 1);
  EXPECT_THAT(train.label_place(3, 0), HasSubstr("b/more/0.TXT"));
}

TEST_F(TextFolders, FitsWordsOnlyToTheTrainingSamples) {
  for (int i = 0; i < 20; ++i) put("a/" + std::to_string(i) + ".txt", "own" + std::to_string(i));
  put("b/0.txt", "other");
  DatasetConfig datasets;
  datasets.train = dataset_family().make(spec("{output_sequence_length: 1}"));
  SplitSpec split;
  split.of = "train";
  split.fraction = 0.5;
  datasets.validation = dataset_family().make(split);
  const Sources sources = open_sources(datasets, model_of({1}, {2}), 3);
  for (std::int64_t i = 0; i < sources.train->size(); ++i) EXPECT_GE(ids(*sources.train, i)[0], 2);
  ASSERT_GT(sources.validation->size(), 0);
  for (std::int64_t i = 0; i < sources.validation->size(); ++i) EXPECT_EQ(ids(*sources.validation, i)[0], 1);
}

TEST_F(TextFolders, ReadsOtherTextsWithTheFittedVocabulary) {
  put("a/0.txt", "y y x");
  put("b/0.txt", "x");
  const std::string fitted_state = open(spec()).fitted_state;
  put("a/0.txt", "new x");
  EXPECT_THAT(ids(*open(spec(), fitted_state).train, 0), ElementsAre(1, 3, 0));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open(spec("{output_sequence_length: 4}"), fitted_state); }),
              HasSubstr("not that of the model's training"));
  EXPECT_THAT(error_of(ErrorKind::kCheckpoint, [&] { open(spec(), R"({"data_set": "CSV"})"); }),
              HasSubstr("CSV, not Text"));
  EXPECT_THAT(error_of(ErrorKind::kCheckpoint, [&] { open(spec(), "{"); }), HasSubstr("cannot be read"));
}

TEST_F(TextFolders, TextsWithoutLabelsHaveTheSameSuffixes) {
  put("a/0.txt", "x");
  put("b/1.TXT", "y");
  const std::string fitted_state = open(spec()).fitted_state;
  EXPECT_EQ(open_texts({folder_.file("")}, spec(), fitted_state)->size(), 2);
}

TEST_F(TextFolders, ReturnsFloatsInModesOtherThanInt) {
  put("a/0.txt", "y y x");
  put("b/0.txt", "q");
  const Sources sources = open(spec("{output_mode: count, max_tokens: 3}"));
  EXPECT_FALSE(sources.train->can_read_exact(0, DType::kI32));
  Array array;
  sources.train->read(0, 0, array);
  EXPECT_EQ(array.shape, Shape({3}));
  EXPECT_THAT(array.f32, ElementsAre(0, 2, 1));
}

TEST_F(TextFolders, RejectsOrSkipsTextsThatAreNotUtf8) {
  put("a/0.txt", "y na\xEFve");
  put("b/0.txt", "x");
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(spec()); }),
              testing::AllOf(HasSubstr("a/0.txt"), HasSubstr("byte 4 of the text, 0xef, is not UTF-8")));
  TextSpec skips = spec();
  skips.on_error.skip = true;
  const Sources sources = open(skips);
  EXPECT_THROW(ids(*sources.train, 0), SampleError);
  EXPECT_THAT(ids(*sources.train, 1), ElementsAre(2, 0, 0)) << "the vocabulary has no words of the other file";
}

TEST_F(TextFolders, RejectsNumericEncoders) {
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const auto text =
      config::SourceText::check("Text: {directory: x, vectorization: Normalization}", "test.yaml", "", diagnostics);
  dataset_family().read(config::parse_yaml(*text, diagnostics), reader);
  EXPECT_THAT(diagnostics.render(ErrorKind::kUsage), HasSubstr("vectorization must be an encoder of texts"));
}

}  // namespace
}  // namespace dptrain::data
