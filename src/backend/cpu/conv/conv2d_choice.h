#pragma once

// Chooses the implementation of a convolution pass, by rule or by timings on this machine (backend/conv_choices.h). The
// choice depends on the shape of one sample, never on the number of rows. All replicas and batches of an experiment
// therefore compute alike. `summary --plan` prints the choice. Used from the replica's thread.

#include <memory>
#include <vector>

#include "backend/cpu/conv/conv_pass.h"
#include "backend/device.h"

namespace dptrain::backend::cpu {

struct Dnnl;

struct ChosenConv {
  const char* name = "";  ///< the algorithm's name in caches and checkpoints: "winograd"
  std::unique_ptr<ConvPass> pass;
  bool tuned = false;  ///< timed, not by rule
};

/// The pass is never null: throws Error{kDevice} if no algorithm supports the shape. Records the choice in
/// options.conv_choices.
ChosenConv choose_conv_pass(ConvPassKind kind, const ConvShape& shape, const RuntimeOptions& options, Dnnl& dnnl);

/// The choice of the rules, regardless of timings. Records nothing.
ChosenConv choose_by_rule(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl);

/// Every algorithm that may be the fastest. oneDNN's fallbacks to plain loops are included only if there is no other.
std::vector<ChosenConv> conv_candidates(ConvPassKind kind, const ConvShape& shape, ConvChoice choice, Dnnl& dnnl);

/// Whether the rules choose a pass that fuses the pooling. `shape` has pool set.
bool computes_pooling(ConvPassKind kind, const ConvShape& shape, ConvChoice choice);

/// Whether Winograd, where it fits, is faster than oneDNN's direct convolution: at most half of its products, and
/// enough channels.
bool winograd_is_faster(const ConvShape& shape);

}  // namespace dptrain::backend::cpu
