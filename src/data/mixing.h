#pragma once

// Mixing: a transform that mixes a sample with a partner, and their labels in the same proportion (MixUp, CutMix). The
// partner is drawn from the whole data set and is, as the proportion is, a function of (seed, transform, epoch,
// sample): it depends neither on the batch nor on the order of samples, threads or replicas. Sample and partner have
// both been through the transforms before, each with its own draws. Immutable; any thread.

#include <cstdint>

#include "data/transform.h"

namespace dptrain::data {

class Mixing : public Transform {
 public:
  bool random() const final { return true; }
  const Mixing* mixing() const final { return this; }
  /// The sample by itself, unmixed.
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const final;

  /// One of `samples`, each as likely, the sample itself included.
  std::int64_t partner(const DrawKey& key, std::uint32_t index, std::int64_t samples) const;
  /// The sample's part in the label; the partner has the rest.
  virtual float weight(const DrawKey& key, std::uint32_t index) const = 0;
  /// `out` becomes the mix of two samples of one shape; of clips each pair of frames is mixed in the same way.
  void mix_samples(const ImageView& own, const ImageView& other, Array& out, const DrawKey& key,
                   std::uint32_t index) const;
  /// The same of images.
  virtual void mix(const ImageView& own, const ImageView& other, Array& out, const DrawKey& key,
                   std::uint32_t index) const = 0;
};

}  // namespace dptrain::data
