#pragma once

// World: where this process stands among those that train together. A replica has two numbers: its lane counts the
// replicas of its process, its rank those of all processes. Memory, threads and devices go by lane; shares of a batch,
// random numbers, sums and names in messages go by rank. Plain data.

namespace dptrain {

struct World {
  int process = 0, processes = 1;
  int first_rank = 0;  ///< of lane 0
  int ranks = 1;       ///< replicas of all processes

  /// All replicas are in this process.
  static World of_one_process(int replicas) { return {.ranks = replicas}; }

  int rank(int lane) const { return first_rank + lane; }
  /// Who writes files and speaks for all.
  bool is_first() const { return process == 0; }
};

}  // namespace dptrain
