// Reading the files of predict in place of a data set's own files.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "data/fixtures.h"
#include "data/sources/cifar10.h"
#include "data/sources/dataset.h"
#include "data/sources/idx_source.h"
#include "data/sources/join.h"
#include "data/sources/numpy.h"
#include "data/sources/predict.h"
#include "data/sources/text.h"
#include "data/sources/windows.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of_predict(const PredictFiles& files, const Shape& input = {2, 3, 1}) {
  return error_of(ErrorKind::kUsage, [&] { open_for_predict(files, model_of(input, {2})); });
}

TEST(PredictFilesOf, AllDataSetsExceptTheseAreSupported) {
  std::vector<std::string> unread;
  for (const config::TypeDef* type : dataset_family().types())
    if (!static_cast<const DatasetDef&>(*type).open_for_predict) unread.push_back(type->name);
  EXPECT_THAT(unread, ElementsAre("CIFAR10", "FixedRecords", "Split", "Synthetic"));
}

TEST(PredictFilesOf, DetectsArraysByTheirFirstBytes) {
  const TempFolder folder;
  const std::string images = write_plain(folder.file("images"), idx_bytes(0x08, {2, 2, 3}, Bytes(12, 7)));
  for (const std::vector<config::Typed>& sets :
       {std::vector<config::Typed>{}, std::vector{dataset_family().make(CIFAR10Spec{})}}) {
    const PredictSource found = open_for_predict({.paths = {images}, .sets = sets}, model_of({2, 3, 1}, {2}));
    EXPECT_EQ(found.key, "index");
    EXPECT_EQ(found.samples, 2);
    EXPECT_FALSE(found.label_scales);
    ASSERT_NE(found.next(), nullptr);
    EXPECT_EQ(found.next(), nullptr) << "all samples at once";
  }
  EXPECT_EQ(error_of_predict({.paths = {images, images}}),
            "--input " + images + ": an IDX file must be the only input, found 2");
  EXPECT_EQ(error_of_predict({.paths = {images}, .skip = true}),
            "--on-error applies to files of images or clips and to rows of tables, but --input is an IDX file");
  const std::string archive = write_plain(folder.file("a.npz"), {'P', 'K', 3, 4, 0, 0});
  EXPECT_THAT(error_of_predict({.paths = {archive}}), HasSubstr("but this model was not trained on Numpy"));
}

TEST(PredictFilesOf, RejectsFilesOfAnotherDataSet) {
  const TempFolder folder;
  const std::string config = write_plain(folder.file("a.yaml"), {'a'});
  const config::Typed texts = dataset_family().make(TextSpec{});
  EXPECT_EQ(error_of_predict({.paths = {config}, .sets = {texts}}),
            "--input " + config + ": it is a config, but this model expects files of texts");
  EXPECT_EQ(error_of_predict({.paths = {"-"}}),
            "--input -: only rows of tables and lines of text can be read from stdin, and this model expects neither");
  EXPECT_EQ(error_of_predict({.paths = {config + "x"}, .sets = {texts}, .passthrough = {.all = true}}),
            "--keep copies columns of tables, and this model was not trained on a table");
}

TEST(PredictFilesOf, OneDataSetReadsOtherFilesOfEachRank) {
  for (int rank = 1; rank <= 5; ++rank) {
    const ModelSide model = model_of(Shape(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 3)), {2});
    int fitting = 0;
    for (const config::TypeDef* type : dataset_family().types()) {
      const PredictTraits& traits = static_cast<const DatasetDef&>(*type).predict;
      fitting += traits.fits != nullptr && traits.fits(model) ? 1 : 0;
    }
    EXPECT_EQ(fitting, 1) << "rank " << rank;
  }
}

TEST(PredictFilesOf, RejectsWindowsAsPartOfAJoin) {
  WindowsSpec windows;
  windows.of = dataset_family().make(IDXSpec{});
  JoinSpec spec;
  spec.of.parts = {{"a", dataset_family().make(windows)}};
  EXPECT_THAT(error_of_predict({.paths = {"x"}, .sets = {dataset_family().make(spec)}}),
              HasSubstr("the Windows part of the model's Join, which predict does not read"));
}

TEST(PredictFilesOf, WindowsOfArraysHaveScales) {
  const TempFolder folder;
  WindowsSpec windows;
  NumpySpec arrays;
  arrays.inputs.entries = {{.name = "", .array = "", .path = {"series.npy"}}};
  windows.of = dataset_family().make(arrays);
  windows.sequence_length = 2;
  windows.mean = {1};
  windows.variance = {4};
  const std::string series = write_plain(folder.file("series"), idx_bytes(0x08, {4, 1}, {1, 3, 5, 7}));
  const PredictSource found =
      open_for_predict({.paths = {series}, .sets = {dataset_family().make(windows)}}, model_of({2, 1}, {1}));
  EXPECT_EQ(found.samples, 3);
  ASSERT_TRUE(found.label_scales);
  EXPECT_EQ(found.label_scales(1).front().deviation, 2);
}

TEST(PredictFilesOf, AJoinReadsAFileForEachPart) {
  const TempFolder folder;
  const auto idx = [](const std::string& name) {
    IDXSpec spec;
    spec.inputs.paths = {{name, {"elsewhere"}}};
    return dataset_family().make(spec);
  };
  JoinSpec spec;
  spec.of.parts = {{"", idx("a")}, {"b", idx("")}};
  const std::string a = write_plain(folder.file("a"), idx_bytes(0x08, {2, 3}, Bytes(6, 1)));
  const std::string b = write_plain(folder.file("b"), idx_bytes(0x08, {2, 1}, Bytes(2, 1)));
  const PredictSource found =
      open_for_predict({.paths = {a, b}, .sets = {dataset_family().make(spec)}}, model_of({3}, {2}));
  const auto joined = found.next();
  EXPECT_EQ(found.samples, 2);
  EXPECT_EQ(joined->input_name(0), "a");
  EXPECT_EQ(joined->input_name(1), "b");
  EXPECT_EQ(error_of_predict({.paths = {a}, .sets = {dataset_family().make(spec)}}),
            "the model was trained on a Join; give --input 2 times, in the order of its parts: IDX, b (IDX); found 1");
  spec.of.parts[1].set = dataset_family().make(CIFAR10Spec{});
  EXPECT_EQ(error_of_predict({.paths = {a, b}, .sets = {dataset_family().make(spec)}}),
            "--input " + b + ": this input is the CIFAR10 part of the model's Join, which predict does not read");
  EXPECT_EQ(error_of_predict({.paths = {"-", b}, .sets = {dataset_family().make(spec)}}),
            "--input -: this input is the IDX part of the model's Join, which is read from a file");
}

}  // namespace
}  // namespace dptrain::data
