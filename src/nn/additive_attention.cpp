#include "nn/additive_attention.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

std::vector<WeightDef> additive_weights(const AdditiveAttentionSpec& spec, std::span<const Shape> in) {
  if (!spec.use_scale) return {};
  return {{.name = "scale", .shape = {in[0].back()}, .initializer = Initializer(GlorotUniform{})}};
}

const Registered kAdditiveAttention =
    layer<AdditiveAttentionSpec>("AdditiveAttention")
        .key(key("use_scale", &AdditiveAttentionSpec::use_scale))
        .key(key("dropout", &AdditiveAttentionSpec::dropout).at_least(0).below(1))
        .key(key("use_causal_mask", &AdditiveAttentionSpec::use_causal_mask))
        .inputs(2, 3)
        .random([](const AdditiveAttentionSpec& spec) { return spec.dropout > 0; })
        .masks(MaskRule::kPasses)
        .heeds_masks()
        .output([](const AdditiveAttentionSpec&, std::span<const Shape> in) { return attention_shape(in); })
        .weights(additive_weights)
        .backward_reads(BackwardReads{.input = true, .output = true, .masks = true});

}  // namespace
}  // namespace dptrain::nn
