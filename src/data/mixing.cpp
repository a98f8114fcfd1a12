#include "data/mixing.h"

#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"

namespace dptrain::data {

void Mixing::apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const { copy_image(in, out); }

void Mixing::mix_samples(const ImageView& own, const ImageView& other, Array& out, const DrawKey& key,
                         std::uint32_t index) const {
  if (!is_clip(own.shape)) return mix(own, other, out, key, index);
  thread_local Array frame;  // of a worker
  for (std::int64_t f = 0; f < own.shape[0]; ++f) {
    mix(frame_of(own, f), frame_of(other, f), frame, key, index);
    set_frame(frame, f, own.shape[0], out);
  }
}

std::int64_t Mixing::partner(const DrawKey& key, std::uint32_t index, std::int64_t samples) const {
  RandomStream stream = draws(key, inner_index(index, kPartnerDraw));
  return static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(samples)));
}

}  // namespace dptrain::data
