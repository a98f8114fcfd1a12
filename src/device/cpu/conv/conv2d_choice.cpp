#include "device/cpu/conv/conv2d_choice.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "core/format.h"
#include "device/conv_choices.h"
#include "device/cpu/conv/conv2d_dnnl.h"
#include "device/cpu/conv/conv2d_first.h"
#include "device/cpu/conv/conv2d_gemm.h"
#include "device/cpu/conv/conv2d_pooled.h"
#include "device/cpu/conv/conv2d_turned.h"
#include "device/cpu/conv/conv2d_winograd.h"
#include "device/cpu/conv/conv_key.h"

// Measured on an AVX-512 core (3.0 GHz, no AMX), one thread, milliseconds of CPU time, all reorders included: Winograd
// here (before it fetched ahead what it writes: larger images are up to 1.15 times as fast since, gradients of weights
// 1.45 times), and the best of oneDNN 2.6.3's direct kernels:
//
//   rows, layer                        forward          backward data    backward weights
//                                      here  oneDNN     here  oneDNN     here  oneDNN
//   512, 32->64, 13x13, 3x3 valid       9.1    15.2     10.1    18.1      9.3    18.5
//   512, 64->64, 5x5, 3x3 valid         0.95    2.4      1.1     2.4      1.2     3.4
//    64, 16->16, 32x32, 3x3 same        1.25    2.0      1.4     2.0      1.4     2.1
//    64, 16->32, 32x32, 3x3 same        1.9     3.8      2.2     4.0      2.1     4.4
//    64, 32->32, 16x16, 3x3 same        0.81    1.8      1.1     1.8      0.97    1.9
//    64, 64->64, 8x8, 3x3 same          0.66    1.6      0.72    1.8      0.87    1.8
//    64, 8->8, 32x32, 3x3 same          1.1     1.1      1.3     0.96     1.3     1.1
//    64, 8->16, 32x32, 3x3 same         1.2     1.1      1.3     2.0      1.3     1.2
//    16, 64->64, 56x56, 3x3 same       12.5    27.6     12.1    24.0     10.2    26.6
//     4, 256->256, 56x56, 3x3 same     37.9    90.7     49.5   107.1     48.1   103.2
//     4, 512->512, 28x28, 3x3 same     48.6    89.8     59.9   113.2     49.3   137.5
//    16, 512->512, 7x7, 3x3 same       23.2    25.1     24.4    23.7     16.7    27.7
//   128, 64->64, 12x12, 5x5 same       11.1    18.5     11.4    20.3     12.8    21.2
//    64, 32->32, 14x14, 5x5 valid       2.1     3.3      2.6     3.3      2.4     3.6
//    64, 6->16, 28x28, 5x5 valid        2.3     1.3      2.7     2.8      2.6     1.4
//
// So: Winograd from 12 channels on, unless the output is so small that its tiles are mostly empty. Of oneDNN NHWC
// wherever it has a generated kernel for it (reading the weights as HWIO without a reorder falls to a matrix product, 2
// to 5 times as slow: weights are reordered, 0 to 1 ms). oneDNN's own Winograd (2.x, AVX-512) is not used: it gives a
// sample other last bits in another batch, after which a ReLU switches in one and not in the other.

