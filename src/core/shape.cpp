#include "core/shape.h"

#include <algorithm>

namespace dptrain {

std::int64_t Shape::elements() const noexcept {
  std::int64_t n = 1;
  for (const std::int64_t d : dims_)
    if (__builtin_mul_overflow(n, d, &n)) return kMaxElements;
  return std::min(n, kMaxElements);
}

std::string Shape::str() const {
  if (dims_.empty()) return "scalar";
  std::string text;
  for (const std::int64_t d : dims_) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text;
}

}  // namespace dptrain
