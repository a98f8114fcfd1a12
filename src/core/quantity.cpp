#include "core/quantity.h"

#include <array>
#include <cmath>

#include "core/format.h"

namespace dptrain {

std::string plural(std::int64_t count, std::string_view noun) {
  std::string word(noun);
  if (count == 1) return word;
  if (noun.ends_with("epoch")) return word + "s";
  constexpr std::array kSibilants{"s", "x", "z", "ch", "sh"};
  for (const char* const end : kSibilants)
    if (noun.ends_with(end)) return word + "es";
  const bool consonant_y = noun.size() > 1 && noun.ends_with('y') &&
                           std::string_view("aeiou").find(noun[noun.size() - 2]) == std::string_view::npos;
  if (consonant_y) return word.substr(0, word.size() - 1) + "ies";
  return word + "s";
}

std::string rate_text(double per_second) {
  if (per_second >= 99.95) return std::isfinite(per_second) ? with_commas(std::llround(per_second)) : "inf";
  return fmt::format("{:.{}f}", per_second, per_second < 9.995 ? 2 : 1);
}

std::string speed_text(double samples_per_second) { return rate_text(samples_per_second) + " samples/s"; }

std::string duration_text(double seconds) {
  if (seconds < 0.00995) return fmt::format("{:.2g} ms", seconds * 1e3);
  if (seconds < 9.95) return fmt::format("{:.2g} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace dptrain
