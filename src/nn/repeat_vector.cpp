#include "nn/repeat_vector.h"

#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kRepeatVector = layer<RepeatVectorSpec>("RepeatVector")
                                     .positional(key("n", &RepeatVectorSpec::n).required().at_least(1).check(Bounded{}))
                                     .inputs(1)
                                     .of_rank(1)
                                     .output([](const RepeatVectorSpec& spec, std::span<const Shape> in) {
                                       return Shape{spec.n, in[0][0]};
                                     });

}  // namespace
}  // namespace dptrain::nn
