// Text that fits a terminal: widths of UTF-8, wrapped lines, coloured errors, tables in several parts.

#include "core/terminal.h"

#include <gtest/gtest.h>

#include <sstream>

namespace dptrain::terminal {
namespace {

std::size_t longest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, width(line));
  return most;
}

TEST(TerminalWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(width("abc"), 3U);
  EXPECT_EQ(width("Größe"), 5U);
  EXPECT_EQ(width("花 flower"), 9U) << "a wide character takes two";
  EXPECT_EQ(width("e\u0301"), 1U) << "a combining mark takes none";
  EXPECT_EQ(width("🌷"), 2U);
  EXPECT_EQ(width("\033[1;31merror:\033[0m"), 6U);
  EXPECT_EQ(cut("花花花", 5), "花花");
}

TEST(TerminalWrap, BreaksAtBlanksAndContinuesFurtherRight) {
  EXPECT_EQ(wrapped("short", 20), "short");
  EXPECT_EQ(wrapped("one two three four five", 14), "one two three\n  four five");
  EXPECT_EQ(wrapped("  one two three four", 12), "  one two\n    three\n    four");
  EXPECT_EQ(wrapped("a b\none two three", 9), "a b\none two\n  three");
  EXPECT_EQ(wrapped("---------", 4), "----") << "a rule";
}

TEST(TerminalWrap, ContinuesUnderALabelledText) {
  EXPECT_EQ(wrapped("batch    128 samples = 2 x 64; 19 steps an epoch", 30),
            "batch    128 samples = 2 x 64;\n         19 steps an epoch");
  EXPECT_EQ(wrapped("name  " + std::string(12, 'x') + "  text that is far right", 24),
            "name  xxxxxxxxxxxx  text\n      that is far right")
      << "not under a column of the right half";
}

TEST(TerminalWrap, KeepsValuesWithTheirNames) {
  EXPECT_EQ(wrapped("9/9 - loss: 0.5 - accuracy: 0.7", 20), "9/9 - loss: 0.5\n  - accuracy: 0.7");
}

TEST(TerminalWrap, BreaksALongWordAfterASlashOrAComma) {
  EXPECT_EQ(wrapped("saved runs/flowers/001/checkpoints/last.h5", 20),
            "saved runs/flowers/\n  001/checkpoints/\n  last.h5");
  EXPECT_EQ(wrapped(std::string(25, 'x'), 10), "xxxxxxxxxx\n  xxxxxxxx\n  xxxxxxx");
}

TEST(TerminalWrap, KeepsAShellCommandOneCommand) {
  EXPECT_EQ(wrapped("  continue dptrain fit runs/a/001/config.yaml --run-dir runs/a/001 --resume", 60),
            "  continue dptrain fit runs/a/001/config.yaml --run-dir \\\n           runs/a/001 --resume");
}

TEST(TerminalWrap, KeepsACommandAfterAShortGap) {
  EXPECT_EQ(wrapped("  evaluate dptrain eval runs/a-network/001 --on test", 46),
            "  evaluate dptrain eval runs/a-network/001 \\\n           --on test");
  EXPECT_EQ(wrapped("  dptrain fit net.yaml --cpus 2", 24), "  dptrain fit net.yaml \\\n    --cpus 2");
  EXPECT_EQ(wrapped("  dptrain eval runs/a-long-name/001", 24), "  dptrain eval runs/\\\na-long-name/001");
  EXPECT_EQ(wrapped("  a line that names dptrain and others", 24), "  a line that names\n    dptrain and others");
}

TEST(TerminalWrap, IsNeverWiderThanTheTerminal) {
  const std::string text =
      "configs/a.yaml:12:7: error: unknown loss 'mes'; expected one of Größe, 花花花花花花花花花花花花花花花花花花, "
      "and\n"
      "  evaluate dptrain eval runs/a-name-of-forty-characters-or-so-it-seems/001\n"
      "  best     val_accuracy 0.9123 in epoch 9,  val_loss 0.25 in epoch 7";
  for (std::size_t columns = 4; columns < 100; ++columns) {
    EXPECT_LE(longest(wrapped(text, columns)), columns) << wrapped(text, columns);
    EXPECT_LE(longest(wrapped(colored(text), columns)), columns);
  }
}

TEST(TerminalColor, IsForSeverityUnderlineAndAdvice) {
  EXPECT_EQ(colored("a.yaml:3:5: error: unknown key 'lr'; did you mean 'learning_rate'?\n"
                    "    3 | lr: 1\n"
                    "      | ^~\n"
                    "1 error; nothing was run (exit 2)"),
            "a.yaml:3:5: \033[1;31merror:\033[0m \033[1munknown key 'lr'; \033[0m\033[32mdid you mean "
            "'learning_rate'?\033[0m\n"
            "    3 | lr: 1\n"
            "      | \033[1;31m^~\033[0m\n"
            "1 error; nothing was run (exit 2)");
  EXPECT_EQ(colored("error: name is taken; rename the step"),
            "\033[1;31merror:\033[0m \033[1mname is taken; \033[0m\033[32mrename the step\033[0m");
  EXPECT_EQ(colored("warning: w"), "\033[1;33mwarning:\033[0m \033[1mw\033[0m");
  EXPECT_EQ(colored("no error: here"), "no error: here");
}

TEST(TerminalTable, ContinuesBelowIfColumnsDoNotFit) {
  Table table;
  table.column("name", Table::Align::kLeft).column("ms").column("bytes").column("by", Table::Align::kLeft);
  table.row({"conv", "12.5", "3 KiB", "fma"}).row({"花", "1", "10 KiB"});
  EXPECT_EQ(table.text({}),
            "name    ms   bytes  by\n"
            "conv  12.5   3 KiB  fma\n"
            "花       1  10 KiB\n");
  EXPECT_EQ(table.text(18),
            "name    ms   bytes\n"
            "conv  12.5   3 KiB\n"
            "花       1  10 KiB\n"
            "\n"
            "name  by\n"
            "conv  fma\n"
            "花\n");
  Table wide;
  wide.column("name", Table::Align::kLeft).column("text", Table::Align::kLeft).row({"conv", "one two three"});
  EXPECT_EQ(wide.text(14), "name  text\nconv  one two\n      three\n");
}

}  // namespace
}  // namespace dptrain::terminal
