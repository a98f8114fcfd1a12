#include "backend/cpu/conv/conv2d_choice.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "backend/conv_choices.h"
#include "backend/cpu/conv/conv_key.h"
#include "backend/cpu/conv/conv_passes.h"
#include "backend/cpu/dnnl_support.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/cpu/winograd.h"

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
//
// With factors rounded to bfloat16, by AMX, on an Intel Xeon that has it, one thread, milliseconds with all roundings
// and reorders: the best of oneDNN 2.6.3 with bfloat16 and the best of float32 (Winograd, products of matrices,
// direct):
//
//   rows, layer                        forward          backward data    backward weights
//                                      bf16   f32       bf16   f32       bf16   f32
//    32, 64->64, 56x56, 3x3 same       11.7   18.3      12.4   16.8      14.8   19.3   (rows are fewer where one has
//    32, 128->128, 28x28, 3x3 same      7.2   20.2       9.1   18.4      11.4   17.8    more than 8 GFLOP)
//    32, 512->512, 7x7, 3x3 same       12.0   19.3      15.0   19.6      25.4   27.9
//    32, 512->512, 14x14, 3x3/2        18.2   47.8      26.1   48.4      65.4   52.6
//    32, 64->256, 56x56, 1x1           15.7   25.1      13.8   21.9      28.8   32.9
//    32, 1024->512, 14x14, 1x1         10.4   38.5       9.4   40.6      15.9   47.6
//    32, 3->64, 224x224, 7x7/2         22.3   46.7                       56.8   57.3
//    16, 3->64, 224x224, 3x3 same      51.0   27.9                       73.1   36.4
//   128, 3->64, 24x24, 5x5 same         2.2    5.2                        7.1    4.6
//   128, 64->64, 12x12, 5x5 same        3.5    9.8       3.5   10.1      13.3   11.6
//   512, 32->64, 13x13, 3x3 valid       1.6    3.0       2.4    3.7       4.5    3.5
//   512, 64->64, 5x5, 3x3 valid         0.41   0.42      0.67   0.44      2.2    0.61
//    16, 128->128, 28x28, 3x3, 32 groups  4.1  2.3       4.1    2.3       6.6    4.0
//
// So: bfloat16, but for groups, for the gradients of weights of small images, whose kernels transpose what they read,
// and for first layers of few products. By AVX-512 BF16 alone such a core multiplies half as fast as in float32;
// elsewhere it should be twice as fast, so it takes what float32 has no kernel of ours for.

