#pragma once

// Which algorithm each convolution pass uses in the CPU replicas of a run: what `dptrain bench --tune` timed on this
// machine, and an account of the passes that ops asked for and what they got. All replicas of a run share one object,
// which is made before their devices and reaches them in RuntimeOptions, so that all of them compute alike. Any thread.

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
  /// The way to compute each pass, "winograd" or "dnnl nhwc", by the pass's key: what it is of one sample, and the
  /// replica's threads. Never the rows: a sample's activations must not depend on its batch.
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
  /// All passes that ops have asked for until now.
  std::map<std::string, Use> uses() const;

  // For backend/cpu/.
  void note(cpu::ConvPassKind kind, const cpu::ConvShape& shape, const char* name, bool tuned);
  struct Pass;  ///< one that an op asked for, with the most rows (backend/cpu/conv/conv_key.h)
  std::vector<Pass> passes() const;

 private:
  struct Account;
  const Names tuned_;
  std::unique_ptr<Account> account_;
};

/// What one pass took in each way that can compute it.
struct ConvTiming {
  std::string key;
  std::int64_t rows = 0;                                  ///< that were timed
  double flops = 0;                                       ///< multiply-adds times two of these rows
  std::vector<std::pair<std::string, double>> seconds{};  ///< by name
  std::string rule{}, best{};  ///< best: the rule's, unless another is faster by more than what timing is worth

  double gflops() const;  ///< per second, of the best
};
/// Times all passes of the account on the calling thread with its helpers, `threads` together; `done` hears of each.
/// Every way is run in turns with the others, and its fastest run counts.
void time_convolutions(const ConvChoices& asked, ConvChoice choice, int threads,
                       const std::function<void(const ConvTiming&)>& done);

/// What speeds depend on: "Intel(R) Xeon(R) ..., AVX-512".
std::string cpu_identity();

}  // namespace dptrain::backend
