#pragma once

// The colours of all pictures, by what they stand for, each for a light and a dark page. Constants and pure functions;
// any thread.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dptrain::picture {

enum class Ink : std::uint8_t {
  kPaper,
  kText,
  kMuted,  ///< words of less weight: ticks, notes
  kGrid,
  kAxis,
  kRight,     ///< cells and bars of what is right
  kWrong,     ///< cells of mistakes
  kOnMiddle,  ///< words on kRight and kWrong of opacities from 0.6 to 0.88
  kOnColor,   ///< words on stronger ones
  kLine0,     ///< lines, by line_ink()
  kLine1,
  kLine2,
  kLine3,
  kLine4,
  kLine5,
  kLine6,
};

struct Hue {
  Ink ink;
  const char* name;           ///< a word for style sheets, "text"
  std::uint32_t light, dark;  ///< 0xRRGGBB on a light and on a dark page
};
/// One for each Ink, in their order.
const std::vector<Hue>& hues();
const Hue& hue(Ink ink);

/// Marks on a line, which tell lines apart where colours do not: for readers who see few colours, and in print.
enum class Mark : std::uint8_t { kDisc, kSquare, kTriangle, kDiamond, kCross };

/// How one run, or one swept value, looks in every panel.
struct LineStyle {
  Ink ink = Ink::kLine0;
  Mark mark = Mark::kDisc;
  bool hollow = false;

  friend bool operator==(const LineStyle&, const LineStyle&) = default;
};

/// Of the i-th of many: the first seven differ in colour, neighbours in colour and mark, and the first 70 in one of
/// both or in hollow marks; then they repeat.
LineStyle line_style(std::size_t i);

}  // namespace dptrain::picture
