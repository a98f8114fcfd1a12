#pragma once

#include "config/value.h"

namespace dptrain::nn {

/// Rows and columns at the four sides of [H, W, C], as ZeroPadding2D adds and Cropping2D takes away. In a config: n,
/// [symmetric_h, symmetric_w] or [[top, bottom], [left, right]].
struct Sides {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// Steps at the two ends of [steps, channels]. In a config: n for both, or [before, after].
struct Ends {
  std::int64_t before = 0, after = 0;
};

/// A key's check that each is Bounded.
struct BoundedSides {
  std::string operator()(const Sides& sides) const;
  std::string operator()(const Ends& ends) const;
};

/// The sides of an image of height 1.
inline Sides along(const Ends& ends) { return {.left = ends.before, .right = ends.after}; }

}  // namespace dptrain::nn

namespace dptrain::config {
template <>
struct Value<nn::Sides> {
  static bool read(const Node&, Reader&, nn::Sides& out);
  static Node write(const nn::Sides&);
  static Node schema();
};
template <>
struct Value<nn::Ends> {
  static bool read(const Node&, Reader&, nn::Ends& out);
  static Node write(const nn::Ends&);
  static Node schema();
};
}  // namespace dptrain::config
