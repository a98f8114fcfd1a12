#pragma once

// The specs of all losses, with their equations: p is a prediction, y its label. Names and keys are those of Keras 3. A
// new element loss needs a line in nn/losses.cpp only: its equation in kernels/losses.h is its spec.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/shape.h"
#include "kernels/losses.h"

namespace dptrain::nn {

/// losses::Huber, losses::LogCosh and all others of DPTRAIN_ELEMENT_LOSSES: the mean over the elements of a sample.
/// KLDivergence is the sum over the last axis.
namespace losses = kernels::losses;

/// The mean of -(y' ln q + (1 - y') ln(1 - q)). Labels are smoothed: y' = y (1 - s) + s / 2. The clipped prediction is
/// q = clip(p, 1e-7, 1 - 1e-7). For logits z it is the mean of max(z, 0) - z y' + ln(1 + e^-|z|).
struct BinaryCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;  ///< s
};

/// The mean of (1 - p_t)^gamma times BinaryCrossentropySpec's value, with p_t = y' p + (1 - y') (1 - p). With
/// apply_class_balancing it is multiplied by y' alpha + (1 - y') (1 - alpha) (Lin et al. 2017). For logits, and if the
/// plan fuses the sigmoid, the crossentropy is computed from the logits, without a clip.
struct BinaryFocalCrossentropySpec {
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
};

/// -sum y' ln q over the classes of a position. Labels are smoothed: y' = y (1 - s) + s / classes. Predictions are
/// scaled and clipped: q = clip(p / sum p, 1e-7, 1 - 1e-7). For logits z, and if the plan fuses the softmax,
/// log_softmax(z) replaces ln q.
struct CategoricalCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;  ///< s
};

/// -ln q of the label's class, with q as in CategoricalCrossentropySpec; labels are class numbers. ignore_class is
/// Keras's key; that of the data set applies to all losses of classes (plan::ignored_class()).
struct SparseCategoricalCrossentropySpec {
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class{};
};

/// alpha sum (1 - q)^gamma (-y' ln q) over the classes of a position (Lin et al. 2017). y' and q are those of
/// CategoricalCrossentropySpec. For logits z, and if the plan fuses the softmax, p is softmax(z).
struct CategoricalFocalCrossentropySpec {
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
};

/// max(0, largest (1 - y) p - sum y p + 1) over the last axis; labels are one-hot.
struct CategoricalHingeSpec {};

/// -sum y p / (|y| |p|) over the last axis, norms of at least 1e-7: -1 if both have the same direction.
struct CosineSimilaritySpec {
  std::int64_t axis = -1;  ///< only the last
};

/// Axes of a sample that the loss sums over, counted from 1, because 0 is the batch. They must be adjacent. Sums over
/// [1, 2, 3] of [H, W, C] give one number per sample, over [1, 2] one per sample and class. Keras's default, null, also
/// sums over the batch. The plan rejects it, because the loss would depend on replicas and micro-batches.
struct SumAxes {
  std::optional<std::vector<std::int64_t>> axis;
};

/// A loss of sums (kernels/losses.h) over `axis`, one for each position of the other axes.
template <class F>
struct OverAxes : F, SumAxes {};

/// The memory layout of one sample, [outer, length, inner]: sums over `length` give outer * inner numbers.
struct SumLayout {
  std::int64_t outer = 1, length = 1, inner = 1;
};
/// The axes must fit the output.
SumLayout sum_layout(const SumAxes& axes, const Shape& output);

}  // namespace dptrain::nn
