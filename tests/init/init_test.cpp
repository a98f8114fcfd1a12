// init --from drafts a config that loads, for any column names, with a network that fits the data.

#include <gmock/gmock.h>
#include <hdf5.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>

#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "data/images/mask.h"
#include "data/source.h"
#include "experiment/experiment.h"
#include "experiment/model_side.h"
#include "init/draft.h"
#include "support/folder.h"

namespace dptrain::init {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class InitTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
    return (folder_.path() / name).string();
  }
  static Draft draft(const std::string& path, const std::optional<std::string>& target = std::nullopt) {
    return draft_config({.path = path, .reference = path, .name = "drafted", .target = target});
  }
  /// Loads the draft and opens its data for its model.
  static data::Sources open(const Draft& draft) {
    const experiment::Experiment experiment = experiment::load_experiment_text(draft.yaml, "drafted.yaml", {});
    const experiment::DataSection& section = experiment.config.data;
    return data::open_sources({section.train, section.validation, section.test},
                              experiment::input_side(experiment.graph), experiment.config.seed);
  }

  dptrain::test::Folder folder_;
};

/// A table with a column of each kind, and names that YAML or a layer would reject.
std::string wild_table() {
  std::string text = "id,Größe: m,\"a, b\",ville ($),the review,when,y\n";
  for (int i = 0; i < 400; ++i)
    text += std::to_string(1000 + i) + "," + std::to_string(i % 37) + ".5," + (i % 3 == 0 ? "yes" : "no") + ",city" +
            std::to_string(i % 80) + ",\"a text of several words, and number " + std::to_string(i * 7) +
            " is one of them\",2024-01-" + (i % 9 < 8 ? "0" + std::to_string(1 + i % 9) : "12") + "," +
            std::to_string(i % 2) + "\n";
  return text;
}

TEST_F(InitTest, AcceptsColumnsOfAnyName) {
  const Draft drafted = draft(write("wild.csv", wild_table()));
  const data::Sources sources = open(drafted);
  EXPECT_EQ(sources.train->inputs(), 3) << "a table, a city, a text";
  EXPECT_THAT(sources.train->class_names(), testing::ElementsAre("0", "1"));
  EXPECT_EQ(sources.train->size() + sources.validation->size() + sources.test->size(), 400);
  EXPECT_THAT(drafted.yaml, HasSubstr("TextVectorization"));
  EXPECT_THAT(drafted.findings, Contains(HasSubstr("left out: a different value in each row")));
}

TEST_F(InitTest, TheInputIsAsWideAsTheColumnsOfTheTrainingRows) {
  const std::string path = write("plain.csv", wild_table());
  const Draft drafted = draft(path, "Größe: m");
  const data::Sources sources = open(drafted);
  EXPECT_THAT(drafted.yaml, HasSubstr("shape: [" + std::to_string(sources.train->input_shape(0)[0]) + "]"));
  EXPECT_THAT(drafted.yaml, HasSubstr("mean_squared_error"));
}

TEST_F(InitTest, SkipsRowsWithoutALabel) {
  std::string table = "size,colour,price\n";
  for (int i = 0; i < 60; ++i)
    table += fmt::format("{}.5,{},{}\n", i, i % 2 == 0 ? "red" : "blue", i == 4 || i == 9 ? "" : std::to_string(3 * i));
  const Draft drafted = draft(write("prices.csv", table));
  EXPECT_THAT(drafted.yaml, HasSubstr("on_error: skip      # of 2 rows without a label\n"));
  EXPECT_THAT(drafted.findings, Contains(HasSubstr("2 missing and left out; the number to predict")));
  const data::Sources sources = open(drafted);
  EXPECT_GT(sources.train->size(), 0);
}

TEST_F(InitTest, NumbersInAnyFormatAreARegression) {
  const auto drafted = [&](const std::string& header, const std::function<std::string(int)>& row) {
    std::string table = header + "\n";
    for (int i = 0; i < 60; ++i) table += row(i) + "\n";
    const Draft draft = InitTest::draft(write("t.csv", table));
    EXPECT_GT(open(draft).train->size(), 0);
    EXPECT_THAT(draft.yaml, HasSubstr("mean_squared_error"));
    return draft.yaml;
  };
  EXPECT_THAT(drafted("a;preis", [](int i) { return fmt::format("{},5;{},37", i % 7, i); }),
              HasSubstr("      decimal: \",\"\n"));
  EXPECT_THAT(drafted("a,b,price", [](int i) { return fmt::format("{}.5,{}%,${}.25", i % 7, i % 9, i); }),
              Not(HasSubstr("decimal")));
  EXPECT_THAT(drafted("a,people", [](int i) { return fmt::format("{}.5,\"{},{}\"", i % 7, 1 + i, 100 + i); }),
              Not(HasSubstr("thousands")));  // the decimal point of the other column decides
  EXPECT_THAT(drafted("a,people", [](int i) { return fmt::format("{},\"{},{}\"", i % 7, 1 + i, 100 + i); }),
              HasSubstr("      thousands: \",\"\n"));
  EXPECT_THAT(drafted("a;people", [](int i) { return fmt::format("{};{},{}", i % 7, 1 + i, 100 + i); }),
              HasSubstr("      decimal: \",\"\n"));
  EXPECT_THAT(
      drafted("a,b,y", [](int i) { return fmt::format("{}.5,{}{},{}.5", i % 7, i % 2 == 0 ? "$" : "€", i, i); }),
      HasSubstr("b: Ignore            # found '"));
  EXPECT_THAT(drafted("a,y", [](int i) { return i == 3 ? "oops,1.5" : fmt::format("{}.5,{}.5", i % 7, i); }),
              HasSubstr("on_error: skip      # of 1 cells of a that are not numbers\n"));
  EXPECT_THAT(drafted("a,y", [](int i) { return i == 0 ? "\"1,2" : fmt::format("{}.5,{}.5", i % 7, i); }),
              HasSubstr("on_error: skip      # of 1 rows that break the form of the file\n"));
}

