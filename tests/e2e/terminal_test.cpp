// Runs dptrain in a pseudo-terminal of 40, 80 and 200 columns. No line is wider than the terminal, and the progress bar
// is overwritten in place, never blanked.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/terminal.h"
#include "support/process.h"

namespace dptrain::test {
namespace {

struct Shown {
  int exit_code = 0;
  std::string bytes;  ///< as received by the terminal
};

/// Runs `dptrain words...` in a terminal of this width.
Shown in_terminal(const Workplace& place, std::size_t columns, const std::vector<std::string>& words) {
  std::vector<std::string> all{DPTRAIN_BINARY};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  const winsize size{.ws_row = 40, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
  int master = -1;
  const pid_t child = forkpty(&master, nullptr, nullptr, &size);
  if (child == 0) {
    setenv("TERM", "xterm", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    unsetenv("NO_COLOR");
    if (chdir(place.path("").c_str()) == 0) execv(argv[0], argv.data());
    _exit(127);
  }
  Shown shown;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(master, buffer, sizeof buffer);
    if (count > 0) shown.bytes.append(buffer, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) break;  // EIO: the process has ended
  }
  close(master);
  int status = 0;
  waitpid(child, &status, 0);
  shown.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return shown;
}

/// The successive texts of the terminal's last line.
class Screen {
 public:
  explicit Screen(const std::string& bytes) {
    std::string line;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes.compare(i, 3, "\033[K") == 0) {
        i += 2;
        if (line.empty()) states_.push_back({.is_blank = true});  // cleared before it is written
      } else if (bytes.compare(i, 2, "\r\n") == 0) {              // the terminal's line break
        continue;
      } else if (bytes[i] == '\r' || bytes[i] == '\n') {
        states_.push_back({.text = std::exchange(line, {}), .is_overwritten = bytes[i] == '\r'});
      } else {
        line += bytes[i];
      }
    }
    states_.push_back({.text = line});
  }

  std::size_t widest() const {
    std::size_t most = 0;
    for (const State& state : states_) most = std::max(most, terminal::width(state.text));
    return most;
  }
  int bars() const { return static_cast<int>(std::ranges::count_if(states_, &State::is_bar)); }
  /// Number of blank states between the first bar and the last one.
  int blanks_between_bars() const {
    const auto first = std::ranges::find_if(states_, &State::is_bar);
    const auto last = std::find_if(states_.rbegin(), states_.rend(), [](const State& s) { return s.is_bar(); });
    if (first == states_.end()) return 0;
    return static_cast<int>(std::count_if(first, last.base(), [](const State& state) { return state.is_blank; }));
  }

 private:
  struct State {
    std::string text{};
    bool is_overwritten = false, is_blank = false;
    bool is_bar() const { return is_overwritten && text.find(" [") != std::string::npos; }
  };
  std::vector<State> states_;
};

constexpr const char* kConfig =
    "dptrain: 1\n"
    "name: a-small-network-with-a-name\n"
    "model:\n"
    "  layers:\n"
    "    - Input: {shape: [8, 8, 1]}\n"
    "    - Flatten\n"
    "    - Dense: {name: classes, units: 4, activation: softmax}\n"
    "data:\n"
    "  train: {Synthetic: {samples: 96, classes: 4}}\n"
    "  validation: {Synthetic: {samples: 32, classes: 4}}\n"
    "train: {epochs: 3, batch_size: 8, optimizer: Adam, loss: categorical_crossentropy, metrics: [accuracy], "
    "log_every: 4}\n"
    "callbacks: [{ModelCheckpoint: {monitor: val_loss}}]\n";

class Terminal : public testing::TestWithParam<std::size_t> {
 protected:
  Terminal() : place_("terminal_" + std::to_string(GetParam())) { place_.write("net.yaml", kConfig); }

  Screen shown(int exit_code, const std::vector<std::string>& words) {
    const Shown shown = in_terminal(place_, GetParam(), words);
    EXPECT_EQ(shown.exit_code, exit_code) << shown.bytes;
    const Screen screen(shown.bytes);
    EXPECT_LE(screen.widest(), GetParam()) << shown.bytes;
    return screen;
  }

  Workplace place_;
};

INSTANTIATE_TEST_SUITE_P(Columns, Terminal, testing::Values(40, 80, 200));

TEST_P(Terminal, HelpFits) {
  shown(0, {"--help"});
  for (const char* command :
       {"fit",  "resume", "eval",   "predict", "verify", "replay", "bench",  "check", "summary", "config",
        "data", "ckpt",   "export", "init",    "sweep",  "plot",   "report", "man",   "devices", "completion"})
    shown(0, {command, "--help"});
  shown(0, {"init"});
}

TEST_P(Terminal, ErrorsFit) {
  place_.write("wrong.yaml", std::string(kConfig) + "    # a comment\nschedule: {a_key_with_a_long_name: " +
                                 std::string(300, 'x') + ", another: 1}\n");
  shown(2, {"check", "wrong.yaml"});
  shown(2, {"fit", "net.yaml", "--set", "train.loss=CrossEntropyOfAnotherTool"});
  shown(2, {"fit", "net.yaml", "--cpus", "2x1", "--set", "train.optimizer=Nothing", "--verbose"});
}

TEST_P(Terminal, TheBarOfFitIsNeverBlank) {
  const Screen screen = shown(0, {"fit", "net.yaml", "--cpus", "2x1", "--no-report", "--run-dir", "run"});
  EXPECT_GE(screen.bars(), 6) << "the first and the last step of each epoch";
  EXPECT_EQ(screen.blanks_between_bars(), 0);
  shown(0, {"summary", "net.yaml", "--plan"});
  shown(0, {"ckpt", "show", "run"});
  shown(0, {"eval", "run"});
}

TEST(TerminalWithoutSize, GetsLinesLikeAPipe) {
  const Workplace place("terminal_none");
  place.write("net.yaml", kConfig);
  const Shown shown = in_terminal(place, 0, {"fit", "net.yaml", "--set", "train.loss=CrossEntropyOfAnotherTool"});
  EXPECT_GT(Screen(shown.bytes).widest(), terminal::kUsualColumns) << shown.bytes;
}

TEST_P(Terminal, BenchFits) {
  shown(0, {"bench", "net.yaml", "--sweep", "cpus=1x1,2x1", "--steps", "1", "--warmup", "1", "--repeats", "1"});
}

}  // namespace
}  // namespace dptrain::test
