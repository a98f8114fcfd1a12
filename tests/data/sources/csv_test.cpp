// Tables as data sets: columns as inputs, the rows that encoders are fitted to, labels, skipped rows, and tables of a
// fitted model.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "data/fixtures.h"
#include "data/sources/csv_layout.h"
#include "data/sources/csv_plan.h"
#include "data/sources/csv_stream.h"
#include "data/yaml_sets.h"

namespace dptrain::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

class CsvTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  /// The data set of `CSV: {...}`, FOLDER replaced.
  config::Typed data_set(const std::string& yaml) const { return data_set_of(yaml, folder_.file("")); }
  Sources open(const std::string& train, const ModelSide& model = {}, const std::string& test = "") const {
    DatasetConfig config;
    config.train = data_set(train);
    if (!test.empty()) config.test = data_set(test);
    return open_sources(config, model, 0);
  }
  static std::vector<float> row(const Source& source, std::int64_t index, int input = 0) {
    Array array;
    source.read(index, input, array);
    return array.f32;
  }
  static std::int32_t id(const Source& source, std::int64_t index, int input) {
    std::int32_t id = -1;
    source.read_exact(index, input, DType::kI32, &id);
    return id;
  }

  /// A model whose only output has a loss with this use of labels.
  static ModelSide model_for(LabelUse use, std::int64_t outputs = 1) {
    ModelSide model;
    model.output_names = {"y"};
    model.outputs = {Shape{outputs}};
    model.label_uses = {use};
    return model;
  }
  static float label(const Source& source, std::int64_t index) {
    if (source.label_type() == LabelType::kClass) return static_cast<float>(source.label_class(index));
    float value = 0;
    source.label_values(index, &value);
    return value;
  }

  TempFolder folder_;
};

constexpr const char* kPets =
    "name,age,kind,weight\n"
    "\"Rex, the old\",10,dog,20.5\n"
    "Tom,2,cat,\n"
    "Ada,6,dog,10.5\n"
    "Eve,2,,5\n";

TEST_F(CsvTest, NormalizesNumbersAndEncodesWordsOneHot) {
  write("pets.csv", kPets);
  const Sources sources =
      open("CSV: {file: FOLDERpets.csv, labels: age, columns: {name: Ignore, weight: Normalization}}");
  const Source& train = *sources.train;
  EXPECT_EQ(train.size(), 4);
  EXPECT_EQ(train.input_shape(0), Shape({5}));  // kind: unknown, dog, cat or "" in Keras's order; weight
  EXPECT_EQ(train.label_type(), LabelType::kValues);
  float age = 0;
  train.label_values(0, &age);
  EXPECT_EQ(age, 10);
  EXPECT_THAT(row(train, 0), ElementsAre(0, 1, 0, 0, FloatNear(1.52973F, 1e-4F)));
  EXPECT_THAT(row(train, 1), ElementsAre(0, 0, 1, 0, FloatNear(0, 1e-6F)));
  EXPECT_THAT(row(train, 3), ElementsAre(0, 0, 0, 1, testing::_));
  EXPECT_EQ(train.label_place(2), folder_.file("pets.csv") + ":4");
}

TEST_F(CsvTest, ClassesAreTheSortedWordsOfTheLabel) {
  write("a.csv", "x;y\n1;b\n2;a\n3;b\n");
  write("n.csv", "x,y\n1,10\n2,9\n3,10\n");
  const Sources words = open("CSV: {file: FOLDERa.csv, labels: y}");
  EXPECT_THAT(words.train->class_names(), ElementsAre("a", "b"));
  EXPECT_EQ(words.train->label_class(0), 1);
  const Sources numbers = open("CSV: {file: FOLDERn.csv, labels: y, columns: {y: StringLookup}}");
  EXPECT_THAT(numbers.train->class_names(), ElementsAre("9", "10"));
}

/// Rows "i,make(i)" below "x,y"; x has a fraction.
template <class F>
std::string rows_of(int n, const F& make) {
  std::string text = "x,y\n";
  for (int i = 0; i < n; ++i) text += fmt::format("{}.5,{}\n", i % 7, make(i));
  return text;
}

