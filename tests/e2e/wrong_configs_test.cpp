// Every file of wrong_configs/ has one error (some have several), and <name>.expected contains the exact output of
// `dptrain check`. A first line `# flags: ...` adds arguments, `# exit: N` sets an exit code other than 2; {here} is
// replaced by the folder. After a deliberate change of a message, DPTRAIN_UPDATE=1 rewrites the files; review them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/process.h"
#include "support/test_data.h"

namespace dptrain::test {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = test_data("e2e/wrong_configs");

std::vector<std::string> wrong_configs() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The words after "# <key>:" among the first lines of a config.
std::vector<std::string> directive(const std::string& config, const std::string& key) {
  std::istringstream lines(config);
  for (std::string line; std::getline(lines, line) && line.rfind("# ", 0) == 0;) {
    std::istringstream words(line.substr(2));
    std::string word;
    std::vector<std::string> found;
    words >> word;
    if (word != key + ":") continue;
    while (words >> word) found.push_back(word);
    return found;
  }
  return {};
}

class WrongConfig : public ::testing::TestWithParam<std::string> {};

TEST_P(WrongConfig, PrintsTheExactErrors) {
  const std::string config = text_of(fs::path(kFolder) / (GetParam() + ".yaml"));
  std::vector<std::string> words{"check", GetParam() + ".yaml"};
  const std::vector<std::string> flags = directive(config, "flags"), exit = directive(config, "exit");
  words.insert(words.end(), flags.begin(), flags.end());

  const Workplace place("wrong-" + GetParam());
  const Outcome outcome = place.finish(place.start(words, kFolder));
  std::string message = outcome.err;
  for (std::size_t at = message.find(kFolder); at != std::string::npos; at = message.find(kFolder))
    message.replace(at, kFolder.size(), "{here}");

  const fs::path expected = fs::path(kFolder) / (GetParam() + ".expected");
  if (const char* update = std::getenv("DPTRAIN_UPDATE"); update != nullptr && *update == '1')
    std::ofstream(expected, std::ios::binary) << message;
  EXPECT_EQ(message, text_of(expected));
  EXPECT_EQ(outcome.code, exit.empty() ? 2 : std::stoi(exit.front()));
  EXPECT_NE(message, "");
  EXPECT_EQ(outcome.out.find(": ok"), std::string::npos) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Check, WrongConfig, ::testing::ValuesIn(wrong_configs()),
                         [](const auto& test) { return test.param; });

TEST(WrongConfigs, AreAtLeastForty) { EXPECT_GE(wrong_configs().size(), 40U); }

}  // namespace
}  // namespace dptrain::test
