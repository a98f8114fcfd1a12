// Transposed convolutions. Kernels [window..., out, in] become [in, out, window...]. The pads are those of the
// convolution that leads back; what ONNX's arithmetic makes more than Keras's is cut behind, what it makes less is
// output_padding.

#include <algorithm>
#include <utility>

#include "formats/onnx/layers/windows.h"
#include "nn/convolutions.h"

namespace dptrain::formats::onnx {
namespace {

template <class Spec>
Value transposed(const Spec& spec, Call& call) {
  const Value x = call.to.channels_first(call.x());
  const Windows windows = windows_of(spec);
  std::vector<std::int64_t> pads, after, more;
  Dims dims{kBatch, spec.filters};
  for (std::size_t i = 0; i < windows.size.size(); ++i) {
    const std::int64_t in = x.dims[i + 2], out = call.output[static_cast<int>(i)];
    const nn::WindowAxis back =
        nn::window_axis(out, windows.size[i], windows.strides[i], windows.dilation[i], windows.padding);
    const std::int64_t whole = (in - 1) * windows.strides[i] + (windows.size[i] - 1) * windows.dilation[i] + 1;
    const std::int64_t cut = whole - out - back.pad_before;
    pads.push_back(back.pad_before);
    after.push_back(std::max<std::int64_t>(cut, 0));
    more.push_back(std::max<std::int64_t>(-cut, 0));
    dims.push_back(out);
  }
  pads.insert(pads.end(), after.begin(), after.end());
  const Value y =
      call.to.node("ConvTranspose", {x, kernel_of(call, call.weight("kernel")), bias_of(call)}, std::move(dims),
                   {{"kernel_shape", windows.size},
                    {"strides", windows.strides},
                    {"dilations", windows.dilation},
                    {"pads", pads},
                    {"output_padding", more}});
  return call.to.activate(call.to.channels_last(y), spec.activation);
}

const RegisteredForm kConv1DTranspose = form<nn::Conv1DTransposeSpec>(transposed<nn::Conv1DTransposeSpec>);
const RegisteredForm kConv2DTranspose = form<nn::Conv2DTransposeSpec>(transposed<nn::Conv2DTransposeSpec>);
const RegisteredForm kConv3DTranspose = form<nn::Conv3DTransposeSpec>(transposed<nn::Conv3DTransposeSpec>);

}  // namespace
}  // namespace dptrain::formats::onnx
