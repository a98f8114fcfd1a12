#include "core/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/log_fields.h"

namespace dptrain {
namespace {

struct Printed {
  std::string out, err;
};

Printed printed(const std::function<void()>& action) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  action();
  std::fflush(nullptr);
  return {testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

void all_levels() {
  log::debug("d");
  log::info("i");
  log::warn("w");
  log::error("e");
  log::print("p");
}

class Log : public testing::Test {
 protected:
  void TearDown() override {
    log::configure({});
    log::set_process_prefix("");
    log::close_file();
  }
};

TEST_F(Log, ResultsGoToStdoutErrorsToStderr) {
  const Printed plain = printed(all_levels);
  EXPECT_EQ(plain.out, "i\np\n");
  EXPECT_EQ(plain.err, "warning: w\nerror: e\n");
}

TEST_F(Log, OfAnotherProcessHasOnlyErrors) {
  log::set_process_prefix("process 1 (node-b)");
  const Printed plain = printed(all_levels);
  EXPECT_EQ(plain.out, "");
  EXPECT_EQ(plain.err, "[process 1 (node-b)] warning: w\n[process 1 (node-b)] error: e\n");
  log::configure({.format = log::Format::kJson});
  EXPECT_EQ(printed([] { log::error("e"); }).err, "{\"level\":\"error\",\"message\":\"[process 1 (node-b)] e\"}\n");
}

TEST_F(Log, QuietAndVerbose) {
  log::configure({.quiet = true, .verbose = true});
  EXPECT_EQ(printed(all_levels).out, "p\n");
  EXPECT_EQ(printed(all_levels).err, "warning: w\nerror: e\n");
  EXPECT_EQ(printed([] { log::notice("saving"); }).err, "saving\n");
  log::configure({.verbose = true});
  EXPECT_EQ(printed(all_levels).out, "d\ni\np\n");
}

TEST_F(Log, ColorOnlyOnRequest) {
  log::configure({.color = true});
  EXPECT_EQ(printed([] { log::warn("w"); }).err, "\033[1;33mwarning:\033[0m \033[1mw\033[0m\n");
  EXPECT_EQ(printed([] { log::info("i"); }).out, "i\n");
}

TEST_F(Log, JsonLines) {
  log::configure({.format = log::Format::kJson});
  EXPECT_EQ(printed([] { log::info("a \"b\"\n\\c\x01"); }).err,
            "{\"level\":\"info\",\"message\":\"a \\\"b\\\"\\n\\\\c\\u0001\"}\n");
  EXPECT_EQ(printed([] { log::warn("w"); }).err, "{\"level\":\"warning\",\"message\":\"w\"}\n");
  EXPECT_EQ(printed([] { log::print("acc: 1"); }).out, "acc: 1\n");
  EXPECT_EQ(printed([] {
              log::info("loss 0.5", {{"ev", "step"}, {"loss", 0.5}, {"auc", std::nan("")}});
            }).err,
            "{\"level\":\"info\",\"ev\":\"step\",\"loss\":0.5,\"auc\":null,\"message\":\"loss 0.5\"}\n");
}

TEST_F(Log, FieldsAreOnlyForJson) {
  EXPECT_EQ(printed([] { log::info("loss 0.5", {{"loss", 0.5}}); }).out, "loss 0.5\n");
}

TEST_F(Log, EscapesControlCharactersInNames) {
  const auto path = std::filesystem::temp_directory_path() / ("dptrain_log_orders_" + std::to_string(::getpid()));
  log::open_file(path.string());
  const Printed text = printed([] {
    log::info("a\tb\nc \x1b[2J");
    log::warn("\x1b]0;title\x07.png left out");
    log::print("\xC2\x9Bname: 1");
  });
  log::close_file();
  EXPECT_EQ(text.out, "a\tb\nc \\x1b[2J\n\\u009bname: 1\n");
  EXPECT_EQ(text.err, "warning: \\x1b]0;title\\x07.png left out\n");
  std::stringstream file;
  file << std::ifstream(path).rdbuf();
  EXPECT_EQ(file.str(), "a\tb\nc \\x1b[2J\nwarning: \\x1b]0;title\\x07.png left out\n");
  std::filesystem::remove(path);
}

TEST_F(Log, TheFileContainsLinesHiddenByQuiet) {
  const auto path = std::filesystem::temp_directory_path() / ("dptrain_log_test_" + std::to_string(::getpid()));
  log::open_file(path.string());
  log::configure({.quiet = true});
  printed([] {
    log::debug("d");
    log::info("i {}");
    log::warn("w");
  });
  log::close_file();
  printed([] { log::info("later"); });
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "i {}\nwarning: w\n");
  std::filesystem::remove(path);
}

TEST_F(Log, ReportsAFileThatCannotBeWritten) {
  try {
    log::open_file("/proc/no/such/train.log");
    FAIL() << "must throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kWrite);
    EXPECT_EQ(std::string(e.what()).substr(0, 53), "/proc/no/such/train.log: cannot open the log file: Fa");
  }
}

TEST_F(Log, DoesNotInterleaveLinesOfThreads) {
  const Printed text = printed([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([t] {
        for (int i = 0; i < 50; ++i) {
          log::info(std::string(40, static_cast<char>('a' + t)));
          if (i % 10 == 0) log::configure({});
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
  std::istringstream lines(text.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_EQ(line, std::string(40, line.at(0)));
  EXPECT_EQ(count, 200);
}

}  // namespace
}  // namespace dptrain
