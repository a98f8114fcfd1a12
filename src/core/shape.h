#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace dptrain {

/// Extents of a tensor, outermost first. Shapes of activations are those of one sample, without the batch dimension: an
/// image is [H, W, C].
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const noexcept { return static_cast<int>(dims_.size()); }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t back() const { return dims_.back(); }
  const std::vector<std::int64_t>& dims() const noexcept { return dims_; }

  /// Limit of elements(), larger than any memory. Untrusted files may declare more. Sums of such sizes in bytes do not
  /// overflow.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;
  /// Product of the extents, kMaxElements at most; 1 for rank 0.
  std::int64_t elements() const noexcept;
  /// "28x28x1"; "scalar" for rank 0.
  std::string str() const;

  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> dims_;
};

/// Height and width, always in this order.
struct Size2 {
  std::int64_t h = 1;
  std::int64_t w = 1;
  bool operator==(const Size2&) const = default;
};

}  // namespace dptrain