TEST_F(InitTest, FoldersOfFramesAreClips) {
  for (const char* const of_class : {"left", "right"})
    for (int clip = 0; clip < 6; ++clip) {
      const auto folder = folder_.path() / "clips" / "train" / of_class / std::to_string(clip);
      std::filesystem::create_directories(folder);
      for (int frame = 0; frame < 20; ++frame)
        std::ofstream(folder / fmt::format("{:04}.ppm", frame), std::ios::binary)
            << "P6 20 30 255\n"
            << std::string(std::size_t{20} * 30 * 3, static_cast<char>(frame));
    }
  const Draft drafted = draft((folder_.path() / "clips").string());
  EXPECT_THAT(drafted.findings,
              Contains(HasSubstr("20 frames of 30 x 20 pixels or more; the network gets 16 frames of 32 x 32")));
  const data::Sources sources = open(drafted);
  EXPECT_THAT(sources.train->class_names(), testing::ElementsAre("left", "right"));
  EXPECT_EQ(sources.train->input_shape(0), Shape({16, 36, 36, 3}));
}

/// `count` photos of 70 x 100 pixels below `root`, and masks whose rows repeat `values`.
void put_masked_photos(const std::filesystem::path& root, int count, const std::vector<std::uint8_t>& values) {
  std::filesystem::create_directories(root / "photos");
  std::filesystem::create_directories(root / "labels");
  constexpr std::size_t kPixels = 70 * 100;
  std::vector<std::uint8_t> classes(kPixels);
  for (std::size_t i = 0; i < kPixels; ++i) classes[i] = values[i / 100 % values.size()];
  for (int i = 0; i < count; ++i) {
    std::ofstream(root / "photos" / fmt::format("{:02}.ppm", i), std::ios::binary)
        << "P6 100 70 255\n"
        << std::string(3 * kPixels, static_cast<char>(i));
    data::write_mask(root / "labels" / fmt::format("{:02}.png", i), classes, 70, 100, data::mask_palette(256));
  }
}

TEST_F(InitTest, PhotosAndMasksAreASegmentation) {
  const auto root = folder_.path() / "roads";
  put_masked_photos(root, 20, {0, 3, 255});
  const Draft drafted = draft(root.string());
  EXPECT_THAT(drafted.findings,
              testing::ElementsAre(HasSubstr("20 photos with masks of 4 classes; pixels of the value 255 do not count"),
                                   HasSubstr("half of them are 70 x 100 pixels or larger; the network gets 64 x 96")));
  EXPECT_THAT(drafted.yaml, AllOf(HasSubstr("input_shape: [64, 96, 3], classes: 4}"), HasSubstr("ignore_class: 255"),
                                  HasSubstr("MeanIoU: {num_classes: 4}"), HasSubstr("batch_size: 2")));
  const data::Sources sources = open(drafted);
  EXPECT_EQ(sources.train->size(), 17);
  EXPECT_EQ(sources.validation->size(), 3);
}

TEST_F(InitTest, MasksInBlackAndWhiteHaveTwoClasses) {
  const auto root = folder_.path() / "cells";
  put_masked_photos(root / "train", 12, {0, 255});
  put_masked_photos(root / "val", 5, {0, 255});
  const Draft drafted = draft(root.string());
  EXPECT_THAT(drafted.yaml,
              AllOf(HasSubstr("classes: 2}"), HasSubstr("object: \"#ffffff\""), Not(HasSubstr("ignore_"))));
  const data::Sources sources = open(drafted);
  EXPECT_EQ(sources.validation->size(), 5);
  EXPECT_THAT(sources.train->class_names(), testing::ElementsAre("background", "object"));
}

