#include "plot/contact_sheet.h"

#include <gtest/gtest.h>

#include "plot/svg.h"
#include "plot/svg_text.h"

namespace dptrain::plot {
namespace {

std::shared_ptr<const RgbImage> plain(std::int64_t height, std::int64_t width) {
  return std::make_shared<RgbImage>(height, width, std::uint8_t{100});
}

std::vector<ImageItem> images(const Drawing& drawing) {
  std::vector<ImageItem> all;
  for (const Item& item : drawing.items())
    if (const auto* const image = std::get_if<ImageItem>(&item.what)) all.push_back(*image);
  return all;
}

TEST(ContactSheet, DrawsEveryImageBelowItsNames) {
  const Drawing drawing = contact_sheet({.title = "blumen on train",
                                         .note = "",
                                         .columns = {"epoch 1", "epoch 2"},
                                         .rows = {{"#0 Gänseblümchen", "写真.png", {plain(120, 150), plain(120, 150)}},
                                                  {"#1 زهرة", "", {plain(120, 150), plain(90, 60)}}}});
  const std::string svg = to_svg(drawing);
  for (const char* words : {"blumen on train", "epoch 1", "epoch 2", "#0 Gänseblümchen", "写真.png", "#1 زهرة"})
    EXPECT_EQ(count(svg, std::string(">") + words + "</text>"), 1U) << words;
  const std::vector<ImageItem> all = images(drawing);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].at.y, all[1].at.y);
  EXPECT_GT(all[1].at.x, all[0].at.x + all[0].width);
  EXPECT_GT(all[2].at.y, all[0].at.y + all[0].height);
  EXPECT_EQ(all[3].width, 60) << "as large as it is";
  for (const ImageItem& image : all) {
    EXPECT_LT(image.at.x + image.width, drawing.width());
    EXPECT_LT(image.at.y + image.height, drawing.height());
  }
}

TEST(ContactSheet, EnlargesSmallImagesByAWholeFactor) {
  const auto width = [](std::vector<std::shared_ptr<const RgbImage>> row) {
    return images(contact_sheet({.title = "", .note = "", .columns = {}, .rows = {{"a", "", std::move(row)}}}))[0]
        .width;
  };
  EXPECT_EQ(width({plain(8, 10), plain(8, 10)}), 100);
  EXPECT_EQ(width({plain(32, 32)}), 128);
  EXPECT_EQ(width({plain(90, 80), plain(90, 80)}), 80);
  EXPECT_EQ(width({plain(500, 500)}), 500);
  EXPECT_EQ(images(contact_sheet({.title = "",
                                  .note = "",
                                  .columns = {},
                                  .rows = {{"a", "", {plain(96, 96), plain(96, 96)}}},
                                  .legend = {},
                                  .min_image = 192}))[0]
                .width,
            192);
}

TEST(ContactSheet, RowsOfOneImageShareALine) {
  Sheet sheet{.title = "t", .note = "", .columns = {"test"}, .rows = {}};
  for (int i = 0; i < 8; ++i)
    sheet.rows.push_back({"#" + std::to_string(i) + std::string(100, 'x'), "", {plain(130, 130)}});
  const Drawing drawing = contact_sheet(sheet);
  const std::vector<ImageItem> all = images(drawing);
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all[0].at.y, all[5].at.y) << "six in a row of the page";
  EXPECT_GT(all[6].at.y, all[5].at.y);
  EXPECT_GT(drawing.width(), 800);
  EXPECT_EQ(count(to_svg(drawing), std::string(100, 'x') + "</title>"), 16U) << "images and names";
}

TEST(ContactSheet, LabelAndAnswerAreOnSeparateLines) {
  Sheet sheet{.title = "t", .note = "", .columns = {}, .rows = {}};
  sheet.rows.push_back({.label = "tulips",
                        .note = "a.jpg",
                        .images = {plain(130, 130)},
                        .answer = "a daisy with a name that is too long for its column",
                        .answer_value = "0.98"});
  const Drawing drawing = contact_sheet(sheet);
  std::vector<TextItem> words;
  for (const Item& item : drawing.items())
    if (const auto* const one = std::get_if<TextItem>(&item.what); one != nullptr && !one->text.empty())
      words.push_back(*one);
  ASSERT_EQ(words.size(), 5U);  // title, label, answer, value, note
  EXPECT_EQ(words[1].text, "tulips");
  EXPECT_TRUE(words[2].text.starts_with("a daisy")) << words[2].text;
  EXPECT_EQ(words[3].text, "0.98") << "never shortened";
  EXPECT_GT(words[2].at.y, words[1].at.y);
  EXPECT_EQ(words[3].at.y, words[2].at.y);
  EXPECT_GT(words[4].at.y, words[3].at.y);
  EXPECT_EQ(words[2].ink, Ink::kWrong);
}

TEST(ContactSheet, LongNamesStayWithinTheSheet) {
  const std::string endless(500, 'W');
  const Drawing drawing = contact_sheet({.title = endless,
                                         .note = endless,
                                         .columns = {"a", "b"},
                                         .rows = {{endless, "", {plain(8, 10), plain(8, 10)}}}});
  EXPECT_LT(drawing.width(), 600);
  EXPECT_EQ(count(to_svg(drawing), "<title>" + endless + "</title>"), 5U);
}

TEST(ContactSheet, HasALegendBelowTheNote) {
  Sheet sheet{
      .title = "t", .note = "n", .columns = {"label", "answer"}, .rows = {{"a", "", {plain(96, 96), plain(96, 96)}}}};
  const double without = images(contact_sheet(sheet))[0].at.y;
  sheet.legend = {
      {.name = "background"}, {.name = "road", .color = Rgb{128, 64, 128}}, {.name = "ignored", .hatched = true}};
  const Drawing drawing = contact_sheet(sheet);
  const std::string svg = to_svg(drawing);
  for (const char* name : {"background", "road", "ignored"})
    EXPECT_EQ(count(svg, std::string(">") + name + "</text>"), 1U) << name;
  EXPECT_EQ(count(svg, "fill=\"#804080\""), 1U);
  EXPECT_EQ(images(drawing).size(), 2U) << "reports read the images of a sheet";
  EXPECT_GT(images(drawing)[0].at.y, without + 15);
  for (int i = 0; i < 40; ++i) sheet.legend.push_back({.name = "class " + std::to_string(i), .color = Rgb{0, 0, 9}});
  const Drawing large = contact_sheet(sheet);
  EXPECT_GT(images(large)[0].at.y, images(drawing)[0].at.y + 100) << "several lines";
  for (const Item& item : large.items())
    if (const auto* const box = std::get_if<Box>(&item.what)) {
      EXPECT_LT(box->at.x + box->width, large.width());
      EXPECT_LT(box->at.y + box->height, images(large)[0].at.y);
    }
}

}  // namespace
}  // namespace dptrain::plot
