#include "nn/local_response_normalization.h"

#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kLocalResponseNormalization =
    layer<LocalResponseNormalizationSpec>("LocalResponseNormalization")
        .positional(key("depth_radius", &LocalResponseNormalizationSpec::depth_radius).at_least(0).check(Bounded{}))
        .key(key("bias", &LocalResponseNormalizationSpec::bias).above(0))
        .key(key("alpha", &LocalResponseNormalizationSpec::alpha).at_least(0))
        .key(key("beta", &LocalResponseNormalizationSpec::beta))
        .inputs(1)
        .of_rank(3)
        .output([](const LocalResponseNormalizationSpec&, std::span<const Shape> in) { return in[0]; })
        .backward_reads(BackwardReads{.input = true});

}  // namespace
}  // namespace dptrain::nn
