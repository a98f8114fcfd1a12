#include "config/config_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/error.h"
#include "tests/config/example.h"

namespace dptrain::config {
namespace {

TEST(Load, KeepsTextAndQuotes) {
  const Node root = parsed("a: NO\nb: '12'\nc: 012\nd: ~\ne:\nf: null\ng: 'null'\nh: \"x\\ty\"\n");
  EXPECT_EQ(root.find("a")->str(), "NO");
  EXPECT_FALSE(root.find("a")->quoted());
  EXPECT_EQ(root.find("b")->str(), "12");
  EXPECT_TRUE(root.find("b")->quoted());
  EXPECT_EQ(root.find("c")->str(), "012");
  for (const char* key : {"d", "e", "f"}) EXPECT_TRUE(root.find(key)->is_null()) << key;
  EXPECT_EQ(root.find("g")->str(), "null");
  EXPECT_EQ(root.find("h")->str(), "x\ty");
}

TEST(Load, MarksCountFromOneAndInCharacters) {
  const Node root = parsed("h: {\xc3\xa9t\xc3\xa9: \"\xc3\xbc x\", b: word}\nlist:\n  - &a one\n  -\n");
  const Node::Entry& first = root.entries()[0].value.entries()[0];
  EXPECT_EQ(first.mark.str(), "test.yaml:1:5");
  EXPECT_EQ(first.mark.length, 3);
  EXPECT_EQ(first.value.mark().str(), "test.yaml:1:10");
  EXPECT_EQ(first.value.mark().length, 5);  // with its quotes
  EXPECT_EQ(root.find("h")->find("b")->mark().str(), "test.yaml:1:20");
  EXPECT_EQ(root.find("h")->find("b")->mark().length, 4);
  EXPECT_EQ(root.find("list")->items()[0].mark().str(), "test.yaml:3:8");  // after the anchor
  EXPECT_TRUE(root.find("list")->items()[1].is_null());
}

TEST(Load, MarksOfALongLineCountEveryCharacter) {
  std::string text = "\xc3\xa9: [";
  for (int i = 0; i < 300; ++i) text += "\xc3\xbc" + std::to_string(i) + ", ";
  const Node root = parsed(text + "end]\nnext: 1\n");
  int column = 4;  // length of the text before
  for (int i = 0; i < 300; ++i) {
    const Mark& mark = root.entries()[0].value.items()[static_cast<std::size_t>(i)].mark();
    EXPECT_EQ(mark.column, column + 1);
    EXPECT_EQ(mark.length, 1 + static_cast<int>(std::to_string(i).size()));
    column += mark.length + 2;
  }
  EXPECT_EQ(root.entries()[1].mark.str(), "test.yaml:2:1");
}

TEST(Load, AnEmptyValueHasTheLocationOfItsKey) {
  const Node root = parsed("a:\n  b:\nc: ~\n");
  EXPECT_EQ(root.find("a")->find("b")->mark().str(), "test.yaml:2:3");
  EXPECT_EQ(root.find("c")->mark().str(), "test.yaml:3:4");
}

TEST(Load, EmptyTextIsNullWithoutAnError) {
  for (const char* text : {"", "# nothing\n", "---\n", "\n\n"}) {
    const Reading r(text);
    EXPECT_TRUE(r.root.is_null()) << text;
    EXPECT_TRUE(r.diagnostics.ok()) << text;
  }
}

TEST(Load, LineEndsAndByteOrderMark) {
  const Reading r(
      "\xef\xbb\xbf"
      "a: 1\r\nb: 2\rc: 3\n");
  EXPECT_TRUE(r.diagnostics.ok());
  EXPECT_EQ(to_yaml(r.root), "a: 1\nb: 2\nc: 3\n");
  EXPECT_EQ(r.root.find("c")->mark().str(), "test.yaml:3:4");
}

TEST(Load, AcceptsTabsElsewhere) {
  EXPECT_TRUE(Reading("a:\t1\nb: 'x\ty'\n# \tcomment\n\t\n\t# c\n").diagnostics.ok());
}

TEST(Load, AliasesCopyAndKeepTheirLocation) {
  const Node root = parsed("a: &x {stddev: 0.05}\nb: {k: *x, l: *x}\nc: &x 3\nd: *x\n");
  EXPECT_EQ(to_yaml(root), "a: {stddev: 0.05}\nb: {k: {stddev: 0.05}, l: {stddev: 0.05}}\nc: 3\nd: 3\n");
  EXPECT_EQ(root.find("b")->find("l")->find("stddev")->mark().str(), "test.yaml:1:16");
}

TEST(Load, MergeKeepsExplicitKeysFirst) {
  EXPECT_EQ(to_yaml(parsed("a: {x: 1, <<: &m {x: 2, y: 3}}\nb: {<<: *m, y: 4}\n")),
            "a: {x: 1, y: 3}\nb: {y: 4, x: 2}\n");
  EXPECT_EQ(to_yaml(parsed("p: &p {x: 1}\nq: &q {x: 2, y: 2}\nr: {<<: [*p, *q], z: 3}\n")),
            "p: {x: 1}\nq: {x: 2, y: 2}\nr: {z: 3, x: 1, y: 2}\n");
  EXPECT_EQ(to_yaml(parsed("a: {<<: {x: 1}}\nb: {'<<': 2}\n")), "a: {x: 1}\nb: {\"<<\": 2}\n");
  // Merges of merges: the anchored mapping is already merged.
  EXPECT_EQ(to_yaml(parsed("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}\n")).substr(26), "c: {y: 2, x: 1}\n");
}

TEST(Load, ReadsACallInBracesAsOneText) {
  EXPECT_EQ(to_yaml(parsed("{a: f(x=1, y=2), b: 1}")), "a: \"f(x=1, y=2)\"\nb: 1\n");
  EXPECT_EQ(to_yaml(parsed("{a: one (two, b: }")), "a: one (two\nb: null\n") << "no call: it is never closed";
  EXPECT_EQ(to_yaml(parsed("a: one (two\nb:\nc: 1\n")), "a: one (two\nb: null\nc: 1\n");
}

TEST(Load, RejectsAMissingFile) {
  Diagnostics diagnostics;
  try {
    load_file("no/such/file.yaml", diagnostics);
    FAIL() << "must throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(e.what(),
                 "no/such/file.yaml: cannot read the config: No such file or directory; the folder 'no/such' does not "
                 "exist either");
  }
}

TEST(Load, ReadsStdinForADash) {
  std::istringstream text("dir: data/x\n");
  std::streambuf* const before = std::cin.rdbuf(text.rdbuf());
  Diagnostics diagnostics;
  Reader reader(diagnostics);
  const Node root = load_file("-", diagnostics);
  std::cin.rdbuf(before);
  EXPECT_EQ(root.find("dir")->mark().str(), "stdin:1:6");
  EXPECT_EQ(reader.path(*root.find("dir")), (std::filesystem::current_path() / "data/x").string());
}

class LoadFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_ = std::filesystem::temp_directory_path() / "dptrain_config_load_test";
};

TEST_F(LoadFile, NamesAndDirectories) {
  const std::string path = (folder_ / "a.yaml").string();
  std::ofstream(path) << "dir: data/x\n";
  Diagnostics diagnostics;
  Reader reader(diagnostics);
  const Node root = load_file(path, diagnostics);
  EXPECT_EQ(root.find("dir")->mark().str(), path + ":1:6");
  EXPECT_EQ(reader.path(*root.find("dir")), (folder_ / "data/x").string());
}

TEST_F(LoadFile, RejectsFoldersAndHugeFiles) {
  Diagnostics diagnostics;
  EXPECT_THROW(load_file(folder_.string(), diagnostics), Error);
  const std::filesystem::path big = folder_ / "big.h5";
  std::ofstream(big) << "x";
  std::filesystem::resize_file(big, 17u << 20);
  try {
    load_file(big.string(), diagnostics);
    FAIL() << "must throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), big.string() + ": cannot read the config: it is 17.0 MiB large; is this a YAML file?");
  }
}

}  // namespace
}  // namespace dptrain::config
