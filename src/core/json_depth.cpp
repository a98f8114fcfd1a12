#include "core/json_depth.h"

#include "core/format.h"

namespace dptrain {

bool exceeds_json_depth(std::string_view text, int max_depth) noexcept {
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
      if (++depth > max_depth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

std::string_view check_json_depth(std::string_view text, ErrorKind kind, std::string_view what) {
  if (exceeds_json_depth(text))
    throw Error(kind, fmt::format("{} is JSON nested deeper than {} levels, which neither Keras nor dptrain writes: "
                                  "the file is damaged or malicious; use another",
                                  what, kMaxJsonDepth));
  return text;
}

}  // namespace dptrain
