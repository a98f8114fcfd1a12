#include "nn/attention.h"

#include "core/format.h"
#include "nn/layer.h"

template <>
struct dptrain::config::EnumNames<dptrain::nn::ScoreMode> {
  static constexpr std::array names{std::pair{dptrain::nn::ScoreMode::kDot, "dot"},
                                    std::pair{dptrain::nn::ScoreMode::kConcat, "concat"}};
};

namespace dptrain::nn {
namespace {

std::vector<WeightDef> attention_weights(const AttentionSpec& spec, std::span<const Shape>) {
  std::vector<WeightDef> all;
  if (spec.use_scale) all.push_back({.name = "scale", .shape = Shape{}, .initializer = Initializer(Ones{})});
  if (spec.score_mode == ScoreMode::kConcat)
    all.push_back({.name = "concat_score_weight", .shape = Shape{}, .initializer = Initializer(Ones{})});
  return all;
}

const Registered kAttention =
    layer<AttentionSpec>("Attention")
        .key(key("use_scale", &AttentionSpec::use_scale))
        .key(key("score_mode", &AttentionSpec::score_mode))
        .key(key("dropout", &AttentionSpec::dropout).at_least(0).below(1))
        .key(key("use_causal_mask", &AttentionSpec::use_causal_mask))
        .inputs(2, 3)
        .random([](const AttentionSpec& spec) { return spec.dropout > 0; })
        .masks(MaskRule::kPasses)
        .heeds_masks()
        .output([](const AttentionSpec&, std::span<const Shape> in) { return attention_shape(in); })
        .weights(attention_weights)
        .backward_reads(BackwardReads{.input = true, .output = true, .masks = true});

}  // namespace

Shape attention_shape(std::span<const Shape> in) {
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].rank() != 2)
      throw LayerError(fmt::format("expected inputs of 2 axes (steps, features), {{{}}} is {}", i, in[i].str()));
  const std::size_t key = in.size() - 1;
  if (in[key][0] != in[1][0])
    throw LayerError(fmt::format("value and key have as many steps as the other, {{1}} is {} and {{2}} {}", in[1].str(),
                                 in[2].str()));
  if (in[key][1] != in[0][1])
    throw LayerError(fmt::format("query and key have as many features as the other, {{0}} is {} and {{{}}} {}",
                                 in[0].str(), key, in[key].str()));
  return {in[0][0], in[1][1]};
}

}  // namespace dptrain::nn
