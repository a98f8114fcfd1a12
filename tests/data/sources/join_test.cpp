// Joined data sets: inputs and labels of the parts, fitted state, names and sizes that do not fit, unreadable samples.

#include "data/sources/join.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "data/image_files.h"
#include "data/yaml_sets.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class JoinTest : public testing::Test {
 protected:
  JoinTest() {
    write("t.csv", "age,kind,weight\n1,a,0.5\n3,b,1\n5,a,2\n7,b,1\n");
    Bytes images;
    for (std::uint8_t i = 0; i < 4; ++i) images.insert(images.end(), {i, 10, 20, 30});
    write_array("images.npy", "(4, 2, 2)", images);
    write_array("labels.npy", "(4,)", {3, 2, 1, 0});
    write_array("three.npy", "(3, 1)", {1, 2, 3});
  }
  /// Bytes in the format of numpy.save().
  void write_array(const std::string& name, const std::string& shape, const Bytes& elements) const {
    const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }\n";
    Bytes bytes{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<std::uint8_t>(header.size()), 0};
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), elements.begin(), elements.end());
    write_plain(folder_.file(name), bytes);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.file(name)) << text; }
  Sources open(const std::string& train, const std::string& validation = "", const ModelSide& model = {}) const {
    DatasetConfig config;
    config.train = data_set_of(train, folder_.file(""));
    if (!validation.empty()) config.validation = data_set_of(validation, folder_.file(""));
    return open_sources(config, model, 0);
  }
  std::string refusal(const std::string& train, ErrorKind kind = ErrorKind::kUsage) const {
    return error_of(kind, [&] { open(train); });
  }
  static std::vector<float> numbers(const Source& source, std::int64_t index, int input) {
    Array array;
    source.read(index, input, array);
    return array.type == DType::kF32 ? array.f32 : std::vector<float>(array.u8.begin(), array.u8.end());
  }

  TempFolder folder_;
};

constexpr const char* kTableAndImages =
    "Join: {of: {facts: {CSV: {file: FOLDERt.csv, inputs: age, labels: kind, sample_weight: weight}}, image: {Numpy: "
    "{inputs: FOLDERimages.npy}}}}";

TEST_F(JoinTest, ForwardsMasks) {
  for (const char* name : {"photos", "masks"}) std::filesystem::create_directories(folder_.file(name));
  for (std::uint8_t i = 0; i < 4; ++i) {
    write_plain(folder_.file("photos/" + std::to_string(i) + ".png"), png_bytes(gradient(2, 3)));
    write_plain(folder_.file("masks/" + std::to_string(i) + ".png"), png_mask(2, 3, 8, Bytes(6, i)));
  }
  const auto source = open(
                          "Join: {of: {facts: {CSV: {file: FOLDERt.csv, inputs: age}}, photo: {ImageMasks: {images: "
                          "FOLDERphotos, masks: FOLDERmasks, class_names: [a, b, c, d]}}}}")
                          .train;
  ASSERT_EQ(source->labels(), 1);
  EXPECT_EQ(source->label_type(), LabelType::kMap);
  EXPECT_EQ(source->label_width(), 0);
  EXPECT_EQ(source->class_names().size(), 4U);
  EXPECT_EQ(source->peek_label_map(3), (Shape{2, 3, 1}));
  EXPECT_EQ(source->label_map_place(3), folder_.file("masks/3.png"));
  Array mask;
  source->read_label_map(3, mask);
  EXPECT_EQ(mask.u8, Bytes(6, 3));
}

TEST_F(JoinTest, JoinsRowsByIndex) {
  const Sources sources = open(kTableAndImages, "Split: {fraction: 0.25, shuffle: false}");
  const Source& train = *sources.train;
  ASSERT_EQ(train.size(), 3);
  ASSERT_EQ(train.inputs(), 2);
  EXPECT_EQ(train.input_name(0), "facts");
  EXPECT_EQ(train.input_name(1), "image");
  EXPECT_EQ(train.input_shape(0), Shape({1}));
  EXPECT_EQ(train.input_shape(1), Shape({2, 2}));
  EXPECT_THAT(numbers(train, 1, 0), ElementsAre(0));  // 3, where the training rows are 1, 3, 5
  EXPECT_THAT(numbers(train, 2, 1), ElementsAre(2, 10, 20, 30));
  ASSERT_EQ(train.labels(), 1);
  EXPECT_EQ(train.label_class(1), 1);
  EXPECT_THAT(train.class_names(), ElementsAre("a", "b"));
  EXPECT_EQ(train.sample_weight(2), 2);
  EXPECT_THAT(train.label_place(0), HasSubstr("t.csv:2"));
  EXPECT_THAT(train.column_lines(), ElementsAre(HasSubstr("facts: age")));
  ASSERT_NE(train.u8_rows(1), nullptr);
  EXPECT_EQ(train.u8_rows(1)[4 * train.row(2)], 2);
  EXPECT_EQ(train.u8_rows(0), nullptr);
  EXPECT_THAT(numbers(*sources.validation, 0, 1), ElementsAre(3, 10, 20, 30));
}

