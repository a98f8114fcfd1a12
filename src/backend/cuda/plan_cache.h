#pragma once

// Which engine was the fastest, kept between runs: a text file with one line per convolution pass, shared by all
// processes and replicas of the user. Whoever holds the file measures; the others wait and take what was found, so that
// replicas run the same engines. Any thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dptrain::backend::cuda {

/// "$XDG_CACHE_HOME/dptrain/plans-9.19.0-NVIDIA-H200.txt" (or under $HOME/.cache); "" where neither variable is set.
std::string plan_cache_path(std::string_view cudnn_version, std::string_view gpu);

/// The file, held against everyone else as long as the object lives. Lines are `key TAB engine TAB microseconds`; the
/// last line of a key counts, lines of any other form are skipped.
class PlanCache {
 public:
  /// Waits for the file. Where it cannot be opened or made, the cache is empty and forgets (kept() is false).
  explicit PlanCache(const std::string& path);
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  bool kept() const noexcept { return file_ >= 0; }
  std::optional<std::string> find(const std::string& key) const;
  /// No tab or line end in key and engine. False if it could not be written.
  bool store(const std::string& key, const std::string& engine, double microseconds);

 private:
  void read();

  int file_ = -1;
  bool ends_in_line_end_ = true;
  std::map<std::string, std::string> engines_;
};

}  // namespace dptrain::backend::cuda