/// Rows of `width` numbers 0 to 99, as the type.
void put_array(hid_t file, const char* name, hid_t type, std::vector<hsize_t> shape) {
  hsize_t elements = 1;
  for (const hsize_t extent : shape) elements *= extent;
  std::vector<double> values;
  for (hsize_t i = 0; i < elements; ++i) values.push_back(static_cast<double>(i * 7 % (shape.size() == 1 ? 3 : 100)));
  const hid_t links = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(links, 1);
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t set = H5Dcreate2(file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(set), H5Sclose(space), H5Pclose(links);
}

TEST_F(InitTest, FindsArraysOfAnHdf5FileByNameAndShape) {
  const auto drafted_of = [&](hid_t type, const std::vector<hsize_t>& row) {
    const std::string path = (folder_.path() / "arrays.h5").string();
    {
      const std::lock_guard lock(hdf5_mutex());
      const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
      for (const auto& [role, rows] : {std::pair<std::string, hsize_t>{"train", 90}, {"test", 30}}) {
        std::vector<hsize_t> shape{rows};
        shape.insert(shape.end(), row.begin(), row.end());
        put_array(file, (role + "/x").c_str(), type, shape);
        put_array(file, (role + "/y").c_str(), H5T_STD_I64LE, {rows});
        put_array(file, (role + "/weights").c_str(), H5T_IEEE_F32LE, {rows});
      }
      H5Fclose(file);
    }
    const Draft drafted = draft(path);
    const data::Sources sources = open(drafted);
    EXPECT_EQ(sources.train->size() + sources.validation->size(), 90);
    EXPECT_EQ(sources.test->size(), 30);
    EXPECT_THAT(drafted.findings, Contains(HasSubstr("3 classes in 'train/y'")));
    return drafted.yaml;
  };
  EXPECT_THAT(drafted_of(H5T_IEEE_F64LE, {5}), AllOf(HasSubstr("shape: [5]}"), HasSubstr("BatchNormalization")));
  EXPECT_THAT(drafted_of(H5T_IEEE_F32LE, {12, 2}), AllOf(HasSubstr("shape: [12, 2]}"), HasSubstr("LSTM")));
  EXPECT_THAT(drafted_of(H5T_STD_I32LE, {5}), AllOf(HasSubstr("dtype: int32"), HasSubstr("input_dim: 100,")));
  EXPECT_THAT(drafted_of(H5T_STD_U8LE, {16, 16}), AllOf(HasSubstr("shape: [16, 16, 1]}"), HasSubstr("Rescaling")));
  EXPECT_THAT(drafted_of(H5T_STD_U8LE, {16, 20, 3}), HasSubstr("shape: [16, 20, 3]}"));
}

/// A table of photos, some of them missing, with or without other columns.
std::string photo_table(const std::string& folder, bool alone) {
  std::filesystem::create_directories(folder + "/img");
  std::string text = alone ? "kind,photo\n" : "kind,the photo,rooms\n";
  for (int i = 0; i < 60; ++i) {
    const std::string name = "img/" + std::to_string(i) + ".pgm";
    if (i != 7) std::ofstream(folder + "/" + name) << "P5 30 20 255\n" << std::string(600, static_cast<char>(4 * i));
    text += std::string(i % 3 == 0 ? "house" : "flat") + "," + name + (alone ? "" : "," + std::to_string(i % 5)) + "\n";
  }
  return text;
}

TEST_F(InitTest, AColumnOfPhotosIsASeparateInput) {
  const Draft drafted = draft(write("homes.csv", photo_table(folder_.path().string(), false)), "rooms");
  const data::Sources sources = open(drafted);
  ASSERT_EQ(sources.train->inputs(), 2);
  EXPECT_EQ(sources.train->peek_shape(0, 1), Shape({20, 30, 3}));
  EXPECT_THAT(drafted.yaml, HasSubstr("the photo: Image"));
  EXPECT_THAT(drafted.yaml, HasSubstr("Resizing: {height: 32, width: 32}"));
  EXPECT_THAT(drafted.findings,
              Contains(HasSubstr("photos, half of them 20 x 30 pixels or larger; the network gets 32 x 32")));
}

TEST_F(InitTest, AcceptsOnlyPhotosAndClasses) {
  const Draft drafted = draft(write("homes.csv", photo_table(folder_.path().string(), true)));
  const data::Sources sources = open(drafted);
  EXPECT_EQ(sources.train->inputs(), 1);
  EXPECT_THAT(sources.train->class_names(), testing::ElementsAre("flat", "house"));
}

TEST_F(InitTest, ReportsDataThatCannotBeDrafted) {
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string path = write("plain.csv", wild_table());
  EXPECT_THAT(message([&] { draft(path, "z"); }), HasSubstr("--target z"));
  EXPECT_THAT(message([&] { draft(folder_.path().string(), "y"); }), HasSubstr("is a folder"));
  {
    const std::lock_guard lock(hdf5_mutex());
    const hid_t file = H5Fcreate((folder_.path() / "odd.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put_array(file, "a", H5T_IEEE_F32LE, {4, 2});
    H5Fclose(file);
  }
  EXPECT_THAT(
      message([&] { draft((folder_.path() / "odd.h5").string()); }),
      HasSubstr("no array is called y, labels or target, with as many rows as another one; it has a (4 rows of 2)"));
  EXPECT_THAT(message([&] { draft(path + ".not"); }), HasSubstr("no such file or folder"));
}

}  // namespace
}  // namespace dptrain::init
