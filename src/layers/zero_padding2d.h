#pragma once

#include "config/value.h"

namespace dptrain::layers {

/// Rows and columns of zeros around [H, W, C]: n, [symmetric_h, symmetric_w] or [[top, bottom], [left, right]] (Keras ZeroPadding2D).
struct ZeroPadding2DSpec {
  struct Sides {
    std::int64_t top = 1, bottom = 1, left = 1, right = 1;
  };
  Sides padding;
};

}  // namespace dptrain::layers

namespace dptrain::config {
template <>
struct Value<layers::ZeroPadding2DSpec::Sides> {
  static bool read(const Node&, Reader&, layers::ZeroPadding2DSpec::Sides& out);
  static Node write(const layers::ZeroPadding2DSpec::Sides&);
  static Node schema();
};
}  // namespace dptrain::config
