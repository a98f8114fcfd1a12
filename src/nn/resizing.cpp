#include "nn/resizing.h"

#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kResizing = layer<ResizingSpec>("Resizing")
                                 .key(key("height", &ResizingSpec::height).required().at_least(1).check(Bounded{}))
                                 .key(key("width", &ResizingSpec::width).required().at_least(1).check(Bounded{}))
                                 .key(key("interpolation", &ResizingSpec::interpolation))
                                 .inputs(1)
                                 .of_rank(3)
                                 .output([](const ResizingSpec& spec, std::span<const Shape> in) {
                                   return Shape{spec.height, spec.width, in[0][2]};
                                 });

}  // namespace
}  // namespace dptrain::nn
