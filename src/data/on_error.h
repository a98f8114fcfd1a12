#pragma once

// What becomes of samples that cannot be read: `on_error: fail`, `skip` or `{skip: LIMIT}`. BadSamples is the account
// that a source and its parts (take, Split) share. Workers only note what they met; the trainer's thread adds it when
// the batch is delivered, so the order of the account, and the sample that exceeds the limit, do not depend on the
// number of workers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "config/value.h"
#include "core/error.h"

namespace dptrain::data {

struct OnError {
  bool skip = false;
  /// Most bad files that are skipped: a count, or a fraction of all files. Absent: any number.
  std::optional<std::int64_t> most{};
  std::optional<double> most_fraction{};
  /// `predict --on-error` says it, which has no config at hand.
  bool is_flag = false;
  bool operator==(const OnError&) const = default;
};

/// One file that cannot be read.
struct BadSample {
  std::string file;
  std::int64_t byte = 0;  ///< -1: the file could not be opened at all
  std::string words;      ///< the decoder's or the system's
  bool operator==(const BadSample&) const = default;

  /// "a/b.jpg: byte 1,234: premature end of JPEG file".
  std::string str() const;
};

/// What Source::read throws for a sample that on_error speaks about.
class SampleError : public Error {
 public:
  explicit SampleError(BadSample sample) : Error(ErrorKind::kData, sample.str()), sample_(std::move(sample)) {}
  const BadSample& sample() const noexcept { return sample_; }

 private:
  BadSample sample_;
};

/// The trainer's thread only.
class BadSamples {
 public:
  /// `files`: how many there are, for a fraction. `place` is the data set in messages: "flowers/train"; `word`: what
  /// its samples are, "files" or "rows".
  BadSamples(const OnError& policy, std::int64_t files, std::string place, const char* word = "files");

  /// Throws Error{kData} where the policy is to fail or the limit is exceeded, each time; the file is in the account
  /// all the same.
  void add(const BadSample& bad);

  /// In the order in which they were met; each file once.
  const std::vector<BadSample>& all() const { return all_; }
  /// Whether samples that cannot be read are left out, as long as they are few enough.
  bool skips() const { return policy_.skip; }
  const OnError& policy() const { return policy_; }
  /// What its samples are, in messages: "files" or "rows".
  std::string word() const { return word_; }
  /// Called with each new file before add() throws or returns, and at once with those already known.
  void listen(std::function<void(const BadSample&)> listener);

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

// What of a batch could not be read, with its places: what the processes of a run tell each other before the step, so
// that all of them leave out the same. Values.

struct BadRow {
  std::int64_t position = 0;  ///< in the batch
  BadSample sample{};
  bool operator==(const BadRow&) const = default;
};

/// From what this process could not read of a batch to what no process could: both in the order of their positions. Of
/// all processes of a run, for the same batch; waits for them. Throws what keeps it from asking them.
using AgreeOnBad = std::function<std::vector<BadRow>(const std::vector<BadRow>& own)>;

/// For another process of the same executable; appended lists are the list of all.
std::vector<std::byte> to_bytes(const std::vector<BadRow>& rows);
/// Throws Error{kInternal} where they do not end where a list does.
std::vector<BadRow> bad_rows_of(std::span<const std::byte> bytes);

}  // namespace dptrain::data
