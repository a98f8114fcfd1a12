#pragma once

// verify: N replicas (and accumulation) against one replica with the whole batch, from the same weights and data,
// dropout and augmentation included, with synchronised batch normalisation and plain SGD on both sides. Each step is
// judged from equal weights: once weights differ in their last bits, a ReLU somewhere switches and the gradient jumps,
// which says nothing about the replicas. How far both drift apart when they train on their own is reported but does not
// decide the verdict. The one replica may run on another kind of device: then verify compares the two implementations,
// too. Main thread.

#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace dptrain::bench {

struct VerifyOptions {
  session::DeviceRequest devices;                   ///< of the side under test
  distributed::Processes* processes = nullptr;      ///< that have it together; each has a reference of its own
  std::optional<session::DeviceRequest> against{};  ///< the one replica's; absent: the first of `devices`
  session::DataMode data = session::DataMode::kReal;
  std::int64_t steps = 5;
  std::optional<std::int64_t> accumulate{};  ///< micro-batches of the side under test; absent: as fit would cut it
  std::optional<double> tolerance{};         ///< on every relative difference; absent: default_tolerance()
};

/// On |a - b| / |b|.
struct Tolerance {
  double layers = 0;  ///< of a layer's gradients, and of its weights
  double loss = 0;
};
/// What right results can differ by. The CPU and the emulator compute a row the same way whatever the number of rows,
/// so only sums over rows are rounded differently. Between two kinds of devices, and on GPUs, where cuDNN may take
/// another algorithm for another number of rows, activations differ in their last place, and a ReLU or a maximum
/// switches here and there, which in 16 bits happens often.
Tolerance default_tolerance(const experiment::Experiment& experiment, const VerifyOptions& options);

/// One layer with weights: |a - b| / |b| over all of them together, the largest over the steps.
struct VerifyRow {
  std::string layer;
  double gradient = 0;
  double parameter = 0;  ///< after the step
  double drift = 0;  ///< of the weights after the last step, both sides having trained on their own; decides nothing
};

struct VerifyResult {
  std::vector<VerifyRow> rows;              ///< worst gradient first
  std::vector<double> losses;               ///< of the reference, per step
  double loss = 0;                          ///< largest relative difference of the loss
  std::string not_finite{};                 ///< the first loss that is not finite, its side and step; empty: none
  double loss_drift = 0;                    ///< the same, both sides having trained on their own; decides nothing
  bool normalisation_synchronised = false;  ///< there was batch normalisation to synchronise
  Tolerance tolerance;
  std::string tested_device, reference_device;  ///< descriptions, of the first replica
  bool full_float32 = false;                    ///< TF32 products were switched off for the comparison
  int replicas = 1;                             ///< of the side under test, in all processes
  std::int64_t micro_batches = 1;               ///< of each of them
  bool passed = false;
};

VerifyResult verify(const experiment::Experiment& experiment, const VerifyOptions& options);

/// One batch through forward and backward on all replicas, nothing updated: what `fit --dry-run` does. Returns the
/// loss.
double dry_run(session::Session& session);

}  // namespace dptrain::bench
