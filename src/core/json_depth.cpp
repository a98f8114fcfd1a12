#include "core/json_depth.h"

#include "core/format.h"

namespace dptrain {

bool json_nests_deeper(std::string_view text, int most) noexcept {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

std::string_view shallow_json(std::string_view text, ErrorKind kind, std::string_view what) {
  if (json_nests_deeper(text))
    throw Error(kind, fmt::format("{} is JSON nested deeper than {} levels, which neither Keras nor dptrain writes: "
                                  "the file is damaged or malicious; use another",
                                  what, kDeepestJson));
  return text;
}

}  // namespace dptrain
