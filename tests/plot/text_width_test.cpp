#include "plot/text_width.h"

#include <gtest/gtest.h>

#include "core/text.h"

namespace dptrain::plot {
namespace {

TEST(TextWidth, DistinguishesWideAndNarrowLetters) {
  EXPECT_DOUBLE_EQ(text_width("", 10), 0);
  EXPECT_GT(text_width("WWWW", 10), 3 * text_width("iiii", 10));
  EXPECT_DOUBLE_EQ(text_width("ab", 20), 2 * text_width("ab", 10));
  EXPECT_GT(text_width("ab", 10, true), text_width("ab", 10));
  EXPECT_DOUBLE_EQ(text_width("学習", 10), 20) << "as wide as high";
  EXPECT_DOUBLE_EQ(text_width("e\u0301", 10), text_width("e", 10)) << "a mark over the letter";
}

TEST(TextWidth, MatchesTheTypefaceOfThePictures) {
  // Sums of the advance widths of Liberation Sans, which has those of Arial.
  EXPECT_NEAR(text_width("best 0.0666, epoch 4", 12), 112.08, 0.01);
  EXPECT_NEAR(text_width("val_accuracy", 1000), 5835, 0.5);
  EXPECT_NEAR(text_width("val_accuracy", 1000, true), 6282, 0.5);
  EXPECT_NEAR(text_width("\u2026", 10), 10, 0.01) << "an ellipsis";
}

TEST(Shortened, KeepsBeginAndEnd) {
  EXPECT_EQ(shortened("short", 10, 100), "short");
  const std::string name = "a-very-long-name-of-a-run-lr=0.001";
  const std::string less = shortened(name, 10, 100);
  EXPECT_LE(text_width(less, 10), 100);
  EXPECT_GT(text_width(less, 10), 80) << less;
  EXPECT_TRUE(less.starts_with("a-very")) << less;
  EXPECT_TRUE(less.ends_with("0.001")) << less;
  EXPECT_NE(less.find("…"), std::string::npos);
  EXPECT_EQ(shortened("long", 10, 0), "…");
}

TEST(Shortened, CutsBetweenCharacters) {
  for (const std::string name :
       {"Gänseblümchenwiese", "学習率を下げた実験の名前", "Опыт с большим шагом", "\xff\xfe broken \x80 bytes",
        "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"})
    for (double most = 0; most < 200; most += 7) {
      const std::string less = shortened(name, 10, most);
      EXPECT_LE(text_width(less, 10), std::max(most, 10.0)) << name;
      EXPECT_TRUE(printable(less) == less || printable(name) != name) << "a character was cut: " << less;
    }
}

}  // namespace
}  // namespace dptrain::plot
