#include "nn/rescaling.h"

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const RescalingSpec& spec, std::span<const Shape> in) {
  for (const auto& [name, channels] : {std::pair("scale", &spec.scale), std::pair("offset", &spec.offset)}) {
    const auto count = static_cast<std::int64_t>(channels->values.size());
    if (count != 1 && (in[0].rank() == 0 || count != in[0].back()))
      throw LayerError(fmt::format("{} has {} values, expected 1 or as many as the last axis of {{0}}, which is {}",
                                   name, count, in[0].str()));
  }
  return in[0];
}

std::string no_values_complaint(const ChannelValues& channels) {
  return channels.values.empty() ? "must not be empty" : "";
}

const Registered kRescaling = layer<RescalingSpec>("Rescaling")
                                  .positional(key("scale", &RescalingSpec::scale).required().check(no_values_complaint))
                                  .key(key("offset", &RescalingSpec::offset).check(no_values_complaint))
                                  .inputs(1)
                                  .masks(MaskRule::kPasses)
                                  .output(output);

}  // namespace

bool is_plain(const RescalingSpec& spec) { return spec.scale.values.size() == 1 && spec.offset.values.size() == 1; }

ChannelAffine channel_affine(const RescalingSpec& spec, const Shape& in) {
  ChannelAffine all(static_cast<std::size_t>(in.back()));
  for (std::size_t c = 0; c < all.scale.size(); ++c) {
    all.scale[c] = static_cast<float>(spec.scale.of(c));
    all.offset[c] = static_cast<float>(spec.offset.of(c));
  }
  return all;
}

}  // namespace dptrain::nn
