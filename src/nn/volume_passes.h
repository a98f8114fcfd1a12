#pragma once

// Layers over volumes, [depth, height, width, C], that are computed by two layers over images. Devices put the ops of
// these together (backend/volume_op.h) and have no op of the layer. The table is filled before main and read-only
// afterwards: any thread may read it.

#include <functional>
#include <typeindex>

#include "nn/layer.h"

namespace dptrain::nn {

/// `frames` on every frame [height, width, C], then `depth` on [depth, height * width, C] of what they give. One of
/// them may be empty.
struct VolumePasses {
  config::Typed frames{}, depth{};
  explicit operator bool() const { return frames || depth; }
  const config::Typed& last() const { return depth ? depth : frames; }
};

/// Both empty where the layer is not computed so.
VolumePasses passes_of(const config::Typed& layer);
bool is_computed_in_passes(std::type_index spec);

/// A static object of this type puts what makes the passes of a `Spec` into the table:
///   const ComputedInPasses kUpSampling3DPasses(+[](const UpSampling3DSpec& spec) { ... });
struct ComputedInPasses {
  template <class Spec>
  explicit ComputedInPasses(VolumePasses (*make)(const Spec&)) {
    add(typeid(Spec), [make](const void* spec) { return make(*static_cast<const Spec*>(spec)); });
  }

 private:
  static void add(std::type_index spec, std::function<VolumePasses(const void* spec)> make);
};

}  // namespace dptrain::nn
