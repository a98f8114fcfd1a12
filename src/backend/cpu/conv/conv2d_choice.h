#pragma once

// Which implementation a pass of a convolution gets: by rule, or by what was timed on this machine
// (backend/conv_choices.h); from the shape of one sample alone, never from the number of rows, so that all replicas and
// all batches of an experiment compute alike. `summary --plan` prints the choice. Used from the replica's thread.

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/conv/conv_pass.h"
#include "backend/device.h"

namespace dptrain::backend::cpu {

struct Dnnl;

struct ChosenConv {
  const char* name = "";  ///< of the way to compute it, as caches and checkpoints write it: "winograd"
  std::unique_ptr<ConvPass> pass;
  bool tuned = false;  ///< timed, not by rule
};

/// Never without a pass: throws Error{kDevice} where nothing can compute it. The choice is noted in
/// options.conv_choices.
ChosenConv choose_conv_pass(ConvPassKind kind, const ConvShape& shape, const RuntimeOptions& options, Dnnl& dnnl);

/// What the rules name, whatever was timed. Nothing is noted.
ChosenConv choose_by_rule(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl);

/// Every way to compute the pass that may be the fastest: oneDNN's fallbacks to plain loops only where there is nothing
/// else.
std::vector<ChosenConv> conv_candidates(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl);

/// Whether what the rules name for this shape, which has `pool` set, computes the pooling in the same pass.
bool computes_pooling(ConvPassKind kind, const ConvShape& shape, ConvChoice choice);

/// Whether Winograd, where it fits, is faster than oneDNN's direct convolution: at most half of its products, and
/// channels enough.
bool winograd_pays(const ConvShape& shape);

}  // namespace dptrain::backend::cpu
