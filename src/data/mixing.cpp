#include "data/mixing.h"

#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"

namespace dptrain::data {

void Mixing::apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const { copy_image(in, out); }

std::int64_t Mixing::partner(const DrawKey& key, std::uint32_t index, std::int64_t samples) const {
  RandomStream stream = draws(key, inner_index(index, kPartnerDraw));
  return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(samples)));
}

}  // namespace dptrain::data
