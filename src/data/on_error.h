#pragma once

// Policy for samples that cannot be read: `on_error: fail`, `skip` or `{skip: LIMIT}`. A source and its parts (take,
// Split) share one BadSamples. Only the trainer's thread adds to it, when a batch is delivered. The order of bad
// samples, and the sample that exceeds the limit, therefore do not depend on the number of workers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "config/typed.h"
#include "core/error.h"

namespace dptrain::data {

struct OnError {
  bool skip = false;
  /// Limit of bad files that are skipped, as a count or a fraction of all files. Absent: no limit.
  std::optional<std::int64_t> max_count{};
  std::optional<double> max_fraction{};
  /// Set by `predict --on-error` instead of a config.
  bool is_flag = false;
  bool operator==(const OnError&) const = default;
};

/// A sample that cannot be read.
struct BadSample {
  std::string file;
  std::int64_t byte = 0;  ///< -1: unknown, or the file cannot be opened
  std::string reason;     ///< message of the decoder or the system
  bool operator==(const BadSample&) const = default;

  /// "a/b.jpg: byte 1,234: premature end of JPEG file".
  std::string str() const;
};

/// Thrown by Source::read for a sample that cannot be read. on_error determines the consequence.
class SampleError : public Error {
 public:
  explicit SampleError(BadSample sample) : Error(ErrorKind::kData, sample.str()), sample_(std::move(sample)) {}
  const BadSample& sample() const noexcept { return sample_; }

 private:
  BadSample sample_;
};

/// The samples that could not be read. Trainer's thread only.
class BadSamples {
 public:
  /// `files`: their number, for a limit as a fraction. `place`: the data set in messages, "flowers/train". `word`: the
  /// name of its samples in messages, "files" or "rows".
  BadSamples(const OnError& policy, std::int64_t files, std::string place, const char* word = "files");

  /// Records the file. Throws Error{kData} on each call if the policy is to fail or the limit is exceeded.
  void add(const BadSample& bad);

  /// All bad samples in the order of add(), each file once.
  const std::vector<BadSample>& all() const { return all_; }
  /// Whether bad samples are skipped, up to the limit.
  bool skips() const { return policy_.skip; }
  const OnError& policy() const { return policy_; }
  /// Name of the samples in messages: "files" or "rows".
  std::string word() const { return word_; }
  /// Calls `listener` at once for the files already recorded. add() calls it for each new file, before it may throw.
  void set_listener(std::function<void(const BadSample&)> listener);

 private:
  bool too_many() const;

  const OnError policy_;
  const std::int64_t files_;
  const std::string place_;
  const char* const word_;
  std::vector<BadSample> all_;
  std::unordered_set<std::string> known_;
  std::function<void(const BadSample&)> listener_;
};

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct Value<data::OnError> {  // fail, skip, {skip: 10}, {skip: 0.1%}
  static bool read(const Node&, Reader&, data::OnError& out);
  static Node write(const data::OnError&);
  static Node schema();
};
}  // namespace dptrain::config

namespace dptrain::data {

/// A sample of a batch that could not be read. The processes of a run exchange lists of them before the step, so that
/// all skip the same samples.
struct BadRow {
  std::int64_t position = 0;  ///< in the batch
  BadSample sample{};
  bool operator==(const BadRow&) const = default;
};

/// Takes the bad rows of this process and returns those of all processes, both sorted by position. Collective: blocks
/// until all processes call it for the same batch. Throws if the exchange fails.
using BadRowExchange = std::function<std::vector<BadRow>(const std::vector<BadRow>& own)>;

/// Serializes the list for another process of the same executable. Concatenated bytes are the concatenated list.
std::vector<std::byte> to_bytes(const std::vector<BadRow>& rows);
/// Throws Error{kInternal} for truncated bytes.
std::vector<BadRow> bad_rows_of(std::span<const std::byte> bytes);

}  // namespace dptrain::data