TEST_F(JoinTest, CheckpointsKeepTheFittedStateOfParts) {
  const Sources sources = open(kTableAndImages);
  write("t.csv", "kind,age,weight\nb,9,1\nb,9,1\na,1,1\na,1,1\n");
  ModelSide model;
  model.fitted_state = sources.fitted_state;
  EXPECT_EQ(numbers(*open(kTableAndImages, "", model).train, 2, 0), numbers(*sources.train, 0, 0));
  model.fitted_state = R"({"data_set":"CSV","parts":[]})";
  EXPECT_THAT(error_of(ErrorKind::kCheckpoint, [&] { open(kTableAndImages, "", model); }),
              HasSubstr("the model was trained on a CSV"));
}

TEST_F(JoinTest, TwoModelInputsGetTheirParts) {
  ModelSide model;
  model.input_names = {"image", "facts"};
  model.input_shapes = {Shape{2, 2, 1}, Shape{2}};
  const Sources sources =
      open("Join: {of: {facts: {CSV: {file: FOLDERt.csv, labels: kind}}, image: {Numpy: {inputs: FOLDERimages.npy}}}}",
           "", model);
  EXPECT_EQ(sources.train->input_shape(0), Shape({2}));  // all other columns, although the model has several inputs
}

TEST_F(JoinTest, TakesLabelsFromPartsThatHaveThem) {
  const char* const two =
      "Join: {of: {facts: {CSV: {file: FOLDERt.csv, inputs: age, labels: kind}}, image: {Numpy: {inputs: "
      "FOLDERimages.npy, "
      "labels: FOLDERlabels.npy}}}";
  EXPECT_THAT(refusal(std::string(two) + "}"),
              HasSubstr("test.yaml:1:1: error: Join: part 'facts' (CSV) and part 'image' (Numpy) both have a label; "
                        "select the part with the labels"));
  EXPECT_EQ(open(std::string(two) + ", labels: image}").train->label_class(0), 3);
  const Sources named = open(
      "Join: [{CSV: {file: FOLDERt.csv, inputs: {age: age}, labels: {what: kind}}}, {Numpy: {inputs: {image: "
      "FOLDERimages.npy}, labels: {digit: FOLDERlabels.npy}}}]");
  ASSERT_EQ(named.train->labels(), 2);
  EXPECT_EQ(named.train->label_name(1), "digit");
  EXPECT_EQ(named.train->label_class(1, 1), 2);
}

TEST_F(JoinTest, NamesTheInputThatDoesNotFit) {
  EXPECT_THAT(refusal("Join: [{CSV: {file: FOLDERt.csv, inputs: {x: age}, labels: kind}}, {Numpy: {inputs: {x: "
                      "FOLDERimages.npy}}}]"),
              HasSubstr("part 1 (CSV) and part 2 (Numpy) both have an input 'x'; rename one of them"));
  EXPECT_THAT(refusal("Join: [{CSV: {file: FOLDERt.csv, inputs: {x: age}}}, {Numpy: {inputs: FOLDERimages.npy}}]"),
              HasSubstr("part 2 (Numpy) has an input without a name; write of: {NAME: {...}, ...}"));
}

TEST_F(JoinTest, NamesPartsOfDifferentSizes) {
  EXPECT_THAT(refusal("Join: {of: {a: {CSV: {file: FOLDERt.csv, inputs: age}}, b: {Numpy: {inputs: FOLDERthree.npy}}}}",
                      ErrorKind::kData),
              HasSubstr("part 'a' (CSV) has 4 samples, part 'b' (Numpy) 3; row i of all parts is one sample"));
  EXPECT_EQ(
      open("Join: {of: {a: {CSV: {file: FOLDERt.csv, inputs: age, take: 3}}, b: {Numpy: {inputs: FOLDERthree.npy}}}}")
          .train->size(),
      3);
}

