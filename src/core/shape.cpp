#include "core/shape.h"

namespace dptrain {

std::int64_t Shape::elements() const noexcept {
  std::int64_t n = 1;
  for (const std::int64_t d : dims_) n *= d;
  return n;
}

std::string Shape::str() const {
  if (dims_.empty()) return "scalar";
  std::string text;
  for (const std::int64_t d : dims_) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text;
}

}  // namespace dptrain
