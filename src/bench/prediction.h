#pragma once

// Predicts the step time of many replicas from the measured step of one replica. Only communication is modelled, by
// the equations below; docs/reference/performance.md lists what they leave out. Pure functions; any thread.
//
// Time of an all-reduce of S bytes over n ranks on N nodes, with m ranks per node. B is the bandwidth in bytes per
// second, and a is the latency of a message. B_i and a_i apply within a node, B_o and a_o between nodes. B = min(B_i,
// B_o) if N > 1.
//   ring       2 (n-1)/n S/B + 2 (n-N) a_i + 2 (N-1) a_o       Patarasuk, Yuan 2009; latencies as in NCCL's tuning.
//   tree       2 S/B + 2 ((m-1) a_i + ceil(log2 N) a_o)        Double binary tree (Sanders, Speck, Traeff 2009), with
//                                                              a chain in each node; latencies likewise.
//   two_level  2 (m-1)/m S/B_i + 2 (m-1) a_i                   Reduce-scatter and all-gather in each node; between the
//              + 2 (N-1)/N S/B_o + 2 (N-1) a_o                 nodes a ring for every part, all on the same link.
//   direct     2 ((m-1)/n S/B_i + m (n-m)/n S/B_o) + 2 a       A rank sends each part of its bucket to the owner of
//                                                              the part and receives the sum; processes on CPUs.
//
// Buckets are summed one after the other, each as soon as backward has completed it. GPUs sum while they compute, so
// only communication after backward is exposed. Processes on CPUs sum on the cores that their replicas leave free;
// without free cores the sums add to the step. With fewer cores than threads, threads share the cores.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "experiment/experiment.h"
#include "plan/plan.h"

namespace dptrain::bench {

enum class SumAlgorithm { kRing, kTree, kTwoLevel, kDirect };
std::string name_of(SumAlgorithm algorithm);

struct MessageLink {
  double bytes_per_second = std::numeric_limits<double>::infinity();
  double latency = 0;   ///< seconds of one message
  double slowdown = 1;  ///< Cluster::slowdown() of the processes in the measurement
};

/// A step of one replica in seconds, while other replicas compute concurrently.
struct StepParts {
  struct Bucket {
    double bytes = 0;
    double ready = 0;  ///< seconds of backward until it may be summed
  };
  double forward = 0, backward = 0;  ///< forward includes the loss
  double update = 0;
  double other = 0;             ///< time between steps
  std::vector<Bucket> buckets;  ///< in the order in which they are ready
  int gathers = 0;              ///< sequential gathers of small messages that forward and backward wait for
  double slowdown = 1;          ///< Cluster::slowdown() of the replicas in the measurement

  double compute() const { return forward + backward + update + other; }
  /// The step with all times multiplied by `factor`; bytes and gathers are unchanged.
  StepParts scaled(double factor) const;
};

struct Cluster {
  int ranks = 1;     ///< GPUs or processes that exchange messages
  int per_node = 1;  ///< the last node may have fewer
  MessageLink inner, between;
  /// CPUs: cores of a node for the threads of all its replicas. 0: devices that sum while they compute.
  int cores = 0;
  int local_ranks = 1, threads = 1;

  int nodes() const { return (ranks + per_node - 1) / per_node; }
  /// Ranks of a full node.
  int in_node() const { return ranks < per_node ? ranks : per_node; }
  /// Factor by which threads slow down because they share cores; 1 if there are enough cores.
  double slowdown() const;
  /// Fraction of communication time that can overlap with computing: 0 to 1.
  double overlap() const;
};

/// Seconds until all ranks have the sum; for one rank only the sum over its local ranks.
double all_reduce_seconds(SumAlgorithm algorithm, const Cluster& cluster, double bytes);
/// Seconds until all ranks have a few bytes from each rank.
double gather_seconds(SumAlgorithm algorithm, const Cluster& cluster);

struct Prediction {
  double step = 0;           ///< seconds
  double compute = 0;        ///< the part without communication
  double communication = 0;  ///< time of all buckets and gathers, overlapped or not
  double exposed = 0;        ///< the part of the step in communication without overlap
  SumAlgorithm algorithm{};  ///< algorithm for the largest bucket
};

/// Uses the fastest of `algorithms` for each bucket, as NCCL chooses one for each call. `algorithms` must not be empty.
Prediction predict(const StepParts& parts, const Cluster& cluster, const std::vector<SumAlgorithm>& algorithms);

// The parts of a step, from times or operations of the plan's steps, and when each bucket is ready. Main thread.

/// Cost of forward and backward of a step of the plan, in any unit.
struct StepWeight {
  double forward = 0, backward = 0;
};

/// Splits `seconds` of forward and backward over all micro-batches. Backward is that of the last one, which completes
/// the buckets; forward is the rest. `weights`: one per step of the plan; all zero: equal weights.
StepParts parts_of(const plan::Plan& plan, const std::vector<StepWeight>& weights, double seconds,
                   std::int64_t micro_batches);

/// Splits `seconds` of a whole step with `rows` rows into forward and backward by the plan's operations.
StepParts given_parts(const experiment::Experiment& experiment, const session::DeviceRequest& device, std::int64_t rows,
                      double seconds);

/// Measures a replica with `rows` rows while `side_by_side` replicas run the same step in this process. `other`
/// includes the waits for other replicas and for cores, and the sums in memory. Measures `options.steps` steps
/// `options.repeats` times, and the layers once more.
StepParts measured_parts(const experiment::Experiment& experiment, const session::DeviceRequest& device,
                         std::int64_t rows, int side_by_side, const BenchOptions& options);

}  // namespace dptrain::bench
