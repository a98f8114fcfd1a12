#pragma once

// verify: compares N replicas (and accumulation) with one replica that has the whole batch. Both sides use the same
// weights and data, including dropout and augmentation, synchronized batch normalization and plain SGD.
//
// Each step starts from equal weights: a difference in the last bits can switch a ReLU, after which gradients differ
// whatever the replicas do. The drift of independent training is reported but does not affect the verdict. The one
// replica may run on another kind of device, which compares the two implementations. Main thread.

#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace dptrain::bench {

struct VerifyOptions {
  session::DeviceRequest devices;                   ///< devices of the side under test
  distributed::Processes* processes = nullptr;      ///< processes that run it together; each has its own reference
  std::optional<session::DeviceRequest> against{};  ///< device of the one replica; absent: the first of `devices`
  session::DataMode data = session::DataMode::kReal;
  std::int64_t steps = 5;
  std::optional<std::int64_t> accumulate{};  ///< micro-batches of the side under test; absent: as in fit
  std::optional<double> tolerance{};         ///< limit of each relative difference; absent: default_tolerance()
};

/// Limits of |a - b| / |b|.
struct Tolerance {
  double layers = 0;  ///< for the gradients and the weights of a layer
  double loss = 0;
};
/// The difference that correct results can have. On the CPU and the emulator a row's result does not depend on the
/// number of rows, so only sums over rows differ. Between kinds of devices, and on GPUs, where cuDNN may choose another
/// algorithm, activations differ in the last place. A ReLU or a maximum may then switch, in 16 bits often.
Tolerance default_tolerance(const experiment::Experiment& experiment, const VerifyOptions& options);

/// One layer with weights: |a - b| / |b| over all of its weights, the maximum over the steps.
struct VerifyRow {
  std::string layer;
  double gradient = 0;
  double parameter = 0;  ///< after the step
  double drift = 0;      ///< of the weights after independent training; informative only
};

struct VerifyResult {
  std::vector<VerifyRow> rows;              ///< worst gradient first
  std::vector<double> losses;               ///< of the reference, per step
  double loss = 0;                          ///< largest relative difference of the loss
  std::string not_finite{};                 ///< the first loss that is not finite, its side and step; empty: none
  double loss_drift = 0;                    ///< relative loss difference after independent training; informative only
  bool normalisation_synchronised = false;  ///< whether there was batch normalization to synchronize
  Tolerance tolerance;
  std::string tested_device, reference_device;  ///< descriptions, of the first replica
  bool full_float32 = false;                    ///< TF32 products were disabled for the comparison
  int replicas = 1;                             ///< of the side under test, over all processes
  std::int64_t micro_batches = 1;               ///< per replica of the side under test
  bool passed = false;
};

VerifyResult verify(const experiment::Experiment& experiment, const VerifyOptions& options);

/// Runs one batch forward and backward on all replicas without an update, for `fit --dry-run`. Returns the loss.
double dry_run(session::Session& session);

}  // namespace dptrain::bench
