#pragma once

// Which implementation a pass of a convolution gets: by rule, from the shape of one sample alone, never from the number
// of rows or by timing, so that all replicas and all batches of an experiment compute alike. `summary --plan` prints
// the choice.

#include <memory>

#include "device/cpu/conv_pass.h"
#include "device/device.h"

namespace dptrain::device::cpu {

struct Dnnl;

/// Never null: throws Error{kDevice} where nothing can compute the pass.
std::unique_ptr<ConvPass> choose_conv_pass(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl);

/// Whether what is chosen for this shape, which has `pool` set, computes the pooling in the same pass.
bool computes_pooling(ConvPassKind kind, const ConvShape& shape, ConvChoice choice);

/// Whether Winograd, where it fits, is faster than oneDNN's direct convolution: at most half of its products, and
/// channels enough.
bool winograd_pays(const ConvShape& shape);

}  // namespace dptrain::device::cpu