TEST_F(CsvTest, NumericLossesReadNumbers) {
  const ModelSide model = model_for(LabelUse::kNumbers);
  const auto open_with = [&](int every, const std::string& more = "") {
    write("t.csv", rows_of(60, [&](int i) { return i % every == 3 ? "oops" : std::to_string(3 * i); }));
    return open("CSV: {file: FOLDERt.csv, labels: y" + more + "}", model).train;
  };
  for (const int every : {60, 5})  // one bad cell, and so many that the sniffed rows contain words
    EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_with(every); }),
                HasSubstr("t.csv:5:5: column 'y': found 'oops', expected a number"));
  const auto skipping = open_with(60, ", on_error: skip");
  EXPECT_EQ(skipping->size(), 59);
  EXPECT_EQ(label(*skipping, 3), 12);
  ASSERT_EQ(skipping->bad_samples()->all().size(), 1U);
  EXPECT_THAT(skipping->bad_samples()->all()[0].file, HasSubstr("t.csv:5:5"));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open_with(60, ", on_error: skip, class_names: [a, b]"); }),
              HasSubstr("class_names are names of classes, but the labels are numbers"));
  write("w.csv", rows_of(4, [](int i) { return i % 2 == 0 ? "yes" : "no"; }));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("CSV: {file: FOLDERw.csv, labels: y, on_error: skip}", model); }),
              HasSubstr("w.csv: no row can be read; the first one: "));
  // Words on purpose.
  EXPECT_EQ(label(*open("CSV: {file: FOLDERw.csv, labels: y}", model_for(LabelUse::kAny)).train, 0), 1);
}

TEST_F(CsvTest, ClassLossesReadWholeNumbersAsClasses) {
  const ModelSide model = model_for(LabelUse::kClasses, 3);
  write("t.csv", "x,y\n1.5,2\n2.5,0\n3,2\n");  // no 1: classes are not counted
  const Sources sources = open("CSV: {file: FOLDERt.csv, labels: y}", model, "CSV: {file: FOLDERt.csv, labels: y}");
  for (const Source* source : {sources.train.get(), sources.test.get()}) {
    EXPECT_EQ(source->label_type(), LabelType::kClass);
    EXPECT_EQ(source->label_class(0), 2);
    EXPECT_THAT(source->class_names(), testing::IsEmpty());
  }
  const auto with = [&](const std::string& more) {
    return open("CSV: {file: FOLDERt.csv, labels: y, " + more + "}", model).train;
  };
  EXPECT_THAT(with("class_names: [a, b, c]")->class_names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(with("class_names: [a, b, c]")->label_class(0), 2);
  EXPECT_THAT(with("class_names: ['2', '0', '1']")->class_names(), ElementsAre("2", "0", "1"));
  EXPECT_EQ(with("class_names: ['2', '0', '1']")->label_class(0), 0);
  const std::string order = "columns: {y: {StringLookup: {vocabulary: ['1', '2', '0']}}}";
  EXPECT_THAT(with(order)->class_names(), ElementsAre("1", "2", "0"));
  EXPECT_EQ(with(order)->label_class(0), 1);
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { with(order + ", class_names: [a, b, c]"); }),
              HasSubstr("class_names and the vocabulary of 'y' differ"));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { with("columns: {y: {Rescaling: 0.5}}"); }),
              HasSubstr("the label 'y' has "));

  write("u.csv", "x,y\n1.5,1\n2.5,3\n");
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("CSV: {file: FOLDERu.csv, labels: y}", model); }),
              HasSubstr("u.csv:3: column 'y': label 3 is outside 0..2 (the model has 3 outputs); `columns: {y: "
                        "StringLookup}` numbers"));
  write("v.csv", "x,y\n1.5,1\n2.5,0.5\n");
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("CSV: {file: FOLDERv.csv, labels: y}", model); }),
              HasSubstr("v.csv:3: column 'y': label 0.5 is not a class"));
  EXPECT_EQ(open("CSV: {file: FOLDERv.csv, labels: y, on_error: skip}", model).train->size(), 1);
  // Two columns are a row of numbers.
  EXPECT_EQ(open("CSV: {file: FOLDERt.csv, inputs: x, labels: [x, y]}", model).train->label_type(), LabelType::kValues);
}