namespace dptrain::device::cpu {
namespace {

constexpr std::int64_t kWinogradChannels = 12;  // vectors and blocks of 16 must not be half empty

/// A way to compute passes.
struct Way {
  const char* name;
  bool winograd;
  bool pools;  ///< knows ConvShape::pool; else the pooling is computed apart
  std::unique_ptr<ConvPass> (*make)(ConvPassKind, const ConvShape&, Dnnl&);
};

template <DnnlLayout kLayout>
std::unique_ptr<ConvPass> make_dnnl(ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) {
  return make_dnnl_conv(kind, shape, kLayout, dnnl);
}

constexpr Way kFirst{"direct", false, true,
                     [](ConvPassKind kind, const ConvShape& shape, Dnnl&) { return make_first_conv(kind, shape); }};
constexpr Way kWinograd{"winograd", true, true, [](ConvPassKind kind, const ConvShape& shape, Dnnl&) {
                          return make_winograd_conv(kind, shape);
                        }};
constexpr Way kGemm{"gemm", false, false,
                    [](ConvPassKind kind, const ConvShape& shape, Dnnl&) { return make_gemm_conv(kind, shape); }};
constexpr Way kDnnlNhwc{"dnnl nhwc", false, false, make_dnnl<DnnlLayout::kNhwc>};
constexpr Way kDnnlBlocked{"dnnl blocked", false, false, make_dnnl<DnnlLayout::kBlocked>};
constexpr Way kDnnlTurned{"dnnl turned", false, false, make_turned_conv};
constexpr std::array kWays{kFirst, kWinograd, kGemm, kDnnlTurned, kDnnlNhwc, kDnnlBlocked};

ConvShape without_pooling(ConvShape shape) {
  shape.pool = false;
  return shape;
}

/// Without a pass where this is no way to compute it.
ChosenConv make(const Way& way, ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) {
  if (way.pools || !shape.pool) return {way.name, way.make(kind, shape, dnnl)};
  auto apart = way.make(kind, without_pooling(shape), dnnl);
  return {way.name, apart ? with_pooling(kind, shape, std::move(apart)) : nullptr};
}

/// The way of our own that the rules name; null where there is none or oneDNN is faster.
const Way* own_way(ConvPassKind kind, const ConvShape& shape, ConvChoice choice) {
  if (make_first_conv(kind, shape)) return &kFirst;
  if (gemm_pairs(kind, shape)) return &kGemm;
  if (choice == ConvChoice::kAuto && winograd_pays(shape) && make_winograd_conv(kind, shape)) return &kWinograd;
  return gemm_pays(kind, shape) ? &kGemm : nullptr;
}

/// What was timed for this pass on this machine. Without a pass where nothing was, or where it must not be used.
ChosenConv tuned(ConvPassKind kind, const ConvShape& shape, const RuntimeOptions& options, Dnnl& dnnl) {
  if (!options.conv_choices || gemm_pairs(kind, shape)) return {};  // timed without what goes along
  const std::string* const name = options.conv_choices->tuned(conv_key(kind, shape));
  if (name == nullptr) return {};
  for (const Way& way : kWays)
    if (*name == way.name && !(way.winograd && options.conv == ConvChoice::kDirect)) {
      ChosenConv chosen = make(way, kind, shape, dnnl);
      chosen.tuned = true;
      return chosen;
    }
  return {};
}

}  // namespace

bool winograd_pays(const ConvShape& s) {
  if (s.kernel_h != s.kernel_w || (s.kernel_h != 3 && s.kernel_h != 5)) return false;
  if (std::min(s.in_channels, s.out_channels) < kWinogradChannels) return false;
  const std::int64_t points = 6, tile = points - s.kernel_h + 1;
  const std::int64_t tiles = (s.out_h + tile - 1) / tile * ((s.out_w + tile - 1) / tile);
  return 2 * tiles * points * points <= s.kernel_h * s.kernel_w * s.out_h * s.out_w;
}

bool computes_pooling(ConvPassKind kind, const ConvShape& shape, ConvChoice choice) {
  const Way* const own = own_way(kind, shape, choice);
  return shape.pool && own != nullptr && own->pools;
}

ChosenConv choose_by_rule(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl) {
  if (const Way* const own = own_way(kind, shape, choice)) return make(*own, kind, shape, dnnl);
  ChosenConv turned = make(kDnnlTurned, kind, shape, dnnl);
  if (turned.pass && !is_slow(*turned.pass)) return turned;
  ChosenConv nhwc = make(kDnnlNhwc, kind, shape, dnnl);
  if (nhwc.pass && !is_slow(*nhwc.pass)) return nhwc;
  ChosenConv blocked = make(kDnnlBlocked, kind, shape, dnnl);
  if (blocked.pass && !is_slow(*blocked.pass)) return blocked;
  if (nhwc.pass) return nhwc;
  if (blocked.pass) return blocked;
  throw Error(ErrorKind::kDevice,
              fmt::format("oneDNN has no {} pass for a convolution of {}x{}x{} with kernel {}x{} to {}x{}x{}",
                          name_of(kind), shape.in_h, shape.in_w, shape.in_channels, shape.kernel_h, shape.kernel_w,
                          shape.out_h, shape.out_w, shape.out_channels));
}

ChosenConv choose_conv_pass(ConvPassKind kind, const ConvShape& shape, const RuntimeOptions& options, Dnnl& dnnl) {
  ChosenConv chosen = tuned(kind, shape, options, dnnl);
  if (!chosen.pass) chosen = choose_by_rule(kind, shape, options.conv, dnnl);
  if (options.conv_choices) options.conv_choices->note(kind, shape, chosen.name, chosen.tuned);
  return chosen;
}

std::vector<ChosenConv> conv_candidates(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl) {
  std::vector<ChosenConv> all;
  for (const Way& way : kWays) {
    if (way.winograd && choice == ConvChoice::kDirect) continue;
    ChosenConv candidate = make(way, kind, shape, dnnl);
    const bool of_dnnl = std::string_view(way.name).starts_with("dnnl");
    if (candidate.pass && !(of_dnnl && is_slow(*candidate.pass))) all.push_back(std::move(candidate));
  }
  if (all.empty()) all.push_back(choose_by_rule(kind, shape, choice, dnnl));
  return all;
}

}  // namespace dptrain::device::cpu
