// Written YAML reads back as the same tree.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/config/example.h"

namespace dptrain::config {
namespace {

TEST(YamlWriter, ReadsBack) {
  for (const std::string text : {
           "a: 1\nb: [1, [2, 3], []]\nc: {}\nd: null\n",
           "a: 'true'\nb: '1e-3'\nc: '~'\nd: ''\ne: '1/255'\nf: \"12%\"\n",
           "a: ' x'\nb: 'x '\nc: 'a: b'\nd: 'a #b'\ne: '- a'\nf: '{x}'\ng: 'a, b'\nh: \"l1\\nl2\"\ni: '@x'\nj: 'x:'\n",
           "a: \"\\x07\\t\\\\\\\"\\x85\\u2028\\uFEFF\"\nb: '...'\nc: '---'\nd: '-'\ne: -1\nf: -.5\ng: '-a'\nk: --4\nl: "
           "-(1)\nm: '--- x'\nh: "
           "'?x'\ni: a?b\n",
           "'null': 1\n'a: b': 2\n'': 3\n'<<': 4\n'x y': 5\n'1': 6\n",
           "a: $x\nb: $$x\nc: '$y/z'\nd: cost$\ne: 5$\n",
           "- a\n- [b, {c: d}]\n- - - e\n- {}\n- f: 1\n  g:\n    - h: 2\n    - i\n",
           "plain\n",
           "[]\n",
           "a: |\n  two\n  lines\nb: >-\n  folded\n  text\n",
           "gpu: gpu:0\nurl: http://x.y/z#w\nglob: block*_conv*\n",
           "\xc3\xa9: \xe2\x82\xac\n",
           "a: \"\\u00e9\\N\\_x\"\n",
       }) {
    const Reading r(text);
    ASSERT_TRUE(r.diagnostics.ok()) << text << r.diagnostics.render();
    const std::string written = to_yaml(r.root);
    const Reading back(written);
    EXPECT_TRUE(back.diagnostics.ok()) << written << back.diagnostics.render();
    EXPECT_TRUE(same(r.root, back.root)) << text << "became\n" << written;
    EXPECT_EQ(to_yaml(back.root), written);
  }
}

TEST(YamlWriter, WritesShortValuesInOneLineAndDeepOnesInBlocks) {
  const std::string text =
      "name: fashion-mnist\n"
      "model:\n"
      "  layers:\n"
      "    - Input: {shape: [28, 28, 1]}\n"
      "    - Conv2D: {filters: 32, kernel_initializer: {TruncatedNormal: {stddev: 0.05}}}\n"
      "    - Flatten\n"
      "    - Dense:\n"
      "        units: 10\n"
      "        name: a_name_that_is_long_enough_to_make_the_line_of_this_layer_longer_than_one_hundred_columns\n"
      "train:\n"
      "  optimizer: {Adam: {learning_rate: 0.001}}\n"
      "  schedule:\n"
      "    SGD:\n"
      "      learning_rate: {Decay: {by: {epochs: 5}}}\n"
      "      momentum: 0\n"
      "  metrics: [accuracy]\n";
  const Reading r(text);
  ASSERT_TRUE(r.diagnostics.ok()) << r.diagnostics.render();
  EXPECT_EQ(to_yaml(r.root), text);
}

TEST(YamlWriter, DoublesADollarInALiteral) {
  Node root = Node::map();
  root.set("a", Node::text("$HOME and $$"));
  EXPECT_EQ(to_yaml(root), "a: $$HOME and $$$$\n");
  Reading back(to_yaml(root));
  EXPECT_EQ(back.reader.text(*back.root.find("a")), "$HOME and $$");
}

TEST(YamlWriter, WritesTheShortestNumbers) {
  EXPECT_EQ(to_yaml(Node::number(0.1)), "0.1\n");
  EXPECT_EQ(to_yaml(Node::number(1e-7)), "1e-07\n");
  EXPECT_EQ(to_yaml(Node::number(3)), "3\n");
  EXPECT_EQ(to_yaml(Value<float>::write(0.1f)), "0.1\n");
  EXPECT_EQ(to_yaml(Node::integer(-9007199254740993)), "-9007199254740993\n");
}

TEST(JsonWriter, TypesPlainScalars) {
  const Node root =
      parsed("a: 1\nb: '1'\nc: true\nd: NO\ne: [1e-3, -.5, +2, 01]\nf: {}\ng: ~\nh: 1/255\ni: \"q\\\"\\n\"\n");
  EXPECT_EQ(nlohmann::ordered_json::parse(to_json(root)).dump(),
            R"({"a":1,"b":"1","c":true,"d":"NO","e":[0.001,-0.5,2.0,1.0],"f":{},"g":null,"h":"1/255","i":"q\"\n"})");
  EXPECT_EQ(to_json(parsed("{a: [1]}")), "{\"a\":[1]}");
  const std::string word(100, 'x');
  EXPECT_EQ(to_json(parsed("{a: [" + word + ", {b: 1}, [" + word + "]]}")),
            "{\n \"a\": [\n  \"" + word + "\",\n  {\"b\":1},\n  [\"" + word + "\"]\n ]\n}");
}

TEST(Same, ComparesValuesAndOrder) {
  EXPECT_TRUE(same(parsed("{a: relu}"), parsed("a: 'relu'")));
  EXPECT_FALSE(same(parsed("{a: 1}"), parsed("a: '1'")));
  EXPECT_FALSE(same(parsed("{a: 1, b: 2}"), parsed("{b: 2, a: 1}")));
  EXPECT_FALSE(same(parsed("{a: 1}"), parsed("{a: 1, b: 2}")));
  EXPECT_FALSE(same(parsed("[]"), parsed("{}")));
  EXPECT_FALSE(same(parsed("$x"), Node::scalar("$x")));
}

TEST(Node, SetFindErase) {
  Node map;
  map.set("a", Node::integer(1));
  map.set("b", Node::integer(2));
  map.set("a", Node::integer(3));
  EXPECT_EQ(to_yaml(map), "a: 3\nb: 2\n");
  map.erase("a");
  EXPECT_EQ(map.find("a"), nullptr);
  EXPECT_EQ(depth(parsed("a: [1, {b: 2}]")), 3);
}

TEST(Node, DescribesItself) {
  const Node root = parsed("[1, many, '1', 'relu', [], [1], {}, {a: 1}, ~, true, 1/255]");
  std::vector<std::string> message;
  for (const Node& item : root.items()) message.push_back(item.describe());
  EXPECT_EQ(message, (std::vector<std::string>{"1", "'many'", "the text '1'", "'relu'", "an empty list", "a list",
                                               "an empty mapping", "a mapping", "nothing", "true", "1/255"}));
  EXPECT_EQ(Node::text(std::string(59, 'x') + "\xc3\xa9" + "yy").describe(), "'" + std::string(59, 'x') + "...'");
}

}  // namespace
}  // namespace dptrain::config
