#pragma once

// What a step of many replicas would take, from what a step of one takes: on paper, nothing runs. The equations stand
// here; docs/scaling.md says what they leave out and how they compare with measured steps. Pure functions, any thread.
//
// An all-reduce of S bytes over n ranks on N nodes, m of them in a node; B and a are the bytes per second and the
// latency of a message: B_i, a_i within a node, B_o, a_o between nodes, B = min(B_i, B_o) where N > 1:
//   ring       2 (n-1)/n S/B + 2 (n-N) a_i + 2 (N-1) a_o       Patarasuk, Yuan 2009; latencies as in NCCL's tuning
//   tree       2 S/B + 2 ((m-1) a_i + ceil(log2 N) a_o)        double binary tree (Sanders, Speck, Traeff 2009), in
//                                                              each node a chain, likewise
//   two_level  2 (m-1)/m S/B_i + 2 (m-1) a_i                   reduce-scatter and all-gather in each node, between them
//              + 2 (N-1)/N S/B_o + 2 (N-1) a_o                 a ring of the nodes for every part, which share the link
//   direct     2 ((m-1)/n S/B_i + m (n-m)/n S/B_o) + 2 a       every rank sends its part of the bucket to that part's
//                                                              owner and gets the sum: dptrain's processes on CPUs
//
// Buckets are summed one after the other, each as soon as backward has completed it. Ranks whose sums are made by
// engines of their own (GPUs) compute meanwhile, and only what ends after backward is exposed. Processes on CPUs sum on
// cores: on those that their replicas leave free beside computing, else the work adds to the step; and where there are
// fewer cores than threads, threads take turns.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "plan/plan.h"
#include "session/bench.h"

namespace dptrain::session {

enum class SumAlgorithm { kRing, kTree, kTwoLevel, kDirect };
std::string name_of(SumAlgorithm algorithm);

struct MessageLink {
  double bytes_per_second = std::numeric_limits<double>::infinity();
  double latency = 0;  ///< seconds of one message
  double turns = 1;    ///< Cluster::turns() of the processes between which it was measured
};

/// A step of one replica, in seconds, while others compute beside it.
struct StepParts {
  struct Bucket {
    double bytes = 0;
    double ready = 0;  ///< of backward, when it may be summed
  };
  double forward = 0, backward = 0;  ///< forward with the loss
  double update = 0;
  double other = 0;             ///< between steps
  std::vector<Bucket> buckets;  ///< in the order in which they are ready
  int gathers = 0;              ///< of small messages that forward and backward wait for, one after the other
  double turns = 1;             ///< Cluster::turns() of the replicas beside which the times were measured

  double compute() const { return forward + backward + update + other; }
  /// Where all of it takes `factor` times as long; bytes and gathers stay.
  StepParts scaled(double factor) const;
};

struct Cluster {
  int ranks = 1;     ///< that exchange messages: GPUs, or processes
  int per_node = 1;  ///< the last node may have fewer
  MessageLink inner, between;
  /// Of CPUs: of a node, for the threads of `lanes` replicas in each process. 0: devices that sum beside computing.
  int cores = 0;
  int lanes = 1, threads = 1;

  int nodes() const { return (ranks + per_node - 1) / per_node; }
  /// Ranks of a full node.
  int in_node() const { return ranks < per_node ? ranks : per_node; }
  /// How many times as long threads take that wait for cores; 1 where there are enough.
  double turns() const;
  /// Of the time of communication, what can pass while replicas compute: 0 to 1.
  double beside() const;
};

/// Seconds until all ranks have the sum; 0 of one rank.
double all_reduce_seconds(SumAlgorithm algorithm, const Cluster& cluster, double bytes);
/// Seconds until all ranks have a few bytes of each.
double gather_seconds(SumAlgorithm algorithm, const Cluster& cluster);

struct Prediction {
  double step = 0;           ///< seconds
  double compute = 0;        ///< of it, without any communication
  double communication = 0;  ///< of all buckets and gathers, hidden or not
  double exposed = 0;        ///< of the step: what overlap does not hide
  SumAlgorithm algorithm{};  ///< of the largest bucket
};

/// For every bucket the fastest of `algorithms`, of which there is one at least, as NCCL chooses for each call.
Prediction predict(const StepParts& parts, const Cluster& cluster, const std::vector<SumAlgorithm>& algorithms);

// The parts of a replica's step for a prediction: when each bucket of gradients is ready, from the times or the
// operations of the plan's steps, and how long a step takes. Main thread.

/// What forward and backward of a step of the plan take, in any unit.
struct StepWeight {
  double forward = 0, backward = 0;
};

/// The parts of forward and backward, which take `seconds` together, of a step of so many micro-batches, whose last one
/// hands its gradients over. `weights`: one per step of the plan; where all are zero every step weighs the same.
StepParts parts_of(const plan::Plan& plan, const std::vector<StepWeight>& weights, double seconds,
                   std::int64_t micro_batches);

/// A step of a replica with so many rows that takes `seconds` in all, spread by the operations of the plan's ops.
StepParts given_parts(const experiment::Experiment& experiment, const DeviceRequest& device, std::int64_t rows,
                      double seconds);

/// Of one replica with so many rows while `side_by_side` replicas compute the same in this process, on as many cores as
/// there are: `other` holds what they wait for each other and for cores, and with it what it takes to sum in one
/// memory. Measures `options.steps` steps `options.repeats` times, and the layers once more.
StepParts measured_parts(const experiment::Experiment& experiment, const DeviceRequest& device, std::int64_t rows,
                         int side_by_side, const BenchOptions& options);

}  // namespace dptrain::session
