#pragma once

// ConvChoices: algorithms of the convolution passes of the CPU replicas of a run. Contains the timings of this machine
// (`dptrain bench --tune`), and records the passes that ops request and the algorithms they receive. All replicas of a
// run share one object through RuntimeOptions, so that they compute alike. Any thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.h"

namespace dptrain::backend {

namespace cpu {
enum class ConvPassKind;
struct ConvShape;
}  // namespace cpu

class ConvChoices {
 public:
  /// The algorithm of each pass ("winograd", "dnnl nhwc") by the pass's key, which contains the shape of one sample and
  /// the replica's threads. The rows are not in the key: a sample's activations must not depend on its batch.
  using Names = std::map<std::string, std::string>;
  struct Use {
    std::string name;
    bool tuned = false;
  };

  explicit ConvChoices(Names tuned = {});
  ~ConvChoices();
  ConvChoices(const ConvChoices&) = delete;
  ConvChoices& operator=(const ConvChoices&) = delete;

  /// Null where nothing was timed.
  const std::string* tuned(const std::string& key) const;
  /// All passes that ops have requested so far.
  std::map<std::string, Use> uses() const;

  // For backend/cpu/.
  void note(cpu::ConvPassKind kind, const cpu::ConvShape& shape, const char* name, bool tuned);
  struct Pass;  ///< a requested pass, with its largest number of rows (backend/cpu/conv/conv_key.h)
  std::vector<Pass> passes() const;

 private:
  struct Account;
  const Names tuned_;
  std::unique_ptr<Account> account_;
};

/// Times of one pass with each algorithm that supports it.
struct ConvTiming {
  std::string key;
  std::int64_t rows = 0;                                  ///< that were timed
  double flops = 0;                                       ///< multiply-adds times two of these rows
  std::vector<std::pair<std::string, double>> seconds{};  ///< by name
  std::string rule{}, best{};  ///< best: the rule's, unless another is faster by more than the timing error

  double gflops() const;  ///< per second, of the best
};
/// Times all recorded passes on the calling thread and its helpers, `threads` together. Calls `done` for each pass.
/// Runs of the algorithms alternate, and the fastest run of each counts.
void time_convolutions(const ConvChoices& asked, ConvChoice choice, int threads,
                       const std::function<void(const ConvTiming&)>& done);

/// Processor and instruction set, on which speeds depend: "Intel(R) Xeon(R) ..., AVX-512".
std::string cpu_identity();

}  // namespace dptrain::backend