TEST_F(CsvTest, AFewWordsInAColumnOfNumbersAreBadCells) {
  write(
      "t.csv", "x,y\n" + [] {
        std::string text;
        for (int i = 0; i < 60; ++i) text += fmt::format("{},{}\n", i == 3 ? "oops" : fmt::format("{}.5", i), i % 7);
        return text;
      }());
  const std::string yaml = "CSV: {file: FOLDERt.csv, labels: y, ";
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(yaml + "inputs: x}"); }),
              HasSubstr("t.csv:5:1: column 'x': found 'oops', expected a number; try `missing_values: [oops]`, or "
                        "`columns: {x: StringLookup}`"));
  EXPECT_EQ(open(yaml + "on_error: skip}").train->input_shape(0), Shape({1}));
  EXPECT_EQ(open(yaml + "missing_values: [oops]}").train->size(), 60);
  EXPECT_EQ(open(yaml + "columns: {x: StringLookup}}").train->input_shape(0), Shape({61}));
}

constexpr const char* kGerman =
    "laenge;breite;datum;preis\n10,38;6,29;01.01.2024;37,43 \u20ac\n12;5,5;13.01.2024;1.040,50 \u20ac\n";

TEST_F(CsvTest, CheckpointsKeepNumberFormats) {
  write("t.csv", kGerman);
  const std::string yaml = "CSV: {file: FOLDERt.csv, labels: preis, inputs: [laenge, breite]}";
  const Sources sources = open(yaml, model_for(LabelUse::kNumbers), yaml);
  EXPECT_EQ(label(*sources.train, 1), 1040.5F);
  EXPECT_EQ(label(*sources.test, 1), 1040.5F);
  EXPECT_EQ(nlohmann::json::parse(sources.fitted_state)["numbers"],
            nlohmann::json::parse(R"({"laenge": {"decimal": ","}, "breite": {"decimal": ","},
                                      "preis": {"decimal": ",", "thousands": ".", "sign": "\u20ac"}})"));

  ModelSide model;
  model.fitted_state = sources.fitted_state;
  const auto predicted = [&](const std::string& rows, const std::string& set) {
    write("new.csv", "laenge;breite\n" + rows);
    return row(*CsvStream(data_set(set).as<CSVSpec>(), model, folder_.file("new.csv")).next(9), 0);
  };
  EXPECT_EQ(predicted("10,38;6,29\n", yaml), row(*sources.train, 0));
  EXPECT_EQ(predicted("12;5,5\n", yaml), row(*sources.train, 1));  // no decimal mark in the column
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { predicted("10.38;6\n", yaml); }),
              HasSubstr("new.csv:2:1: column 'laenge': found '10.38', expected a number with a decimal comma; try "
                        "`decimal: \".\"`"));
  EXPECT_EQ(predicted("10.38;6.29\n", "CSV: {file: FOLDERt.csv, labels: preis, decimal: '.'}"), row(*sources.train, 0));
  const CsvPlan stream = plan_of_stream(data_set(yaml).as<CSVSpec>(), model);
  EXPECT_EQ(stream.schema.columns[0].numbers.decimal, ',');
  // A checkpoint without the key.
  auto before = nlohmann::json::parse(sources.fitted_state);
  before.erase("numbers");
  model.fitted_state = before.dump();
  EXPECT_EQ(predicted("10.38;6.29\n", yaml), row(*sources.train, 0));
}

