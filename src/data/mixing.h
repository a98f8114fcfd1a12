#pragma once

// Mixing: a transform that mixes a sample with a partner, and their labels in the same proportion (MixUp, CutMix). The
// partner, drawn from the whole data set, and the proportion depend only on (seed, transform, epoch, sample). Earlier
// transforms apply to sample and partner, each with its own draws. Immutable; any thread.

#include <cstdint>

#include "data/transform.h"

namespace dptrain::data {

class Mixing : public Transform {
 public:
  bool random() const final { return true; }
  const Mixing* mixing() const final { return this; }
  /// Copies the sample without mixing.
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const final;

  /// Index of the partner, uniform in [0, samples), possibly the sample itself.
  std::int64_t partner(const DrawKey& key, std::uint32_t index, std::int64_t samples) const;
  /// Weight of the sample's label; the partner's is 1 - weight.
  virtual float weight(const DrawKey& key, std::uint32_t index) const = 0;
  /// Mixes two samples of the same shape to `out`. All frames of clips are mixed with the same draws.
  void mix_samples(const ImageView& own, const ImageView& other, Array& out, const DrawKey& key,
                   std::uint32_t index) const;
  /// Mixes two images.
  virtual void mix(const ImageView& own, const ImageView& other, Array& out, const DrawKey& key,
                   std::uint32_t index) const = 0;
};

}  // namespace dptrain::data
