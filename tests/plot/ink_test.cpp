#include "plot/drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace dptrain::plot {
namespace {

/// Contrast of two colours by WCAG, from 1 to 21.
double contrast(std::uint32_t a, std::uint32_t b) {
  const auto luminance = [](std::uint32_t rgb) {
    const auto part = [&](unsigned shift) {
      const double value = static_cast<double>(rgb >> shift & 255U) / 255;
      return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0);
  };
  const double first = luminance(a), second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

TEST(Ink, HuesHaveTheOrderOfTheInks) {
  for (std::size_t i = 0; i < hues().size(); ++i) EXPECT_EQ(static_cast<std::size_t>(hues()[i].ink), i);
}

TEST(Ink, LinesAndWordsHaveContrastOnBothPages) {
  for (const Hue& one : hues()) {
    if (one.ink == Ink::kPaper || one.ink == Ink::kGrid || one.ink == Ink::kOnMiddle || one.ink == Ink::kOnColor)
      continue;
    const double least = one.ink == Ink::kText || one.ink == Ink::kMuted ? 4.5 : one.ink == Ink::kAxis ? 2.3 : 3.0;
    EXPECT_GE(contrast(one.light, hue(Ink::kPaper).light), least) << one.name;
    EXPECT_GE(contrast(one.dark, hue(Ink::kPaper).dark), least) << one.name;
  }
}

/// A color blended over the paper.
std::uint32_t over(std::uint32_t color, std::uint32_t paper, double opacity) {
  std::uint32_t mixed = 0;
  for (const unsigned shift : {16U, 8U, 0U}) {
    const double value = opacity * (color >> shift & 255U) + (1 - opacity) * (paper >> shift & 255U);
    mixed |= static_cast<std::uint32_t>(std::lround(value)) << shift;
  }
  return mixed;
}

TEST(Ink, CountsHaveContrastOnEveryCell) {
  const auto light = [](Ink ink) { return hue(ink).light; };
  const auto dark = [](Ink ink) { return hue(ink).dark; };
  for (const Ink cell : {Ink::kRight, Ink::kWrong})
    for (int percent = 7; percent <= 100; ++percent) {
      const Ink words = percent > 88 ? Ink::kOnColor : percent > 60 ? Ink::kOnMiddle : Ink::kText;
      const double share = percent / 100.0;
      EXPECT_GE(contrast(light(words), over(light(cell), light(Ink::kPaper), share)), 4) << hue(cell).name << percent;
      EXPECT_GE(contrast(dark(words), over(dark(cell), dark(Ink::kPaper), share)), 3.5) << hue(cell).name << percent;
    }
}

TEST(LineStyle, ThirtyRunsLookDifferent) {
  std::set<std::tuple<Ink, Mark, bool>> seen;
  for (std::size_t i = 0; i < 70; ++i) {
    const LineStyle style = line_style(i);
    EXPECT_TRUE(seen.emplace(style.ink, style.mark, style.hollow).second) << i;
    EXPECT_NE(style.ink, line_style(i + 1).ink);
    EXPECT_NE(style.mark, line_style(i + 1).mark);
  }
}

}  // namespace
}  // namespace dptrain::plot
