#include "plot/drawing.h"

#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

constexpr std::size_t kLineInks = 7, kMarks = 5;  // coprime: 35 pairs before a repetition

}  // namespace

// Line colours remain distinguishable with any one type of cone missing, partly by lightness (after Okabe and Ito).
// Their contrast is at least 3:1 on both pages.
const std::vector<Hue>& hues() {
  static const std::vector<Hue> all{
      {Ink::kPaper, "paper", 0xffffff, 0x15181c},     {Ink::kText, "text", 0x1c2024, 0xe6e8ea},
      {Ink::kMuted, "muted", 0x5d656d, 0x9aa4ae},     {Ink::kGrid, "grid", 0xe4e7ea, 0x2b3137},
      {Ink::kAxis, "axis", 0x9aa2aa, 0x5f6973},       {Ink::kRight, "right", 0x1f6fb2, 0x5fb0f0},
      {Ink::kWrong, "wrong", 0xc9480c, 0xff9a55},     {Ink::kOnMiddle, "onmiddle", 0x101316, 0x101316},
      {Ink::kOnColor, "oncolor", 0xffffff, 0x101316}, {Ink::kLine0, "line0", 0x0b64a8, 0x5bb0f5},
      {Ink::kLine1, "line1", 0xd2540a, 0xff9147},     {Ink::kLine2, "line2", 0x00805c, 0x3fcf9f},
      {Ink::kLine3, "line3", 0xb84a8e, 0xef8fc8},     {Ink::kLine4, "line4", 0xa87800, 0xf2c341},
      {Ink::kLine5, "line5", 0x4a4f55, 0xd0d4d8},     {Ink::kLine6, "line6", 0x2f97cf, 0x9fdcff},
  };
  return all;
}

const Hue& hue(Ink ink) { return hues()[static_cast<std::size_t>(ink)]; }

LineStyle line_style(std::size_t i) {
  return {.ink = static_cast<Ink>(static_cast<std::size_t>(Ink::kLine0) + i % kLineInks),
          .mark = static_cast<Mark>(i % kMarks),
          .hollow = i / (kLineInks * kMarks) % 2 == 1};
}

void Drawing::add_fitting(TextItem words, double most, std::string title) {
  std::string fitting = shortened(words.text, words.size, most, words.bold);
  if (fitting != words.text && title.empty()) title = words.text;
  words.text = std::move(fitting);
  add({std::move(words), std::move(title)});
}

}  // namespace dptrain::plot
