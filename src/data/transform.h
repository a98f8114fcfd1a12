#pragma once

// Transforms: from a source's array to the model's input. Random ones draw from Philox keyed by (seed, transform, epoch,
// sample), so what a sample looks like in an epoch does not depend on batches, threads or replicas. A Pipeline is immutable
// and shared by all loader threads.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/family.h"
#include "core/shape.h"
#include "data/source.h"

namespace dptrain::data {

config::Family& transform_family();

/// What a random transform may depend on.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t sample = 0;  ///< index in the data set
  std::uint32_t epoch = 0;
};

/// One transform bound to its spec. `image` is f32 when it comes in unless is_u8() says that u8 is taken too.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual bool random() const = 0;
  /// Output shape for an input shape (rank 0: unknown). Throws Error{kUsage}.
  virtual Shape output(const Shape& input) const = 0;
  virtual void apply(Array& image, Array& spare, const DrawKey& key, std::uint32_t index) const = 0;
  /// y = x * scale + offset for every element: the loader folds it into the gather. Nothing for other transforms.
  virtual std::optional<std::pair<float, float>> affine() const { return std::nullopt; }
};
/// A transform of transform_family().
std::unique_ptr<Transform> make_transform(const config::Typed& spec);

class Pipeline {
 public:
  Pipeline() = default;
  /// Throws Error{kUsage} at the transform's mark when shapes do not fit, and for random ones in evaluation.
  Pipeline(const std::vector<config::Typed>& transforms, bool evaluation);

  Shape output(const Shape& input) const;
  /// Runs all; the result is f32 in `image`.
  void apply(Array& image, Array& spare, const DrawKey& key) const;
  /// All transforms together as one affine function, or nothing.
  std::optional<std::pair<float, float>> affine() const;
  bool random() const;

 private:
  std::vector<std::shared_ptr<const Transform>> transforms_;
};

}  // namespace dptrain::data