TEST_F(CsvTest, AcceptsGivenNumberFormats) {
  write("t.csv", "x,y\n\"1,234\",1\n\"5,678\",2\n");
  const auto with = [&](const std::string& more) {
    return open("CSV: {file: FOLDERt.csv, labels: x" + more + "}", model_for(LabelUse::kNumbers)).train;
  };
  EXPECT_THAT(
      error_of(ErrorKind::kUsage, [&] { with(""); }),
      AllOf(HasSubstr("t.csv: column 'x': found '1,234'"), HasSubstr("write `decimal: \",\"` or `thousands: ")));
  EXPECT_EQ(label(*with(", decimal: ','"), 0), 1.234F);
  EXPECT_EQ(label(*with(", thousands: ','"), 0), 1234);
  EXPECT_EQ(label(*with(", thousands: none"), 0), 1.234F);
  EXPECT_THAT(
      error_of(ErrorKind::kUsage, [&] { with(", decimal: '.', thousands: none"); }),
      HasSubstr("t.csv: column 'x': found '1,234', which is not a number with the given `decimal` and `thousands`"));
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const auto text =
      config::SourceText::check("CSV: {file: a.csv, decimal: ',', thousands: ','}", "t.yaml", "", diagnostics);
  dataset_family().read(config::parse_yaml(*text, diagnostics), reader);
  EXPECT_THAT(diagnostics.render(ErrorKind::kUsage), HasSubstr("decimal and thousands are both"));
}

TEST_F(CsvTest, FitsOnlyToTheTrainingRows) {
  std::string text = "x,y\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i % 2 == 0 ? 0 : 10) + ".5,0\n";
  write("t.csv", text);
  DatasetConfig config;
  config.train = data_set("CSV: {file: FOLDERt.csv, labels: y}");
  config.validation = data_set("Split: {fraction: 0.3, shuffle: false}");
  write("u.csv", "y,x\n0,10.5\n");  // another order
  config.test = data_set("CSV: {file: FOLDERu.csv, labels: y}");
  const Sources sources = open_sources(config, {}, 0);
  const auto fitted_state = nlohmann::json::parse(sources.fitted_state);
  EXPECT_EQ(fitted_state["columns"][0]["learned"]["mean"], 5.5);
  EXPECT_EQ(sources.train->size(), 70);
  EXPECT_THAT(row(*sources.validation, 1), ElementsAre(1.0F));
  EXPECT_THAT(row(*sources.test, 0), ElementsAre(1.0F));

  // With the fitted state, no training file is needed.
  DatasetConfig only;
  only.test = config.test;
  ModelSide model;
  model.fitted_state = sources.fitted_state;
  EXPECT_THAT(row(*open_sources(only, model, 0).test, 0), ElementsAre(1.0F));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open_sources(only, {}, 0); }), HasSubstr("come from data.train"));
}

TEST_F(CsvTest, AnInputOfIdsGetsIds) {
  write("pets.csv", kPets);
  ModelSide model;
  model.input_names = {"animal", "rest"};
  model.input_types = {DType::kI32, DType::kF32};
  model.input_shapes = {Shape{1}, Shape{1}};
  const Sources sources = open(
      "CSV: {file: FOLDERpets.csv, labels: age, inputs: {animal: kind, rest: [weight]}, columns: {weight: "
      "Normalization}}",
      model);
  ASSERT_EQ(sources.train->inputs(), 2);
  EXPECT_TRUE(sources.train->can_read_exact(0, DType::kI32));
  EXPECT_FALSE(sources.train->can_read_exact(1, DType::kI32));
  EXPECT_EQ(sources.train->input_shape(0), Shape({1}));
  EXPECT_EQ(id(*sources.train, 0, 0), 1);
}

TEST_F(CsvTest, MatchesColumnsToInputsByName) {
  write("t.csv", "a,b,y\n1,2,3\n3,4,5\n");
  ModelSide model;
  model.input_names = {"b", "a"};
  model.input_shapes = {Shape{1}, Shape{1}};
  const Sources sources = open("CSV: {file: FOLDERt.csv, labels: y}", model);
  EXPECT_EQ(sources.train->input_name(0), "b");
  model.input_names = {"b", "c"};
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open("CSV: {file: FOLDERt.csv, labels: y}", model); }),
              HasSubstr("no column is called 'c'"));
}