TEST_F(JoinTest, RejectsSkippedRowsOfAPart) {
  write("t.csv", "age,kind\n1,a\nx,b\n5,a\n7,b\n9,a\n");
  EXPECT_THAT(
      refusal("Join: {of: {a: {CSV: {file: FOLDERt.csv, inputs: age, labels: kind, columns: {age: Normalization}, "
              "on_error: skip}}, b: {Numpy: {inputs: FOLDERimages.npy}}}}",
              ErrorKind::kData),
      HasSubstr("error: CSV: skipping 1 row would shift later rows against the other parts; repair the data: "));
}

TEST_F(JoinTest, SkipsSamplesWithAnUnreadableImage) {
  std::filesystem::create_directories(folder_.file("img/a"));
  for (const char* name : {"1.png", "2.png", "3.png", "4.png"})
    write_plain(folder_.file(std::string("img/a/") + name), png_bytes(gradient(4, 4)));
  write("img/a/2.png", "no image");
  const std::string parts =
      "Join: {of: {photo: {ImageFolder: {directory: FOLDERimg, on_error: skip}}, facts: {CSV: {file: FOLDERt.csv, "
      "inputs: age, labels: kind";
  const Sources sources = open(parts + "}}}, labels: facts}");
  ASSERT_NE(sources.train->bad_samples(), nullptr);
  EXPECT_TRUE(sources.train->bad_samples()->skips());
  Array image;
  EXPECT_THROW(sources.train->read(1, 0, image), SampleError);
  EXPECT_EQ(sources.train->label_class(1), 1);
  EXPECT_THAT(refusal(parts + ", on_error: {skip: 3}}}}, labels: facts}"),
              HasSubstr("have different on_error; a sample is skipped as a whole, so write the same for both"));
}

TEST_F(JoinTest, RejectsInvalidConfigs) {
  const auto wrong = [&](const std::string& yaml) {
    config::Diagnostics diagnostics;
    config::Reader reader(diagnostics);
    const auto text = config::SourceText::check(yaml, "test.yaml", "", diagnostics);
    dataset_family().read(config::parse_yaml(*text, diagnostics), reader);
    return diagnostics.render();
  };
  EXPECT_THAT(wrong("Join: {of: [{Numpy: {inputs: a.npy}}]}"),
              HasSubstr("of must name two data sets or more, found 1"));
  EXPECT_THAT(wrong("Join: {of: [{Numpy: {inputs: a.npy}}, {Split: 0.2}]}"),
              HasSubstr("of must be whole data sets, found a Split"));
  EXPECT_THAT(wrong("Join: {of: [{Numpy: {inputs: a.npy}}, {Numpy: {inputs: b.npy}}], labels: x}"),
              HasSubstr("labels names a part, so the parts need names"));
  EXPECT_THAT(wrong("Join: {of: {x: {Numpy: {inputs: a.npy}}, y: {Numpy: {inputs: b.npy}}}, labels: z}"),
              HasSubstr("labels must be one of the parts x, y, found 'z'"));
  EXPECT_THAT(wrong("Join: {of: 3}"), HasSubstr("a list of data sets, or {name: data set}"));
}

TEST_F(JoinTest, WrittenYamlReadsBackTheSame) {
  for (const char* yaml :
       {"Join: {of: {x: {Numpy: {inputs: FOLDERimages.npy}}, y: {Numpy: {inputs: FOLDERlabels.npy}}}}",
        "Join: {of: [{Numpy: {inputs: {x: FOLDERimages.npy}}}, {Numpy: {inputs: {y: FOLDERlabels.npy}}}]}"}) {
    const config::Typed set = data_set_of(yaml, folder_.file(""));
    const config::Typed again = data_set_of(config::to_yaml(set.write()), "");
    EXPECT_EQ(config::to_yaml(again.write()), config::to_yaml(set.write()));
    EXPECT_EQ(again.as<JoinSpec>().of.parts.size(), 2U);
  }
}

}  // namespace
}  // namespace dptrain::data
