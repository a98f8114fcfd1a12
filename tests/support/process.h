#pragma once

// Runs the executable under test in its own folder and captures its output. Test thread only.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace dptrain::test {

struct Outcome {
  int code = -1;  ///< exit code, or 128 + signal
  std::string out, err;
};

class Workplace {
 public:
  explicit Workplace(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / ("dptrain-" + name + "-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Workplace() { std::filesystem::remove_all(folder_); }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(path(name).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  /// Starts `dptrain words...` here, or in `folder`; its output goes to files of this folder.
  pid_t start(const std::vector<std::string>& words, const std::string& folder = "") const {
    std::vector<std::string> all{DPTRAIN_BINARY};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      setenv("CUDA_VISIBLE_DEVICES", "", 1);  // these tests cover the CPU, even on a machine with GPUs
      const auto redirect = [&](const char* name, int to) {
        dup2(open(path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), to);
      };
      redirect("stdout", STDOUT_FILENO);
      redirect("stderr", STDERR_FILENO);
      if (chdir(folder.empty() ? folder_.c_str() : folder.c_str()) == 0) execv(argv[0], argv.data());
      _exit(127);
    }
    return child;
  }
  Outcome finish(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {code, read("stdout"), read("stderr")};
  }
  Outcome run(const std::vector<std::string>& words) const { return finish(start(words)); }

 private:
  std::filesystem::path folder_;
};

}  // namespace dptrain::test
