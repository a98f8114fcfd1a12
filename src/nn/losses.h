#pragma once

// The specs of all losses, with their equations. Names and keys are those of Keras 3 (nn/losses.cpp); p is a
// prediction, y its label. A new element loss needs a line in nn/losses.cpp only: its equation in kernels/losses.h is
// its spec.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/shape.h"
#include "kernels/losses.h"

namespace dptrain::nn {

/// losses::Huber, losses::LogCosh and all others of DPTRAIN_ELEMENT_LOSSES: the mean over the elements of a sample, or
/// of KLDivergence the sum over the last axis.
namespace losses = kernels::losses;

/// The mean of -(y' ln q + (1 - y') ln(1 - q)), with y' = y (1 - s) + s / 2 and q = clip(p, 1e-7, 1 - 1e-7); of logits
/// max(z, 0) - z y' + ln(1 + e^-|z|).
struct BinaryCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;  ///< s
};

/// The mean of (1 - p_t)^gamma times BinaryCrossentropySpec's value, with p_t = y' p + (1 - y') (1 - p); with
/// apply_class_balancing times y' alpha + (1 - y') (1 - alpha) (Lin et al. 2017). Of logits, and after a sigmoid that
/// the plan fuses, the crossentropy is computed from the logits, without a clip.
struct BinaryFocalCrossentropySpec {
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
};

/// -sum y' ln q over the classes of a position, with y' = y (1 - s) + s / classes and q = clip(p / sum p, 1e-7,
/// 1 - 1e-7); of logits, and after a softmax that the plan fuses, ln softmax(z) in place of ln q.
struct CategoricalCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;  ///< s
};

/// -ln q of the label's class, with q as in CategoricalCrossentropySpec; labels are class numbers.
struct SparseCategoricalCrossentropySpec {
  bool from_logits = false;
};

/// alpha sum (1 - q)^gamma (-y' ln q) over the classes of a position, with y' and q as in CategoricalCrossentropySpec;
/// of logits, and after a softmax that the plan fuses, p = softmax(z) (Lin et al. 2017).
struct CategoricalFocalCrossentropySpec {
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
};

/// max(0, largest (1 - y) p - sum y p + 1) over the last axis; labels are one-hot.
struct CategoricalHingeSpec {};

/// -sum y p / (|y| |p|) over the last axis, norms of at least 1e-7: -1 where both have the same direction.
struct CosineSimilaritySpec {
  std::int64_t axis = -1;  ///< the last
};

/// Axes of a sample, from 1, because 0 is the batch's. They must be neighbours: sums over [1, 2, 3] of [H, W, C] give
/// one number per sample, over [1, 2] one per sample and class. Keras's default, null, sums over the batch as well:
/// that is no mean over samples, so replicas and micro-batches would change it, and the plan refuses it.
struct SumAxes {
  std::optional<std::vector<std::int64_t>> axis;
};

/// A loss of sums of kernels/losses.h over `axis`, for each position of the other axes.
template <class F>
struct OverAxes : F, SumAxes {};

/// The memory layout of the sums of one sample: [outer, length, inner], a number for each of outer * inner.
struct SumLayout {
  std::int64_t outer = 1, length = 1, inner = 1;
};
/// For axes that fit.
SumLayout sum_layout(const SumAxes& axes, const Shape& output);

}  // namespace dptrain::nn
