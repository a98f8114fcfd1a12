#include "plot/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/text.h"

namespace dptrain::plot {
namespace {

// Widths of the characters from ' ' to '~', in thousandths of the font size.
constexpr std::array<std::uint16_t, 95> kRegular{
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
constexpr std::array<std::uint16_t, 95> kBold{
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667,
    611, 778, 722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556,
    278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584};

struct Span {
  char32_t first, last;
  double width;  // fraction of the font size
};
// Combining marks, letters of other alphabets, and wide scripts. All others have the width kLetter.
constexpr std::array kSpans{
    Span{0x00B7, 0x00B7, 0.278}, Span{0x00D7, 0x00D7, 0.584}, Span{0x0300, 0x036F, 0},      Span{0x0391, 0x03AB, 0.69},
    Span{0x0400, 0x042F, 0.73},  Span{0x0591, 0x05BD, 0},     Span{0x064B, 0x065F, 0},      Span{0x1100, 0x115F, 1},
    Span{0x200B, 0x200F, 0},     Span{0x2014, 0x2014, 1},     Span{0x2026, 0x2026, 1},      Span{0x20D0, 0x20FF, 0},
    Span{0x2190, 0x2193, 1},     Span{0x2600, 0x27BF, 1.2},   Span{0x2E80, 0x303E, 1},      Span{0x3041, 0xA4CF, 1},
    Span{0xAC00, 0xD7A3, 1},     Span{0xF900, 0xFAFF, 1},     Span{0xFE00, 0xFE0F, 0},      Span{0xFE30, 0xFE4F, 1},
    Span{0xFF00, 0xFF60, 1},     Span{0xFFE0, 0xFFE6, 1},     Span{0x1F000, 0x1FAFF, 1.35}, Span{0x20000, 0x3FFFD, 1},
};
constexpr double kLetter = 0.58, kBoldLetter = 0.61;

char32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(character[i])); };
  switch (character.size()) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
}

double width_of(char32_t code, bool bold) {
  if (code >= ' ' && code <= '~') return (bold ? kBold : kRegular)[code - ' '] / 1000.0;
  for (const Span& span : kSpans)
    if (code >= span.first && code <= span.last) return span.width;
  return bold ? kBoldLetter : kLetter;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    all.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return all;
}

bool is_combining(std::string_view character) { return width_of(code_of(character), false) == 0; }

}  // namespace

double text_width(std::string_view text, double size, bool bold) {
  double width = 0;
  for (const std::string_view character : characters(text)) width += width_of(code_of(character), bold);
  return width * size;
}

std::string shortened(const std::string& text, double size, double most, bool bold) {
  if (text_width(text, size, bold) <= most) return text;
  const std::vector<std::string_view> all = characters(text);
  const std::string_view dots = "\u2026";
  double left = most - text_width(dots, size, bold);
  std::size_t head = 0, tail = all.size();  // [0, head) and [tail, end) stay
  for (bool front = true; head < tail; front = !front) {
    const std::string_view next = front ? all[head] : all[tail - 1];
    left -= text_width(next, size, bold);
    if (left < 0) break;
    if (front)
      ++head;
    else
      --tail;
  }
  while (tail < all.size() && is_combining(all[tail])) ++tail;
  std::string out;
  for (std::size_t i = 0; i < head; ++i) out += all[i];
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += dots;
  while (tail < all.size() && all[tail] == " ") ++tail;
  for (std::size_t i = tail; i < all.size(); ++i) out += all[i];
  return out;
}

}  // namespace dptrain::plot