TEST_F(CsvTest, RejectsOrSkipsRowsWithoutALabel) {
  write("t.csv", "x,y\n1,a\n2,\n3,b\n4,a\n");
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("CSV: {file: FOLDERt.csv, labels: y}"); }),
              HasSubstr("t.csv:3: column 'y': the label is missing"));
  const Sources sources = open("CSV: {file: FOLDERt.csv, labels: y, on_error: skip}");
  EXPECT_EQ(sources.train->size(), 3);
  EXPECT_EQ(sources.train->label_class(1), 1);
  ASSERT_EQ(sources.train->bad_samples()->all().size(), 1U);
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("CSV: {file: FOLDERt.csv, labels: y, on_error: {skip: 10%}}"); }),
              HasSubstr("1 of 4 rows cannot be read"));
}

TEST_F(CsvTest, NamesAnUnknownClass) {
  write("t.csv", "x,y\n1,cat\n2,dog\n");
  write("u.csv", "x,y\n1,cow\n");
  EXPECT_THAT(error_of(ErrorKind::kData,
                       [&] { open("CSV: {file: FOLDERt.csv, labels: y}", {}, "CSV: {file: FOLDERu.csv, labels: y}"); }),
              HasSubstr("u.csv:2: column 'y': 'cow' is not one of the 2 classes cat, dog"));
}

TEST_F(CsvTest, NamesAMissingColumnOrFillsIt) {
  write("t.csv", "x,z,y\n1,5,0.5\n3,7,1.5\n");
  write("u.csv", "x,y\n3,0.5\n");
  const std::string train = "CSV: {file: FOLDERt.csv, labels: y}";
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open(train, {}, "CSV: {file: FOLDERu.csv, labels: y}"); }),
              HasSubstr("has no column 'z'"));
  const Sources sources = open(train, {}, "CSV: {file: FOLDERu.csv, labels: y, missing_columns: true}");
  EXPECT_THAT(row(*sources.test, 0), ElementsAre(1, 0));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open("CSV: {file: FOLDERt.csv, labels: why}"); }),
              HasSubstr("labels names the column 'why', but"));
}

TEST_F(CsvTest, RejectsEncodersOtherThanTheFittedOnes) {
  write("t.csv", "x,y\n1,0.5\n3,1.5\n");
  ModelSide model;
  model.fitted_state = open("CSV: {file: FOLDERt.csv, labels: y}").fitted_state;
  EXPECT_THAT(
      error_of(ErrorKind::kCheckpoint,
               [&] { open("CSV: {file: FOLDERt.csv, labels: y, columns: {x: {Normalization: {mean: 3}}}}", model); }),
      HasSubstr("not those of the model's training"));
}

TEST_F(CsvTest, EachLabelHasItsOwnClasses) {
  write("t.csv", "x,kind,size,price\n1,dog,small,3\n2,cat,large,4\n");
  const Sources sources = open("CSV: {file: FOLDERt.csv, inputs: x, labels: {price: price, size: size, kind: kind}}");
  EXPECT_EQ(class_names_of(*sources.train).text(), "size: large, small; kind: cat, dog");
  const Sources named = open(
      "CSV: {file: FOLDERt.csv, inputs: x, labels: {size: size, kind: kind}, class_names: {size: [small, large]}}");
  EXPECT_EQ(class_names_of(*named.train).text(), "size: small, large; kind: cat, dog");
  EXPECT_THAT(error_of(ErrorKind::kUsage,
                       [&] {
                         open(
                             "CSV: {file: FOLDERt.csv, inputs: x, labels: {size: size, kind: kind}, "
                             "class_names: {sise: [small, large]}}");
                       }),
              HasSubstr("class_names names the label 'sise'; the data set has size, kind; did you mean 'size'?"));
  // Older checkpoints have one list for all labels.
  EXPECT_EQ(class_names_of_model(sources.fitted_state, {"large", "small"}).text(),
            "size: large, small; kind: cat, dog");
  EXPECT_EQ(class_names_of_model("", {"a", "b"}).text(), "a, b");
}

