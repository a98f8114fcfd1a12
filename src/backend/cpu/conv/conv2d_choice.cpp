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

// The rules follow from times of one thread with all reorders included, compared with oneDNN 2.6.3's direct kernels.
//
// Winograd with AVX-512 is 1.3 to 2.8 times as fast from 16 channels on, and 0.5 to 1.5 times with 6 or 8. For 7x7
// images, whose tiles are mostly empty, it is 1.0 to 1.7 times as fast. oneDNN's own Winograd (2.x) is not used: the
// last bits of a sample depend on its batch there. oneDNN's NHWC kernels reorder the weights; reading them as HWIO
// would fall back to a matrix product, 2 to 5 times as slow.
//
// bfloat16 by AMX is compared with the best of float32. Forward is 1.6 to 3.7 times as fast and gradients of inputs 1.3
// to 4.3 times, except groups, first layers of few taps, and images of 5x5. Gradients of weights are 1.0 to 3.0 times
// as fast, but 0.3 to 0.9 times for most small images and for first layers, because oneDNN transposes both images.
// With AVX-512 BF16 and no AMX, bfloat16 is used only where float32 has no kernel of ours: it may be half or twice as
// fast as float32.

namespace dptrain::backend::cpu {
namespace {

constexpr std::int64_t kAmxTaps = 64, kAmxPixels = 14 * 14;  // amx_is_faster
constexpr std::int64_t kWinogradChannels = 12;               // fewer leave half of a vector or block of 16 empty

/// An algorithm for convolution passes.
struct ConvAlgorithm {
  const char* name;
  bool winograd;
  bool pools;  ///< fuses ConvShape::pool; else the pooling is a separate pass
  std::unique_ptr<ConvPass> (*make)(ConvPassKind, const ConvShape&, Dnnl&);
  bool bfloat16 = false;  ///< rounds factors; requires ConvShape::bfloat16
};

template <DnnlLayout kLayout, bool kBfloat16 = false>
std::unique_ptr<ConvPass> make_dnnl(ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) {
  return make_dnnl_conv(kind, shape, {.layout = kLayout, .bfloat16 = kBfloat16}, dnnl);
}
template <bool kBfloat16>
std::unique_ptr<ConvPass> make_data_as_forward(ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) {
  return make_data_as_forward_conv(kind, shape, kBfloat16, dnnl);
}

constexpr ConvAlgorithm kFirst{"direct", false, true, [](ConvPassKind kind, const ConvShape& shape, Dnnl&) {
                                 return make_first_conv(kind, shape);
                               }};
constexpr ConvAlgorithm kWinograd{"winograd", true, true, [](ConvPassKind kind, const ConvShape& shape, Dnnl&) {
                                    return make_winograd_conv(kind, shape);
                                  }};
constexpr ConvAlgorithm kGemm{
    "gemm", false, false, [](ConvPassKind kind, const ConvShape& shape, Dnnl&) { return make_gemm_conv(kind, shape); }};
constexpr ConvAlgorithm kDnnlNhwc{"dnnl nhwc", false, false, make_dnnl<DnnlLayout::kNhwc>};
constexpr ConvAlgorithm kDnnlBlocked{"dnnl blocked", false, false, make_dnnl<DnnlLayout::kBlocked>};
constexpr ConvAlgorithm kDnnlDataAsForward{"dnnl turned", false, false, make_data_as_forward<false>};
constexpr ConvAlgorithm kRoundedProducts{"dnnl bf16 products", false, false, make_products_conv, true};
constexpr ConvAlgorithm kRoundedNhwc{"dnnl bf16 nhwc", false, false, make_dnnl<DnnlLayout::kNhwc, true>, true};
constexpr ConvAlgorithm kRoundedDataAsForward{"dnnl bf16 turned", false, false, make_data_as_forward<true>, true};
constexpr std::array kConvAlgorithms{
    kFirst,      kWinograd, kGemm, kDnnlDataAsForward, kDnnlNhwc, kDnnlBlocked, kRoundedProducts, kRoundedDataAsForward,
    kRoundedNhwc};

ConvShape without_pooling(ConvShape shape) {
  shape.pool = false;
  return shape;
}

/// The pass is null if `algorithm` does not support the shape.
ChosenConv make(const ConvAlgorithm& algorithm, ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) {
  if (algorithm.bfloat16 && !shape.bfloat16) return {};
  if (algorithm.pools || !shape.pool) return {algorithm.name, algorithm.make(kind, shape, dnnl)};
  auto apart = algorithm.make(kind, without_pooling(shape), dnnl);
  return {algorithm.name, apart ? with_pooling(kind, shape, std::move(apart)) : nullptr};
}

/// The float32 algorithm of kernels/cpu that the rules choose; null if oneDNN's is faster.
const ConvAlgorithm* own_algorithm(ConvPassKind kind, const ConvShape& shape, ConvChoice choice) {
  if (make_first_conv(kind, shape)) return &kFirst;
  if (gemm_fusion_is_faster(kind, shape)) return &kGemm;
  if (choice == ConvChoice::kAuto && winograd_is_faster(shape) && make_winograd_conv(kind, shape)) return &kWinograd;
  return gemm_is_faster(kind, shape) ? &kGemm : nullptr;
}

/// Whether bfloat16 by AMX is faster than all float32 algorithms.
bool amx_is_faster(ConvPassKind kind, const ConvShape& s) {
  if (kind == ConvPassKind::kForward) return s.taps() >= kAmxTaps || !make_first_conv(kind, s);
  if (kind == ConvPassKind::kBackwardData) return true;
  if (s.one_pixel()) return fits_rounded_products(s);
  return s.out_h * s.out_w >= kAmxPixels && !make_first_conv(kind, s);
}

/// Whether the rules prefer bfloat16, if oneDNN supports it for the shape.
bool rounds(ConvPassKind kind, const ConvShape& shape, ConvChoice choice) {
  if (!shape.bfloat16 || shape.groups > 1) return false;
  if (bfloat16_here() == Bfloat16::kAmx) return amx_is_faster(kind, shape);
  return own_algorithm(kind, shape, choice) == nullptr;
}

/// The first of `algorithms` for which oneDNN has a generated kernel. The pass is null if there is none.
ChosenConv first_fast(std::initializer_list<const ConvAlgorithm*> algorithms, ConvPassKind kind, const ConvShape& shape,
                      Dnnl& dnnl) {
  for (const ConvAlgorithm* const algorithm : algorithms)
    if (ChosenConv chosen = make(*algorithm, kind, shape, dnnl); chosen.pass && !is_slow(*chosen.pass)) return chosen;
  return {};
}

/// The fastest algorithm by timings on this machine. The pass is null if none applies.
ChosenConv tuned(ConvPassKind kind, const ConvShape& shape, const RuntimeOptions& options, Dnnl& dnnl) {
  const bool fuses_passes =
      gemm_fusion_is_faster(kind, shape) && !rounds(kind, shape, options.conv);  // timed without the normalization
  if (!options.conv_choices || fuses_passes) return {};
  const std::string* const name = options.conv_choices->tuned(conv_key(kind, shape));
  if (name == nullptr) return {};
  for (const ConvAlgorithm& algorithm : kConvAlgorithms)
    if (*name == algorithm.name && !(algorithm.winograd && options.conv == ConvChoice::kDirect)) {
      ChosenConv chosen = make(algorithm, kind, shape, dnnl);
      chosen.tuned = true;
      return chosen;
    }
  return {};
}

}  // namespace

bool winograd_is_faster(const ConvShape& s) {
  if (s.kernel_h != s.kernel_w || (s.kernel_h != 3 && s.kernel_h != 5)) return false;
  if (std::min(s.in_channels, s.out_channels) < kWinogradChannels) return false;
  return 2 * kernels::cpu::winograd_products({s, s.relu, s.pool}) <= s.kernel_h * s.kernel_w * s.out_h * s.out_w;
}

bool computes_pooling(ConvPassKind kind, const ConvShape& shape, ConvChoice choice) {
  if (rounds(kind, shape, choice)) return false;
  const ConvAlgorithm* const own = own_algorithm(kind, shape, choice);
  return shape.pool && own != nullptr && own->pools;
}

ChosenConv choose_by_rule(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl) {
  if (rounds(kind, shape, choice))
    if (ChosenConv chosen = first_fast({&kRoundedProducts, &kRoundedDataAsForward, &kRoundedNhwc}, kind, shape, dnnl);
        chosen.pass)
      return chosen;
  if (const ConvAlgorithm* const own = own_algorithm(kind, shape, choice)) return make(*own, kind, shape, dnnl);
  if (ChosenConv chosen = first_fast({&kDnnlDataAsForward, &kDnnlNhwc, &kDnnlBlocked}, kind, shape, dnnl); chosen.pass)
    return chosen;
  for (const ConvAlgorithm* const algorithm : {&kDnnlNhwc, &kDnnlBlocked})
    if (ChosenConv chosen = make(*algorithm, kind, shape, dnnl); chosen.pass) return chosen;
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
  for (const ConvAlgorithm& algorithm : kConvAlgorithms) {
    if (algorithm.winograd && choice == ConvChoice::kDirect) continue;
    ChosenConv candidate = make(algorithm, kind, shape, dnnl);
    const bool of_dnnl = std::string_view(algorithm.name).starts_with("dnnl");
    if (candidate.pass && !(of_dnnl && is_slow(*candidate.pass))) all.push_back(std::move(candidate));
  }
  if (all.empty()) all.push_back(choose_by_rule(kind, shape, choice, dnnl));
  return all;
}

}  // namespace dptrain::backend::cpu
