#pragma once

// Queues of launches, and other programs, for the emulator's tests.

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cuda/launch.h"

namespace dptrain::test {

/// Stores launches until run() is called.
class ListQueue final : public simt::Queue {
 public:
  void push(std::string_view name, std::function<void()> work) override {
    names.emplace_back(name);
    works.push_back(std::move(work));
  }
  void run() {
    for (auto& work : works) work();
  }
  std::vector<std::string> names;
  std::vector<std::function<void()>> works;
};

/// Runs a shell command; returns its exit code (128 + signal) and its output on stdout and stderr.
inline std::pair<int, std::string> run_program(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, ""};
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text};
}

}  // namespace dptrain::test
