#include "device/cpu/conv2d_choice.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "device/cpu/conv2d_dnnl.h"
#include "device/cpu/conv2d_pooled.h"

// Measured with oneDNN 2.6.3 on an AVX-512 core (3.0 GHz, no AMX), one thread, milliseconds with all reorders:
//
//   rows, layer                     forward                backward data          backward weights
//                                   nhwc  blocked winograd nhwc  blocked winograd nhwc  blocked winograd
//   512, 1->32, 28x28, 3x3 valid     3.3    5.3    30       -      -       -       5.2    5.9    22
//   512, 32->64, 13x13, 3x3 valid   14.0   15.4     9.8    15.1   17.6    18.1    17.6   17.0    10.4
//    32, 32->64, 13x13, 3x3 valid    1.1             0.7    0.9            1.3     0.9             1.0
//   512, 64->64, 5x5, 3x3 valid      2.3    3.1     2.0     2.2    2.5     6.1     3.2    3.7     2.0
//    32, 64->64, 5x5, 3x3 valid      0.14           0.23    0.13           0.54    0.19           0.18
//    16, 64->64, 56x56, 3x3 same    22.2   23.6    11.3    21.0   23.7    11.5    22.7   25.0    13.6
//    16, 256->256, 14x14, 3x3 same  19.8   20.5    11.0    20.5   20.7    11.2    22.3   21.9    13.4
//    16, 512->512, 7x7, 3x3 same    20.6           16.0    20.1           16.5    24.7            13.4
//    64, 32->32, 12x12, 3x3 same     1.0             0.9    1.0            0.9     0.96            0.95
//   128, 16->16, 32x32, 3x3 same     3.6    5.2     5.3     3.8    4.9     4.9     4.0    4.9     3.9
//   128, 64->64, 12x12, 5x5 same    17.2   18.7      -     18.4   18.8      -     18.0   19.9      -
//    16, 128->128, 28x28, 3x3 / 2    4.8    5.9      -      5.3    5.8      -      6.8    6.8      -
//    16, 256->64, 28x28, 1x1         2.4    3.7      -      2.5    3.4      -      2.6    4.1      -
//
// So: NHWC wherever oneDNN has a generated kernel for it (reading the weights as HWIO without a reorder falls to a matrix
// product, 2 to 5 times as slow: weights are reordered, 0 to 1 ms); Winograd from 32 channels on, but for small outputs
// only the weights' gradient, and not for the data gradient of "valid" convolutions, which Winograd pads. With AVX2 the
// same kernels are the fastest and there is no Winograd. oneDNN 3.2: within 20 % of the direct figures, no Winograd.
//
// Never forward, although it is faster there: oneDNN's Winograd gives a sample other last bits in a batch of 43 than in one
// of 128. A ReLU then switches in one and not in the other, and Adam makes of it a loss that differs by 2.1e-4 after 20
// steps on 3 replicas; with the direct kernels it is 7.5e-6. Gradients may differ in their last bits, activations may not.

namespace dptrain::device::cpu {
namespace {

constexpr std::int64_t kWinogradChannels = 32;
constexpr std::int64_t kWinogradOutput = 7;

const char* name_of(ConvPassKind kind) {
  switch (kind) {
    case ConvPassKind::kForward: return "forward";
    case ConvPassKind::kBackwardData: return "backward data";
    case ConvPassKind::kBackwardWeights: return "backward weights";
  }
  return "";
}

}  // namespace

bool winograd_pays(ConvPassKind kind, const ConvShape& s) {
  const Size2 one{1, 1};
  if (s.kernel != Size2{3, 3} || s.strides != one || s.dilation != one || s.groups != 1) return false;
  if (kind == ConvPassKind::kForward || std::min(s.in_channels, s.out_channels) < kWinogradChannels) return false;
  if (kind == ConvPassKind::kBackwardWeights) return true;
  if (kind == ConvPassKind::kBackwardData && std::min(s.pad_top, s.pad_left) < 1) return false;
  return std::min(s.out_h, s.out_w) >= kWinogradOutput;
}

bool computes_pooling(ConvPassKind, const ConvShape&, ConvChoice) { return false; }  // oneDNN's never do

std::unique_ptr<ConvPass> choose_conv_pass(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl) {
  if (shape.pool) {
    ConvShape apart = shape;
    apart.pool = false;
    return with_pooling(kind, shape, choose_conv_pass(kind, apart, choice, dnnl));
  }
  if (choice == ConvChoice::kAuto && winograd_pays(kind, shape))
    if (auto winograd = make_dnnl_conv(kind, shape, DnnlAlgorithm::kWinograd, DnnlLayout::kBlocked, dnnl))
      return winograd;
  auto nhwc = make_dnnl_conv(kind, shape, DnnlAlgorithm::kDirect, DnnlLayout::kNhwc, dnnl);
  if (nhwc && !is_slow(*nhwc)) return nhwc;
  auto blocked = make_dnnl_conv(kind, shape, DnnlAlgorithm::kDirect, DnnlLayout::kBlocked, dnnl);
  if (blocked && !is_slow(*blocked)) return blocked;
  if (nhwc) return nhwc;
  if (blocked) return blocked;
  throw Error(ErrorKind::kDevice,
              fmt::format("oneDNN has no {} pass for a convolution of {}x{}x{} with kernel {}x{} to {}x{}x{}",
                          name_of(kind), shape.in_h, shape.in_w, shape.in_channels, shape.kernel.h, shape.kernel.w,
                          shape.out_h, shape.out_w, shape.out_channels));
}

}  // namespace dptrain::device::cpu
