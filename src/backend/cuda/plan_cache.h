#pragma once

// The fastest engines, stored between runs: a text file per user with one line per convolution pass. The holder of the
// file measures; others wait, so that replicas run the same engines. Any thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dptrain::backend::cuda {

/// "$XDG_CACHE_HOME/dptrain/plans-9.19.0-NVIDIA-H200.txt" (or under $HOME/.cache); "" if neither variable is set.
std::string plan_cache_path(std::string_view cudnn_version, std::string_view gpu);

/// The file, locked during the object's life. Lines: `key TAB engine TAB microseconds`; a key's last line is valid.
class PlanCache {
 public:
  /// Waits for the lock. If the file cannot be opened or created, the cache is empty and is_open() is false.
  explicit PlanCache(const std::string& path);
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  bool is_open() const noexcept { return file_ >= 0; }
  std::optional<std::string> find(const std::string& key) const;
  /// Key and engine must not contain tabs or line ends. Returns false if the line could not be written.
  bool store(const std::string& key, const std::string& engine, double microseconds);

 private:
  void read();

  int file_ = -1;
  bool ends_in_line_end_ = true;
  std::map<std::string, std::string> engines_;
};

}  // namespace dptrain::backend::cuda
