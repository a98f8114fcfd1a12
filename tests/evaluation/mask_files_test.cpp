// Masks of predict: the class of each pixel of an image, and the names of the files.

#include "evaluation/mask_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "config/family.h"
#include "core/error.h"
#include "data/images/mask.h"
#include "data/transform.h"
#include "data/transforms/cropping.h"
#include "data/transforms/pixels.h"
#include "support/folder.h"

namespace dptrain::evaluation {
namespace {

using dptrain::test::Folder;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint8_t kUnseen = 255;

/// Class 10 * row + column in each pixel.
data::Array numbered(std::int64_t height, std::int64_t width) {
  data::Array image;
  image.type = DType::kU8;
  image.shape = {height, width, 1};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) image.u8.push_back(static_cast<std::uint8_t>(10 * y + x));
  return image;
}

template <class... Specs>
data::Pipeline pipeline_of(const Specs&... specs) {
  return data::Pipeline({data::transform_family().make(specs)...}, true);
}

/// Moves the classes of an image to a model's positions and back.
std::vector<std::uint8_t> there_and_back(const data::Array& image, const data::Pipeline& pipeline) {
  data::Array positions;
  data::Pipeline::Scratch scratch;
  pipeline.run_on_map(data::view_of(image), kUnseen, scratch, positions, {});
  return classes_of_pixels(positions.u8, {positions.shape[0], positions.shape[1]}, pipeline.covered(image.shape),
                           {image.shape[0], image.shape[1]}, kUnseen);
}

/// The classes of `image` in rows `top` to `bottom` - 1 and columns `left` to `right` - 1, kUnseen elsewhere.
std::vector<std::uint8_t> window_of(const data::Array& image, std::int64_t top, std::int64_t bottom, std::int64_t left,
                                    std::int64_t right) {
  std::vector<std::uint8_t> classes;
  for (std::int64_t y = 0; y < image.shape[0]; ++y)
    for (std::int64_t x = 0; x < image.shape[1]; ++x)
      classes.push_back(y >= top && y < bottom && x >= left && x < right
                            ? image.u8[static_cast<std::size_t>(y * image.shape[1] + x)]
                            : kUnseen);
  return classes;
}

TEST(ClassesOfPixels, TakeTheNearestPosition) {
  const std::vector<std::uint8_t> positions{1, 2, 3,  //
                                            4, 5, 6};
  EXPECT_THAT(classes_of_pixels(positions, {2, 3}, {0, 0, 1, 1}, {4, 6}, kUnseen),
              ElementsAre(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 4, 4, 5, 5, 6, 6));
  EXPECT_THAT(classes_of_pixels(positions, {2, 3}, {0, 0, 1, 1}, {1, 1}, kUnseen), ElementsAre(5)) << "the center";
  EXPECT_THAT(classes_of_pixels(positions, {2, 3}, {0, 0, 1, 1}, {2, 4}, kUnseen), ElementsAre(1, 2, 2, 3, 4, 5, 5, 6))
      << "centers at 3/8 and 9/8 of a position";
}

TEST(ClassesOfPixels, AreUnseenOutsideOfTheCoveredPart) {
  const std::vector<std::uint8_t> positions{1, 2};
  EXPECT_THAT(classes_of_pixels(positions, {1, 2}, {0.25, 0.5, 0.5, 0.5}, {4, 4}, 9),
              ElementsAre(9, 9, 9, 9, 9, 9, 1, 2, 9, 9, 1, 2, 9, 9, 9, 9));
  // The part exceeds the image by a quarter on each side.
  EXPECT_THAT(classes_of_pixels(std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5}, {1, 6}, {0, -0.25, 1, 1.5}, {1, 4}, 9),
              ElementsAre(1, 2, 3, 4));
}

TEST(ClassesOfPixels, InvertResizing) {
  const data::Array image = numbered(4, 7);
  EXPECT_EQ(there_and_back(image, pipeline_of(data::ResizingSpec{.height = 12, .width = 21})), image.u8);
  EXPECT_EQ(there_and_back(image, pipeline_of(data::ResizingSpec{.height = 11, .width = 9})), image.u8);
  const std::vector<std::uint8_t> coarse = there_and_back(image, pipeline_of(data::ResizingSpec{2, 7}));
  EXPECT_EQ(coarse[0], coarse[7]) << "two rows share a position";
  EXPECT_NE(coarse[7], coarse[14]);
}

TEST(ClassesOfPixels, InvertCrops) {
  const data::Array wide = numbered(4, 9), tall = numbered(9, 4);
  const data::ResizingSpec square{.height = 8, .width = 8, .crop_to_aspect_ratio = true};
  EXPECT_EQ(there_and_back(wide, pipeline_of(square)), window_of(wide, 0, 4, 2, 6));
  EXPECT_EQ(there_and_back(tall, pipeline_of(square)), window_of(tall, 2, 6, 0, 4));
  EXPECT_EQ(there_and_back(wide, pipeline_of(data::CenterCropSpec{2, 5})), window_of(wide, 1, 3, 2, 7));
  EXPECT_EQ(there_and_back(tall, pipeline_of(data::CenterCropSpec{3, 4})), window_of(tall, 3, 6, 0, 4));
  EXPECT_EQ(there_and_back(wide, pipeline_of(data::CenterCropSpec{8, 8})), window_of(wide, 0, 4, 2, 6))
      << "a smaller image is resized";
  EXPECT_EQ(there_and_back(wide, pipeline_of(data::ResizingSpec{8, 18}, data::CenterCropSpec{4, 6})),
            window_of(wide, 1, 3, 3, 6));
}

