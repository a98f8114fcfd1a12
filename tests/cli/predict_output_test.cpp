// Output of predict: its kind by path and model, the flags that fit it, and the files.

#include "cli/predict_output.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "config/family.h"
#include "core/error.h"
#include "core/files.h"
#include "data/images/mask.h"
#include "data/sources/image_folder.h"
#include "data/sources/image_masks.h"
#include "data/sources/npy.h"
#include "data/transforms/cropping.h"
#include "nn/loss.h"
#include "nn/losses.h"
#include "support/folder.h"

namespace dptrain::cli {
namespace {

using dptrain::test::Folder;
using testing::ElementsAre;
using testing::HasSubstr;

PredictedOutput classes_at(const Shape& shape, const std::string& name = "", bool from_logits = false) {
  nn::SparseCategoricalCrossentropySpec loss;
  loss.from_logits = from_logits;
  return {.name = name, .shape = shape, .classes = evaluation::Classes(nn::loss_family().make(loss), shape, {})};
}
PredictedOutput sigmoid_at(const Shape& shape) {
  return {.name = "",
          .shape = shape,
          .classes = evaluation::Classes(nn::loss_family().make(nn::BinaryCrossentropySpec{}), shape, {})};
}
PredictedOutput values_of(const Shape& shape) {
  return {.name = "", .shape = shape, .classes = evaluation::Classes({}, shape, {})};
}
PredictedOutput layer_of(const Shape& shape) {
  PredictedOutput output = values_of(shape);
  output.layer = "pool";
  return output;
}

const Shape kMap{4, 5, 3};

std::string refusal(const PredictOutputFlags& flags, const std::vector<PredictedOutput>& outputs) {
  try {
    check_output(output_kind(flags.output, outputs), flags, outputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}
std::string refused_path(const std::string& path, const PredictedOutput& output) {
  return refusal({.output = path}, {output});
}

TEST(PredictOutput, DependsOnThePathAndTheModel) {
  const Folder folder;
  const std::string existing = folder / "out.v1";
  std::filesystem::create_directory(existing);
  std::ofstream(folder / "preds") << "old";
  const auto kind = [](const std::optional<std::string>& path, const PredictedOutput& output) {
    return output_kind(path, {output});
  };
  for (const std::string& path :
       {std::string("masks"), std::string("masks/"), existing, folder / "preds", folder / "v1.5"})
    EXPECT_EQ(kind(path, classes_at(kMap)), OutputKind::kMasks) << path;
  EXPECT_EQ(kind("masks", sigmoid_at({4, 5, 1})), OutputKind::kMasks);
  EXPECT_EQ(kind(std::nullopt, classes_at(kMap)), OutputKind::kCsv);
  for (const char* const path : {"a.csv", "a.txt", "/dev/stdout"})
    EXPECT_EQ(kind(path, classes_at(kMap)), OutputKind::kCsv) << path;
  for (const PredictedOutput& other : {classes_at({3}), classes_at({5, 3}), values_of(kMap), layer_of(kMap)}) {
    EXPECT_EQ(kind("preds", other), OutputKind::kCsv);
    EXPECT_EQ(kind("preds.npy", other), OutputKind::kArrays);
    EXPECT_THAT(refused_path(existing, other), HasSubstr("give a .csv or .npy file"));
    EXPECT_THAT(refused_path("masks/", other), HasSubstr("--output masks/: a folder is for masks"));
  }
  EXPECT_EQ(kind("preds.npy", classes_at(kMap)), OutputKind::kArrays);
  for (const char* const path : {"masks.npz", "mask.png", "masks.h5"})
    EXPECT_THAT(refused_path(path, classes_at(kMap)), HasSubstr("give a folder for masks, or a .npy or .csv file"));
}

TEST(PredictOutput, RefusesFlagsThatDoNotFit) {
  EXPECT_EQ(refusal({.output = "masks"}, {classes_at({4, 5, 256})}), "");
  EXPECT_EQ(refusal({.output = "masks"}, {classes_at({4, 5, 257})}),
            "--output masks: a mask has at most 256 classes, the output has 257; give --output FILE.npy");
  EXPECT_THAT(refusal({.output = "masks", .probabilities = true}, {classes_at(kMap)}), HasSubstr("no probabilities"));
  EXPECT_THAT(refusal({.output = "a.npy", .top = 2}, {classes_at({3})}), HasSubstr("--top adds columns to a CSV file"));
  EXPECT_THAT(refusal({.output = "a.npy", .keep = {"x"}}, {values_of({3})}), HasSubstr("--keep adds columns"));
  EXPECT_THAT(refusal({.output = "a.csv", .overwrite = true}, {values_of({3})}), HasSubstr("--overwrite is for"));
  EXPECT_THAT(refusal({.top = 4}, {classes_at({3})}), HasSubstr("--top 4: the model has 3 classes"));
  EXPECT_THAT(refusal({.top = 1}, {classes_at(kMap)}), HasSubstr("one class per sample; this model has none"));
  EXPECT_THAT(refusal({.probabilities = true}, {values_of({3})}), HasSubstr("this model has none"));
  EXPECT_THAT(refusal({.probabilities = true}, {layer_of({3})}), HasSubstr("does not apply to --layer"));
  EXPECT_EQ(refusal({.output = "a.npy", .probabilities = true}, {classes_at(kMap)}), "");
}

TEST(PredictOutput, RefusesCsvOfManyPositions) {
  EXPECT_EQ(refusal({}, {classes_at({10, 25, 4})}), "");
  EXPECT_EQ(refusal({}, {classes_at({64, 64, 3})}),
            "the output has 64x64 positions of 3 classes, which are 12,288 columns of CSV; write the class of each "
            "position with --output masks/ (PNG files) or --output classes.npy, or add --probabilities to write the "
            "columns");
  EXPECT_THAT(refusal({.output = "a.csv"}, {classes_at({500, 3})}),
              HasSubstr("500 positions of 3 classes, which are 1,500 columns of CSV; write the class of each position "
                        "with --output classes.npy, or"));
  EXPECT_EQ(refusal({.probabilities = true}, {classes_at({64, 64, 3})}), "");
  EXPECT_EQ(refusal({}, {values_of({64, 64, 3})}), "");
  EXPECT_EQ(refusal({}, {layer_of({2000})}), "");
  EXPECT_THAT(refusal({.output = "x.csv"}, {layer_of({4, 5})}), HasSubstr("of the shape 4x5; give --output x.npy"));
}

TEST(PredictOutput, NamesAFilePerOutput) {
  EXPECT_EQ(array_path("out/a.npy", ""), "out/a.npy");
  EXPECT_EQ(array_path("out/a.npy", "kind"), "out/a-kind.npy");
  EXPECT_EQ(array_path("a.npy", "head/kind"), "a-head_kind.npy");
}

/// Writes rows of float32 values, by output and sample, as `samples` in two batches. Returns the text of finish().
std::string write(OutputKind kind, const PredictOutputFlags& flags, const std::vector<PredictedOutput>& outputs,
                  const std::vector<std::vector<std::vector<float>>>& values, const data::Source& samples,
                  const data::PredictSource& input = {}, const experiment::DataSection& data = {},
                  const data::Pipeline& pipeline = {}) {
  data::ModelSide model;
  model.input_shapes = {{4, 4, 3}};
  const auto writer = make_writer(kind, {flags, outputs, input, model, pipeline, data}, &samples);
  const std::size_t count = values.front().size();
  for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, count}}) {
    std::string rows;
    for (std::size_t i = first; i < last; ++i) {
      std::vector<const std::byte*> row;
      for (const auto& output : values) row.push_back(reinterpret_cast<const std::byte*>(output[i].data()));
      writer->add({.block = samples, .index = static_cast<std::int64_t>(i)}, row, rows);
    }
    writer->write(samples, rows);
  }
  return writer->finish(static_cast<std::int64_t>(count));
}

/// Photos of which only the headers are read.
std::shared_ptr<const data::Source> photos_in(const Folder& folder, const std::vector<std::string>& names,
                                              const std::string& size) {
  std::filesystem::create_directory(folder / "photos");
  for (const std::string& name : names) std::ofstream(folder / ("photos/" + name)) << "P6\n" << size << "\n255\n";
  return data::open_images({folder / "photos"}, {});
}

data::NpyArray read_array(const std::string& path) {
  return data::parse_npy(FileBytes::from_file(path, data::array_file_errors()), path);
}
std::vector<float> floats_of(const data::NpyArray& array) {
  std::vector<float> values(static_cast<std::size_t>(array.rows * array.row.elements()));
  data::read_npy(array, 0, array.rows, values.data());
  return values;
}

TEST(PredictOutput, WritesArrays) {
  const Folder folder;
  const auto photos = photos_in(folder, {"a.ppm"}, "1 1");
  const std::string path = folder / "a.npy";
  const std::vector<std::vector<float>> logits{{0, 9, 8, 1}, {2, 2, 1, 3}, {-1, -2, -4, -3}};  // [2, 1, 2]
  const PredictedOutput map = classes_at({2, 1, 2}, "", true);
  EXPECT_EQ(write(OutputKind::kArrays, {.output = path}, {map}, {logits}, *photos), path + " (3 rows)");
  data::NpyArray array = read_array(path);
  EXPECT_EQ(array.type(), "uint8");
  EXPECT_EQ(array.row, (Shape{2, 1}));
  EXPECT_THAT(floats_of(array), ElementsAre(1, 0, 0, 1, 0, 1));

  write(OutputKind::kArrays, {.output = path, .probabilities = true}, {map}, {logits}, *photos);
  array = read_array(path);
  EXPECT_EQ(array.type(), "float32");
  EXPECT_EQ(array.row, (Shape{2, 1, 2}));
  EXPECT_NEAR(floats_of(array)[6], 1 / (1 + std::exp(2.0)), 1e-6);
  write(OutputKind::kArrays, {.output = path, .probabilities = true}, {sigmoid_at({2, 1})}, {{{0.25F, 0.5F}, {1, 0}}},
        *photos);
  EXPECT_THAT(floats_of(read_array(path)), ElementsAre(0.75F, 0.25F, 0.5F, 0.5F, 0, 1, 1, 0));

  PredictedOutput scaled = values_of({2, 1, 2});
  scaled.scales = {{0, 1}, {1, 2}, {0, 1}, {0, 1}};
  write(OutputKind::kArrays, {.output = path}, {scaled}, {logits}, *photos);
  array = read_array(path);
  EXPECT_EQ(array.row, (Shape{2, 1, 2}));
  EXPECT_THAT(floats_of(array), ElementsAre(0, 19, 8, 1, 2, 5, 1, 3, -1, -3, -4, -3));
}

TEST(PredictOutput, WritesClassNumbersBeyondAByte) {
  const Folder folder;
  const auto photos = photos_in(folder, {"a.ppm"}, "1 1");
  std::vector<float> row(600);
  row[299] = row[300 + 256] = 1;
  write(OutputKind::kArrays, {.output = folder / "a.npy"}, {classes_at({2, 300})}, {{row, row}}, *photos);
  const data::NpyArray array = read_array(folder / "a.npy");
  EXPECT_EQ(array.type(), "int32");
  EXPECT_THAT(floats_of(array), ElementsAre(299, 256, 299, 256));
}

TEST(PredictOutput, WritesAnArrayForEachOutput) {
  const Folder folder;
  const auto photos = photos_in(folder, {"a.ppm"}, "1 1");
  EXPECT_EQ(
      write(OutputKind::kArrays, {.output = folder / "a.npy"}, {classes_at({2, 1, 2}, "road"), classes_at({3}, "kind")},
            {{{0, 1, 1, 0}, {1, 0, 0, 1}}, {{0.5F, 0.25F, 0.25F}, {0, 0, 1}}}, *photos),
      folder / "a-road.npy" + ", " + (folder / "a-kind.npy") + " (2 rows)");
  EXPECT_THAT(floats_of(read_array(folder / "a-road.npy")), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(floats_of(read_array(folder / "a-kind.npy")), ElementsAre(0.5F, 0.25F, 0.25F, 0, 0, 1));
}

TEST(PredictOutput, WritesMasksOfThePhotosSize) {
  const Folder folder;
  std::filesystem::create_directories(folder / "photos/b");
  std::ofstream(folder / "photos/b/c.ppm") << "P6\n2 4\n255\n";
  const auto photos = photos_in(folder, {"a.ppm"}, "6 2");
  const data::PredictSource input{.key = "file", .samples = photos->size()};
  const data::Pipeline crop({data::transform_family().make(data::CenterCropSpec{2, 2})}, true);
  experiment::DataSection data;
  data::ImageFolderSpec spec;
  spec.ignore_class = 7;
  data.train = config::Of<data::dataset_family>(spec);
  const std::vector<std::vector<float>> values{{0, 1, 1, 0, 1, 0, 0, 1}, {1, 0, 0, 1, 0, 1, 1, 0}};
  const PredictOutputFlags flags{.output = folder / "masks", .inputs = {folder / "photos"}};
  EXPECT_EQ(write(OutputKind::kMasks, flags, {classes_at({2, 2, 2})}, {values}, *photos, input, data, crop),
            folder / "masks" + " (2 masks)");
  data::Array mask;
  data::read_mask(folder / "masks/a.png", {}, mask);
  EXPECT_EQ(mask.shape, (Shape{2, 6, 1}));
  EXPECT_THAT(mask.u8, ElementsAre(7, 7, 1, 0, 7, 7,  //
                                   7, 7, 0, 1, 7, 7));
  data::read_mask(folder / "masks/b/c.png", {}, mask);
  EXPECT_EQ(mask.shape, (Shape{4, 2, 1}));
  EXPECT_THAT(mask.u8, ElementsAre(7, 7, 0, 1, 1, 0, 7, 7));

  // The colors of the data set, and a sub-folder for each output with masks.
  data::ImageMasksSpec colored;
  colored.classes.entries = {{"road", {1, 2, 3}}, {"sky", {4, 5, 6}}};
  experiment::DataSection colors;
  colors.train = config::Of<data::dataset_family>(colored);
  write(OutputKind::kMasks, flags, {classes_at({3}, "kind"), classes_at({2, 2, 2}, "road")},
        {{{0, 0, 1}, {0, 0, 1}}, values}, *photos, input, colors, crop);
  data::read_mask(folder / "masks/road/a.png", {.colors = {{1, 2, 3}, {4, 5, 6}}}, mask);
  EXPECT_THAT(mask.u8, ElementsAre(0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0)) << "without ignore_class 0";
  EXPECT_FALSE(std::filesystem::exists(folder / "masks/kind"));
}

TEST(PredictOutput, WritesNoMasksOfTableRows) {
  const Folder folder;
  const auto photos = photos_in(folder, {"a.ppm"}, "6 2");
  const data::PredictSource rows{.key = "place"};
  EXPECT_THROW(write(OutputKind::kMasks, {.output = folder / "masks"}, {classes_at({2, 2, 2})}, {{}}, *photos, rows),
               Error);
}

}  // namespace
}  // namespace dptrain::cli
