#pragma once

// `bench CONFIG --predict 'gpus=8,nodes=64,...'`: steps of more replicas than there are here, on paper
// (session/prediction.h), from a step of one that is given or measured here. Main thread.

#include <string>
#include <vector>

#include "cli/prediction_report.h"
#include "experiment/experiment.h"
#include "session/bench.h"

namespace dptrain::cli {

struct PredictionCall {
  std::string text;                           ///< of the flag
  std::string config;                         ///< its path
  bool weak = false;                          ///< the batch of a replica stays; of a given `batch` too
  session::BenchOptions options;              ///< of what is measured; its devices are those of the flags
  std::vector<session::BenchRow> measured{};  ///< rows of --sweep processes, to be set beside what is predicted
};

/// Throws Error{kUsage} for a wrong flag and for more replicas than samples of a batch; Error{kDevice} where what is to
/// be measured is not there.
PredictionReport predict_steps(const experiment::Experiment& experiment, const PredictionCall& call);

}  // namespace dptrain::cli