TEST(MaskNames, AreRelativeToTheFolderOfTheInput) {
  EXPECT_EQ(mask_name("photos/a.jpg", {"photos"}), "a.png");
  EXPECT_EQ(mask_name("photos/b/c.d.JPEG", {"photos"}), "b/c.d.png");
  EXPECT_EQ(mask_name("photos/b/c.jpg", {"photos/"}), "b/c.png");
  EXPECT_EQ(mask_name("photos//b/c.jpg", {"photos/"}), "b/c.png");
  EXPECT_EQ(mask_name("./b/c.jpg", {"."}), "b/c.png");
  EXPECT_EQ(mask_name("photos/c.jpg", {"other", "photos/c.jpg"}), "c.png");
  EXPECT_EQ(mask_name("photos2/c.jpg", {"photos", "photos2"}), "c.png");
  EXPECT_EQ(mask_name("17", {"images.npy"}), "17.png");
}

/// The message of the Error{kUsage} of opening masks, or "".
std::string refusal(const std::string& folder, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& images, bool overwrite = false) {
  try {
    const MaskFiles masks(folder, inputs, images, {.outputs = {""}, .overwrite = overwrite});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(MaskFiles, ListImagesWithTheSameMask) {
  EXPECT_EQ(refusal("no-folder/masks", {"photos"}, {"photos/a.jpg", "photos/b.jpg", "photos/c/a.jpg"}), "");
  EXPECT_THAT(refusal("masks", {"photos", "more", "x/d.png"},
                      {"photos/a.jpg", "photos/a.png", "photos/b.jpg", "photos/d.jpg", "more/a.bmp", "x/d.png"}),
              HasSubstr("several images have the same mask: a.png (photos/a.jpg, photos/a.png, more/a.bmp); d.png "
                        "(photos/d.jpg, x/d.png); rename them"));
}

TEST(MaskFiles, KeepExistingFiles) {
  const Folder folder;
  std::vector<std::string> images;
  for (int i = 0; i < 5; ++i) images.push_back(std::to_string(i));
  for (int i = 1; i < 5; ++i) std::ofstream(folder / (std::to_string(i) + ".png")) << "old";
  const std::string message = refusal(folder.path(), {"a.npy"}, images);
  EXPECT_THAT(message, AllOf(HasSubstr("4 of 5 masks exist already ("), HasSubstr("1.png, "), HasSubstr("3.png, ...)"),
                             HasSubstr("--overwrite"), Not(HasSubstr("4.png"))));
  EXPECT_EQ(refusal(folder.path(), {"a.npy"}, images, true), "");
  EXPECT_EQ(std::filesystem::file_size(folder / "1.png"), 3U) << "replaced before its mask is written";
}

TEST(MaskFiles, NeverReplaceAnImage) {
  const Folder folder;
  const std::string photos = folder / "photos";
  std::filesystem::create_directory(photos);
  std::ofstream(folder / "photos/a.png") << "a photo";
  std::filesystem::create_directory_symlink(photos, folder / "link");
  for (const char* const name : {"photos", "link", "photos/../photos"})
    EXPECT_THAT(refusal(folder / name, {photos}, {photos + "/a.png"}, true),
                HasSubstr("a.png would replace an image of --input; give another folder"));
}

TEST(MaskFiles, AreWrittenToAFolderOfEachOutput) {
  const Folder folder;
  const MaskFiles masks(folder / "all", {"photos"}, {"photos/a.jpg", "photos/b/c.jpg"},
                        {.outputs = {"road", "sky"}, .overwrite = false, .palette = {{7, 8, 9}}});
  masks.write(1, 0, std::vector<std::uint8_t>{0, 1, 2, 2, 1, 255}, {2, 3});
  masks.write(1, 1, std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0}, {2, 3});
  EXPECT_EQ(masks.path(1, 1), folder / "all/sky/b/c.png");
  data::Array mask;
  data::read_mask(folder / "all/road/b/c.png", {}, mask);
  EXPECT_EQ(mask.shape, (Shape{2, 3, 1}));
  EXPECT_THAT(mask.u8, ElementsAre(0, 1, 2, 2, 1, 255));
  data::read_mask(folder / "all/sky/b/c.png", {.colors = {{1, 2, 3}, {7, 8, 9}}}, mask);
  EXPECT_THAT(mask.u8, Each(1)) << "the first color of the palette";
}

}  // namespace
}  // namespace dptrain::evaluation
