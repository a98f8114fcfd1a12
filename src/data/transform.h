#pragma once

// Transforms: from a source's array to the model's input. Random ones draw from Philox keyed by (seed, transform, epoch,
// sample), so what a sample looks like in an epoch does not depend on batches, threads or replicas. A Pipeline is immutable
// and shared by all loader threads.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

/// One transform bound to its spec. Immutable.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual bool random() const { return false; }
  /// False: `image` is f32 when it comes in. True: it may be u8 as well.
  virtual bool takes_u8() const { return false; }
  /// Output shape for an input shape (rank 0: unknown). Throws Error{kUsage}.
  virtual Shape output(const Shape& input) const = 0;
  /// Transforms in place, or into `spare` and swaps. `index` is the place in the pipeline: part of the key of the draws.
  virtual void apply(Array& image, Array& spare, const DrawKey& key, std::uint32_t index) const = 0;
  /// y = x * scale + offset for every element: the loader folds it into the gather. Nothing for other transforms.
  virtual std::optional<std::pair<float, float>> affine() const { return std::nullopt; }
};
/// A transform of transform_family().
std::unique_ptr<Transform> make_transform(const config::Typed& spec);
/// Whether the transforms are written for bytes 0..255: Synthetic then makes such (ModelSide::pixels).
bool expect_pixels(const std::vector<config::Typed>& transforms);

class Pipeline {
 public:
  Pipeline() = default;
  /// Throws Error{kUsage} at the transform's mark for random ones in evaluation.
  Pipeline(const std::vector<config::Typed>& transforms, bool evaluation);

  /// Throws Error{kUsage} at the mark of the transform that the shape does not fit.
  Shape output(const Shape& input) const;
  /// Runs all; the result is f32 in `image`.
  void apply(Array& image, Array& spare, const DrawKey& key) const;
  /// All transforms together as one affine function, or nothing.
  std::optional<std::pair<float, float>> affine() const;
  bool random() const;

 private:
  struct Step {
    std::shared_ptr<const Transform> transform;
    std::string place;  ///< "configs/a.yaml:14:7: error: RandomCrop"
  };
  std::vector<Step> steps_;
};

}  // namespace dptrain::data
