#include "backend/cuda/plan_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/format.h"
#include "core/text.h"

namespace dptrain::backend::cuda {
namespace {

constexpr std::string_view kFirstLine =
    "# dptrain: convolution pass, engine, microseconds (delete this file to measure again)\n";

int open_locked(const std::string& path) {
  if (path.empty()) return -1;
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return -1;
  while (flock(file, LOCK_EX) != 0)
    if (errno != EINTR) {
      close(file);
      return -1;
    }
  return file;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string plan_cache_path(std::string_view cudnn_version, std::string_view gpu) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (cache != nullptr && *cache == '/')  // relative paths are invalid by the XDG specification
    folder = cache;
  else if (home != nullptr && *home != '\0')
    folder = std::string(home) + "/.cache";
  else
    return "";
  std::string name;
  for (const char letter : gpu) name += letter == ' ' || letter == '/' ? '-' : letter;
  return fmt::format("{}/dptrain/plans-{}-{}.txt", folder, cudnn_version, name);
}

PlanCache::PlanCache(const std::string& path) : file_(open_locked(path)) {
  if (is_open()) read();
}

PlanCache::~PlanCache() {
  if (is_open()) close(file_);  // also releases the lock
}

std::optional<std::string> PlanCache::find(const std::string& key) const {
  const auto found = engines_.find(key);
  if (found == engines_.end()) return std::nullopt;
  return found->second;
}

bool PlanCache::store(const std::string& key, const std::string& engine, double microseconds) {
  engines_[key] = engine;
  if (!is_open()) return false;
  // Ends a line that a crash cut off. Readers skip it.
  const std::string line = fmt::format("{}{}\t{}\t{:.1f}\n", ends_in_line_end_ ? "" : "\n", key, engine, microseconds);
  ends_in_line_end_ = write_all(file_, line);
  return ends_in_line_end_;
}

void PlanCache::read() {
  std::string text;
  std::array<char, 1 << 16> block{};
  for (;;) {
    const ssize_t got = ::read(file_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  if (text.empty()) {
    ends_in_line_end_ = write_all(file_, kFirstLine);
    return;
  }
  ends_in_line_end_ = text.back() == '\n';
  if (!ends_in_line_end_) text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  for (const std::string& line : split(text, '\n'))
    if (const auto fields = split(line, '\t'); fields.size() == 3 && line.front() != '#')
      engines_[fields[0]] = fields[1];
}

}  // namespace dptrain::backend::cuda
