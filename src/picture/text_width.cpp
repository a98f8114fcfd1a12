#include "picture/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/text.h"

namespace dptrain::picture {
namespace {

// Hundredths of the font's size, of the characters from ' ' to '~'.
constexpr std::array<std::uint8_t, 95> kAscii{
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};
constexpr double kBold = 1.12;

struct Span {
  char32_t first, last;
  double width;  // shares of the font's size
};
// Marks that stand on the letter before them, then the scripts of wide letters. All others count as kLetter.
constexpr std::array kSpans{
    Span{0x0300, 0x036F, 0},   Span{0x0591, 0x05BD, 0}, Span{0x064B, 0x065F, 0},   Span{0x200B, 0x200F, 0},
    Span{0x20D0, 0x20FF, 0},   Span{0xFE00, 0xFE0F, 0}, Span{0x1100, 0x115F, 1},   Span{0x2E80, 0x303E, 1},
    Span{0x3041, 0xA4CF, 1},   Span{0xAC00, 0xD7A3, 1}, Span{0xF900, 0xFAFF, 1},   Span{0xFE30, 0xFE4F, 1},
    Span{0xFF00, 0xFF60, 1},   Span{0xFFE0, 0xFFE6, 1}, Span{0x2600, 0x27BF, 1.2}, Span{0x1F000, 0x1FAFF, 1.35},
    Span{0x20000, 0x3FFFD, 1},
};
constexpr double kLetter = 0.68;

char32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(character[i])); };
  switch (character.size()) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
}

double width_of(char32_t code) {
  if (code >= ' ' && code <= '~') return kAscii[code - ' '] / 100.0;
  for (const Span& span : kSpans)
    if (code >= span.first && code <= span.last) return span.width;
  return kLetter;
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

bool stands_on_another(std::string_view character) { return width_of(code_of(character)) == 0; }

}  // namespace

double text_width(std::string_view text, double size, bool bold) {
  double width = 0;
  for (const std::string_view character : characters(text)) width += width_of(code_of(character));
  return width * size * (bold ? kBold : 1);
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
  while (tail < all.size() && stands_on_another(all[tail])) ++tail;
  std::string out;
  for (std::size_t i = 0; i < head; ++i) out += all[i];
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out += dots;
  while (tail < all.size() && all[tail] == " ") ++tail;
  for (std::size_t i = tail; i < all.size(); ++i) out += all[i];
  return out;
}

}  // namespace dptrain::picture