namespace dptrain::backend::cpu {
namespace {

constexpr std::int64_t kAmxTaps = 64, kAmxPixels = 14 * 14;  // amx_pays
constexpr std::int64_t kWinogradChannels = 12;               // vectors and blocks of 16 must not be half empty

/// A way to compute passes.
struct Way {
  const char* name;
  bool winograd;
  bool pools;  ///< knows ConvShape::pool; else the pooling is computed apart
  std::unique_ptr<ConvPass> (*make)(ConvPassKind, const ConvShape&, Dnnl&);
  bool bfloat16 = false;  ///< rounds factors: for ConvShape::bfloat16 alone
};

template <DnnlLayout kLayout, bool kBfloat16 = false>
std::unique_ptr<ConvPass> make_dnnl(ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) {
  return make_dnnl_conv(kind, shape, {.layout = kLayout, .bfloat16 = kBfloat16}, dnnl);
}
template <bool kBfloat16>
std::unique_ptr<ConvPass> make_turned(ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) {
  return make_turned_conv(kind, shape, kBfloat16, dnnl);
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
constexpr Way kDnnlTurned{"dnnl turned", false, false, make_turned<false>};
constexpr Way kRoundedProducts{"dnnl bf16 products", false, false, make_products_conv, true};
constexpr Way kRoundedNhwc{"dnnl bf16 nhwc", false, false, make_dnnl<DnnlLayout::kNhwc, true>, true};
constexpr Way kRoundedTurned{"dnnl bf16 turned", false, false, make_turned<true>, true};
constexpr std::array kWays{kFirst,       kWinograd,        kGemm,          kDnnlTurned, kDnnlNhwc,
                           kDnnlBlocked, kRoundedProducts, kRoundedTurned, kRoundedNhwc};

ConvShape without_pooling(ConvShape shape) {
  shape.pool = false;
  return shape;
}

/// Without a pass where this is no way to compute it.
ChosenConv make(const Way& way, ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) {
  if (way.bfloat16 && !shape.bfloat16) return {};
  if (way.pools || !shape.pool) return {way.name, way.make(kind, shape, dnnl)};
  auto apart = way.make(kind, without_pooling(shape), dnnl);
  return {way.name, apart ? with_pooling(kind, shape, std::move(apart)) : nullptr};
}

/// The way of our own, in float32, that the rules name; null where there is none or oneDNN is faster.
const Way* own_way(ConvPassKind kind, const ConvShape& shape, ConvChoice choice) {
  if (make_first_conv(kind, shape)) return &kFirst;
  if (gemm_pairs(kind, shape)) return &kGemm;
  if (choice == ConvChoice::kAuto && winograd_pays(shape) && make_winograd_conv(kind, shape)) return &kWinograd;
  return gemm_pays(kind, shape) ? &kGemm : nullptr;
}

/// Whether by AMX a way that rounds factors to bfloat16 is faster than all of float32.
bool amx_pays(ConvPassKind kind, const ConvShape& s) {
  if (kind == ConvPassKind::kForward) return s.taps() >= kAmxTaps || !make_first_conv(kind, s);
  if (kind == ConvPassKind::kBackwardData) return true;
  if (s.one_pixel()) return fits_rounded_products(s);
  return s.out_h * s.out_w >= kAmxPixels && !make_first_conv(kind, s);
}

/// Whether the rules take ways that round factors to bfloat16, where oneDNN has any.
bool rounds(ConvPassKind kind, const ConvShape& shape, ConvChoice choice) {
  if (!shape.bfloat16 || shape.groups > 1) return false;
  if (bfloat16_here() == Bfloat16::kAmx) return amx_pays(kind, shape);
  return own_way(kind, shape, choice) == nullptr;
}

/// The first of these ways that has a pass which is a generated kernel.
ChosenConv first_fast(std::initializer_list<const Way*> ways, ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) {
  for (const Way* const way : ways)
    if (ChosenConv chosen = make(*way, kind, shape, dnnl); chosen.pass && !is_slow(*chosen.pass)) return chosen;
  return {};
}

/// What was timed for this pass on this machine. Without a pass where nothing was, or where it must not be used.
ChosenConv tuned(ConvPassKind kind, const ConvShape& shape, const RuntimeOptions& options, Dnnl& dnnl) {
  const bool pairs = gemm_pairs(kind, shape) && !rounds(kind, shape, options.conv);  // timed without what goes along
  if (!options.conv_choices || pairs) return {};
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
  return 2 * kernels::cpu::winograd_products({s, s.relu, s.pool}) <= s.kernel_h * s.kernel_w * s.out_h * s.out_w;
}

bool computes_pooling(ConvPassKind kind, const ConvShape& shape, ConvChoice choice) {
  if (rounds(kind, shape, choice)) return false;
  const Way* const own = own_way(kind, shape, choice);
  return shape.pool && own != nullptr && own->pools;
}

ChosenConv choose_by_rule(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl) {
  if (rounds(kind, shape, choice))
    if (ChosenConv chosen = first_fast({&kRoundedProducts, &kRoundedTurned, &kRoundedNhwc}, kind, shape, dnnl);
        chosen.pass)
      return chosen;
  if (const Way* const own = own_way(kind, shape, choice)) return make(*own, kind, shape, dnnl);
  if (ChosenConv chosen = first_fast({&kDnnlTurned, &kDnnlNhwc, &kDnnlBlocked}, kind, shape, dnnl); chosen.pass)
    return chosen;
  for (const Way* const way : {&kDnnlNhwc, &kDnnlBlocked})
    if (ChosenConv chosen = make(*way, kind, shape, dnnl); chosen.pass) return chosen;
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

}  // namespace dptrain::backend::cpu
