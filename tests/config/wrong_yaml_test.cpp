// Invalid YAML: one line per error, the exact message with line and column.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/config/example.h"

namespace dptrain::config {
namespace {

struct Case {
  std::string text;
  std::vector<std::string> messages;
};

std::string deep(std::size_t levels, const std::string& inner = "") {
  return std::string(levels, '[') + inner + std::string(levels, ']');
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      // keys
      {"a: 1\nb: 2\na: 3\n", {"3:1: duplicate key 'a' (first at 1:1)"}},
      {"a: {filters: 1, filters: 2, filters: 3}",
       {"1:17: duplicate key 'filters' (first at 1:5)", "1:29: duplicate key 'filters' (first at 1:5)"}},
      {"a: {x:1, y: 2}", {"1:5: a space is missing after ':'; write 'x: 1'"}},
      {"- Conv2D {filters: 3}", {"1:3: 'Conv2D {filters' is not a key; is a ':' missing after 'Conv2D'?"}},
      {"? [a, b]\n: c\n", {"1:3: a key must be a name, found a list"}},
      {"~: 1\n", {"1:1: a key must be a name, found nothing"}},
      {std::string(201, 'k') + ": 1", {"1:1: a key of 201 characters; the maximum is 200"}},
      // indentation
      {"a:\n\tb: 1\n", {"2:1: tab in the indentation; use spaces"}},
      {"a:\n  \tb: 1\n\tc: 1\n\n\t# a comment\n\td: 1",
       {"2:3: tab in the indentation; use spaces (and in 2 more lines)"}},
      {"a: 1\n b: 2\n", {"2:3: a key is not allowed here; check the indentation, and the ':' after the key above"}},
      {"layers\n  - Dense: 3\n",
       {"2:10: a key is not allowed here; check the indentation, and the ':' after the key above"}},
      {"epochs:10\nb: 2\n", {"2:2: this does not fit the line above; is a space missing after its ':' ('epochs:10')?"}},
      {"a: b: c\n", {"1:5: a second ':' in one value; put text that holds ': ' in quotes"}},
      {"l:\n  - a: 1\n   - b: 2\n", {"3:4: this does not fit the lines above; check the indentation"}},
      {"  a: 1\nb: 2\n", {"2:1: this does not fit what is above; check the indentation"}},
      // tuples, which YAML divides at their commas
      {"a: {b: (3, 3, 3, 3), c: 1}", {"1:8: '(3, 3, 3, 3)' is not a list in YAML; write [3, 3, 3, 3]"}},
      {"a: {b: (3, 3), c: 1, c: 2}",
       {"1:22: duplicate key 'c' (first at 1:16)", "1:8: '(3, 3)' is not a list in YAML; write [3, 3]"}},
      {"a: {b: (3, 3), c: , c: }",
       {"1:21: duplicate key 'c' (first at 1:16)", "1:8: '(3, 3)' is not a list in YAML; write [3, 3]"}},
      {"a: {b: (3, c: 1, c: 2}", {"1:18: duplicate key 'c' (first at 1:12)"}},
      // brackets and quotes
      {"a: {b: 1\nc: 2\n", {"2:2: expected ',' or '}' before this"}},
      {"a: [1, 2\nb: 3\n", {"2:2: expected ',' or ']' before this"}},
      {"a: {b: ${x}}", {"1:9: '${' does not work inside {}: write $NAME without the braces"}},
      {"a: {b: 3}}", {"1:10: '}' closes nothing"}},
      {"a: 'x\nb: 2\n", {"1:4: this quote ' is never closed"}},
      {"a: \"x\\\"", {"1:8: the file ends inside a quoted text"}},
      {"a: \"x\\q\"", {"1:8: unknown escape '\\q'; write '\\\\', or use single quotes"}},
      // characters
      {"a: @x\n", {"1:4: text cannot start with '@'; put it in quotes"}},
      {"a: %x\n", {"1:4: text cannot start with '%'; put it in quotes"}},
      {"a: *\n", {"1:5: text cannot start with '*' (an alias needs a name); put it in quotes"}},
      {"a: \xff\n", {"1:4: byte 0xff is not UTF-8 text; is this a YAML file?"}},
      {"a: \xc0\xaf\n", {"1:4: byte 0xc0 is not UTF-8 text; is this a YAML file?"}},
      {"a: \xed\xa0\x80", {"1:4: byte 0xed is not UTF-8 text; is this a YAML file?"}},
      {std::string("a: x\0y", 6), {"1:5: control character 0x00; is this a YAML file?"}},
      {"\x89HDF\r\n\x1a\n", {"1:1: byte 0x89 is not UTF-8 text; is this a YAML file?"}},
      // anchors, merges, documents
      {"a: &lrn {b: 1}\nb: *lnr\n", {"2:4: unknown alias '*lnr'; did you mean 'lrn'?"}},
      {"a: &x [1, *x]\n", {"1:11: this alias is inside the node that it refers to"}},
      {"a: {<<: 3}", {"1:5: '<<' must be a mapping or a list of mappings, found 3"}},
      {"a: &x [1]\nb: {<<: *x}", {"2:5: '<<' must be a mapping or a list of mappings, found a list of other values"}},
      {"a: &x {p: 1}\nb: {<<: *x, <<: *x}", {"2:13: duplicate key '<<' (first at 2:5)"}},
      {"a: !!int 3\n", {"1:4: YAML tags have no meaning here: types come from the key; leave it out"}},
      {"a: 1\n---\nb: 2\n", {"2:1: a second document starts here; one file holds one experiment"}},
      // limits
      {deep(201), {"1:201: more than 200 levels of lists and mappings"}},
      {deep(100000), {"1:201: more than 200 levels of lists and mappings"}},
      {"a: &a " + deep(150) + "\nb: " + deep(60, "*a"), {"2:64: more than 200 levels of lists and mappings"}},
  };
  return all;
}

TEST(WrongYaml, ReportsErrorAndLocation) {
  for (const Case& c : cases()) EXPECT_EQ(Reading(c.text).messages(), c.messages) << c.text.substr(0, 200);
}

TEST(WrongYaml, LimitsAliases) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int k = 0; k < 8; ++k) text += ", " + below;
    text += "]\n";
  }
  const auto messages = Reading(text).messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].substr(messages[0].find(' ')), " more than 1,000,000 values once the aliases are expanded");
}

TEST(WrongYaml, ReportsAllErrorsOfOneKind) {
  const Reading r("b: {x: 1, x: 2}\na: {y: 1, y: 2}\nc: {z:3}\n");
  EXPECT_EQ(r.messages().size(), 3u);
}

TEST(WrongYaml, ShowsAnUnclosedBracket) {
  const Reading list("a: [{x: 1}, {y: 2}, [3]\nb: 4\n");
  EXPECT_EQ(list.diagnostics.errors().at(0).notes.at(0).first.str(), "test.yaml:1:4");
  const Reading r("a: {b: 1\nc: 2\n");
  EXPECT_EQ(r.diagnostics.render(),
            "test.yaml:2:2: error: expected ',' or '}' before this\n"
            "    2 | c: 2\n"
            "      |  ^\n"
            "  note: the opening '{' at test.yaml:1:4\n"
            "1 error; nothing was run (exit 2)");
}

}  // namespace
}  // namespace dptrain::config