TEST_F(CsvTest, HandlesLabelsOtherThanThoseOfTheModel) {
  write("t.csv", "x,y,z\n1,0.5,a\n3,1.5,b\n");
  write("u.csv", "x,z\n5,b\n7,c\n");
  ModelSide model;
  model.fitted_state = open("CSV: {file: FOLDERt.csv, inputs: x, labels: y}").fitted_state;
  const std::string other = "CSV: {file: FOLDERt.csv, inputs: x, labels: z}";
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open(other, model); }),
              HasSubstr("the config's labels are z, the model was trained with y"));
  model.fitted_use = FittedUse::kResume;
  EXPECT_THAT(error_of(ErrorKind::kCheckpoint, [&] { open(other, model); }), HasSubstr("the config's labels are z"));
  for (const FittedUse use : {FittedUse::kInputs, FittedUse::kInputsIfPossible}) {
    model.fitted_use = use;  // labels are fitted to data.train and shared by its test set
    const Sources sources =
        open("CSV: {file: FOLDERu.csv, inputs: x, labels: z}", model, "CSV: {file: FOLDERu.csv, inputs: x, labels: z}");
    EXPECT_THAT(sources.train->class_names(), ElementsAre("b", "c"));
    EXPECT_THAT(sources.test->class_names(), ElementsAre("b", "c"));
    EXPECT_THAT(row(*sources.train, 0), ElementsAre(3));  // (5 - 2) / 1, as for the model's own data
    const auto fitted_state = nlohmann::json::parse(sources.fitted_state);
    EXPECT_EQ(fitted_state["labels"][0]["columns"][0], "z");
    EXPECT_EQ(fitted_state["columns"][0]["learned"]["mean"], 2);
  }
}

TEST_F(CsvTest, NumericLossesAcceptOnlyWordsWithAnOrder) {
  write("t.csv", "x,y\n1,low\n2,high\n");
  ModelSide model;
  model.output_names = {"y"};
  model.outputs = {Shape{1}};
  model.label_uses = {LabelUse::kNumbers};
  EXPECT_THAT(error_of(ErrorKind::kUsage,
                       [&] { open("CSV: {file: FOLDERt.csv, labels: y, columns: {y: StringLookup}}", model); }),
              HasSubstr("columns makes classes of the label 'y', but its loss compares numbers"));
  const Sources sources =
      open("CSV: {file: FOLDERt.csv, labels: y, columns: {y: {StringLookup: {vocabulary: [low, high]}}}}", model);
  EXPECT_EQ(sources.train->label_class(1), 1);
}

TEST_F(CsvTest, KeepsTheFittedVocabulary) {  // older versions ignored a label's vocabulary
  write("t.csv", "x,y\n1,b\n3,a\n");
  ModelSide model;
  model.fitted_state = open("CSV: {file: FOLDERt.csv, labels: y}").fitted_state;
  const Sources sources =
      open("CSV: {file: FOLDERt.csv, labels: y, columns: {y: {StringLookup: {vocabulary: [b, a]}}}}", model);
  EXPECT_THAT(sources.train->class_names(), ElementsAre("a", "b"));
}

TEST_F(CsvTest, NamesOfOneOfSeveralLabelsFitItsOutput) {
  write("t.csv", "x,kind,size\n1,a,s\n2,b,l\n3,c,s\n");
  ModelSide model;  // the other label is unused
  model.output_names = {"size"};
  model.outputs = {Shape{2}};
  EXPECT_THAT(open("CSV: {file: FOLDERt.csv, inputs: x, labels: {kind: kind, size: size}, class_names: {kind: [a, b, "
                   "c], size: [s, l]}}",
                   model)
                  .train->class_names(1),
              ElementsAre("s", "l"));
}

TEST_F(CsvTest, RejectsClassNamesOtherThanThoseOfTheModel) {
  write("t.csv", "x,y\n1,b\n3,a\n");
  ModelSide model;
  model.fitted_state = open("CSV: {file: FOLDERt.csv, labels: y}").fitted_state;
  EXPECT_THAT(
      error_of(ErrorKind::kUsage, [&] { open("CSV: {file: FOLDERt.csv, labels: y, class_names: [b, a]}", model); }),
      HasSubstr("class_names are b, a, the model was trained with a, b"));
}

TEST_F(CsvTest, WeightsOfAModelWithOtherColumns) {
  write("t.csv", "x,y\n1,0.5\n3,1.5\n");
  write("u.csv", "v,y\n10,0\n30,1\n");
  ModelSide model;
  model.fitted_state = open("CSV: {file: FOLDERt.csv, labels: y}").fitted_state;
  model.fitted_use = FittedUse::kInputs;
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("CSV: {file: FOLDERu.csv, labels: y}", model); }),
              HasSubstr("has no column 'x'"));
  model.fitted_use = FittedUse::kInputsIfPossible;
  const Sources sources = open("CSV: {file: FOLDERu.csv, labels: y}", model);
  EXPECT_THAT(row(*sources.train, 0), ElementsAre(-1));  // fitted again: (10 - 20) / 10
}

TEST_F(CsvTest, RejectsALabelThatWasAnInput) {
  write("t.csv", "x,y,z\n1,0.5,2\n3,1.5,4\n");
  ModelSide model;
  model.fitted_state = open("CSV: {file: FOLDERt.csv, labels: y}").fitted_state;
  model.fitted_use = FittedUse::kInputs;
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { open("CSV: {file: FOLDERt.csv, labels: z}", model); }),
              HasSubstr("labels names the column 'z', which is an input of the model"));
}

TEST_F(CsvTest, JoinsFilesOfAPatternAndReadsWeights) {
  write("part-2.csv", "x,y,w\n5,6,0.5\n");
  write("part-1.csv", "x,y,w\n1,2,2\n3,4,1\n");
  const Sources sources = open("CSV: {file: FOLDERpart-*.csv, labels: y, sample_weight: w}");
  EXPECT_EQ(sources.train->size(), 3);
  EXPECT_EQ(sources.train->input_shape(0), Shape({1}));
  EXPECT_EQ(sources.train->sample_weight(0), 2);
  EXPECT_EQ(sources.train->label_place(2), folder_.file("part-2.csv") + ":2");
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("CSV: {file: FOLDERnone-*.csv, labels: y}"); }),
              HasSubstr("no file matches"));
}

TEST_F(CsvTest, RejectsOrSkipsInvalidWeights) {
  write("missing.csv", "x,y,w\n1,2,2\n3,4,\n5,6,1\n");
  write("negative.csv", "x,y,w\n1,2,2\n3,4,-0.5\n5,6,1\n");
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("CSV: {file: FOLDERmissing.csv, labels: y, sample_weight: w}"); }),
              HasSubstr("missing.csv:3: column 'w': the sample weight is missing"));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open("CSV: {file: FOLDERnegative.csv, labels: y, sample_weight: w}"); }),
              HasSubstr("negative.csv:3: column 'w': the sample weight is -0.5; expected a number >= 0"));
  const Sources sources = open("CSV: {file: FOLDERnegative.csv, labels: y, sample_weight: w, on_error: skip}");
  EXPECT_EQ(sources.train->size(), 2);
  EXPECT_EQ(sources.train->sample_weight(1), 1);
}

TEST_F(CsvTest, StreamsEqualTheTableWithoutLabels) {
  write("pets.csv", kPets);
  const std::string yaml = "CSV: {file: FOLDERpets.csv, labels: age, columns: {name: Ignore, weight: Normalization}}";
  const Sources sources = open(yaml);
  ModelSide model;
  model.fitted_state = sources.fitted_state;
  write("new.csv", "weight,kind\n20.5,dog\n,cow\n5,cat\n");
  CsvStream stream(data_set(yaml).as<CSVSpec>(), model, folder_.file("new.csv"));
  const auto first = stream.next(2);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->size(), 2);
  EXPECT_EQ(row(*first, 0), row(*sources.train, 0));
  EXPECT_THAT(row(*first, 1), ElementsAre(1, 0, 0, 0, FloatNear(0, 1e-6F)));
  const auto second = stream.next(2);
  ASSERT_NE(second, nullptr);
  EXPECT_THAT(row(*second, 0), ElementsAre(0, 0, 1, 0, testing::_));
  EXPECT_EQ(second->label_place(0), folder_.file("new.csv") + ":4");
  EXPECT_EQ(stream.next(2), nullptr);
}

}  // namespace
}  // namespace dptrain::data
