#include "config/reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "config/expression.h"
#include "tests/config/example.h"

namespace dptrain::config {
namespace {

TEST(Expression, Evaluates) {
  const std::vector<std::pair<std::string, double>> cases{{"1", 1},
                                                          {"-3", -3},
                                                          {"+3", 3},
                                                          {"1e-3", 1e-3},
                                                          {"1E+2", 100},
                                                          {".5", 0.5},
                                                          {"1/255", 1. / 255},
                                                          {"63/255", 63. / 255},
                                                          {"0.1%", 0.1 / 100},
                                                          {"2*3+4", 10},
                                                          {"2+3*4", 14},
                                                          {"2 * (3 + 4)", 14},
                                                          {"8/2/2", 2},
                                                          {"10-3-2", 5},
                                                          {"3--2", 5},
                                                          {"-(1+1)", -2},
                                                          {"(1+1)%", 0.02},
                                                          {" 7 ", 7},
                                                          {"2*-3", -6},
                                                          {"0.001/9", 0.001 / 9},
                                                          {"1e-3*2", 2e-3},
                                                          {"floor(2.9)", 2},
                                                          {"-floor( 5 / 2 ) * 3", -6},
                                                          {"2*floor(1+floor(1.5))", 4},
                                                          {"multiple_of_8(12)", 16},
                                                          {"multiple_of_8(11)", 16},
                                                          {"multiple_of_8(8.4)", 8},
                                                          {"multiple_of_8(3)", 8},
                                                          {"multiple_of_8(67.2)", 64}};
  for (const auto& [text, value] : cases) {
    ASSERT_TRUE(evaluate(text).has_value()) << text;
    EXPECT_EQ(*evaluate(text), value) << text;
  }
}

TEST(Expression, Choices) {
  const std::vector<std::pair<std::string, double>> cases{{"1 if 2 > 1 else 3", 1},
                                                          {"1 if 2 < 1 else 3", 3},
                                                          {"1 if 1 >= 2 else 2 if 2 == 2 else 3", 2},
                                                          {"10 + (1 if 1 != 1 else 2)", 12},
                                                          {"10 + 1 if 1 != 1 else 2", 2},
                                                          {"1 if 1 < 2 and 2 < 1 or 3 <= 3 else 0", 1},
                                                          {"1 if 1 < 2 and (2) < 1 else 0", 0},
                                                          {"1 if not 1 < 2 else 0", 0},
                                                          {"1 if not not 1 < 2 else 0", 1},
                                                          {"1/0 if 1 > 2 else 5", 5},
                                                          {"5 if 1 < 2 else 1/0", 5},
                                                          {"2 ** 3", 8},
                                                          {"2 ** 3 ** 2", 512},
                                                          {"-2 ** 2", -4},
                                                          {"2 ** -1", 0.5},
                                                          {"2*3**2", 18},
                                                          {"exp(0) + sqrt(16) + cos(0)", 6}};
  for (const auto& [text, value] : cases) {
    ASSERT_TRUE(evaluate(text).has_value()) << text;
    EXPECT_EQ(*evaluate(text), value) << text;
  }
  for (const std::string text :
       {"1 if 2", "1 if 2 > 1", "1 if 2 > 1 else", "if 2 > 1 else 3", "1 if 2 > 1 else 3 4", "1 > 2", "1if2>1else3 5",
        "1 if 1/0 > 1 else 2", "1/0 if 2 > 1 else 2", "1 if 1 < 2 < 3 else 0", "2 **", "** 2", "1 if not else 2",
        "1 iff 2 > 1 else 3", "sqrt(-1)", "exp(9999)", "(-1) ** 0.5"})
    EXPECT_FALSE(evaluate(text).has_value()) << text;
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "1 if 1 > 2 else ";
  EXPECT_FALSE(evaluate(deep + "1").has_value());
  deep.clear();
  for (int i = 0; i < 100000; ++i) deep += "1 ** ";
  EXPECT_FALSE(evaluate(deep + "1").has_value());
}

TEST(Expression, Names) {
  const std::vector<std::pair<std::string_view, double>> names{{"epoch", 3}, {"lr", 0.5}};
  EXPECT_EQ(evaluate("lr * 2 if epoch > 2 else lr", names), 1.0);
  EXPECT_EQ(evaluate(" epoch+lr ", names), 3.5);
  for (const char* unknown : {"lrs", "epochs > 2", "l", "2lr", "lr lr", "_lr", "lr2"})
    EXPECT_FALSE(evaluate(unknown, names).has_value()) << unknown;
  const auto none = evaluate("lr / (epoch - 3)", names);
  ASSERT_TRUE(none.has_value()) << "an expression";
  EXPECT_TRUE(std::isnan(*none)) << "without a value";
  EXPECT_FALSE(evaluate("lr").has_value());
}

TEST(Expression, RejectsInvalidExpressions) {
  for (const std::string text :
       {"",        " ",       "many",       "1_000",   "inf",       "nan",          "-inf",  "1/0",      "1/(2-2)",
        "1e999",   "0x10",    "1,5",        "1 2",     "(1",        "1)",           "1+",    "*1",       "%",
        "1%%",     "e3",      "1e",         "--",      "--2",       "()",           "1.2.3", "3 epochs", "floor",
        "floor()", "floor 2", "floor(1,2)", "ceil(1)", "2floor(1)", "multiple_of_8"})
    EXPECT_FALSE(evaluate(text).has_value()) << text;
  EXPECT_FALSE(evaluate(std::string(100000, '(')).has_value());
  EXPECT_FALSE(evaluate(std::string(200, '(') + "1" + std::string(200, ')')).has_value());
  EXPECT_FALSE(evaluate(std::string(100000, '-') + "1").has_value());
}

TEST(Reader, Conditions) {
  const auto holds = [](const std::string& text) {
    Reading r("{if: " + text + "}");
    r.reader.set_variable("x", "1+1");
    const Reader::Scope scope(
        r.reader,
        {{"top", Node::boolean(true)}, {"pooling", Node::scalar("avg")}, {"odd", Node::text("b and c == d")}});
    const auto value = r.reader.condition(*r.root.find("if"));
    return !r.diagnostics.ok() || !value ? r.diagnostics.errors().at(0).message
                                         : std::string(*value ? "true" : "false");
  };
  for (const char* text :
       {"true", "$top", "not false", "not not $top", "$pooling == avg", "$pooling != max", "3 * $x == 6", "$x>=2",
        "1e3 == 1000", "2 < 3 and 3 <= 3", "false or $top", "false and false or true", "not $top or $pooling == avg",
        "$odd != avg", "not $pooling == max and $x > 1.5"})
    EXPECT_EQ(holds(text), "true") << text;
  for (const char* text : {"false", "not $top", "$pooling == max", "true and not true", "false or $x < 2", "$x != 2",
                           "true and false or false"})
    EXPECT_EQ(holds(text), "false") << text;
  EXPECT_EQ(holds("maybe"), "expected true or false, found 'maybe'");
  EXPECT_EQ(holds("not"), "expected true or false, found 'not'");
  EXPECT_EQ(holds("$top and"), "expected true or false, found 'true and'");
  EXPECT_EQ(holds("'true'"), "expected true or false, found the text 'true'");
  EXPECT_EQ(holds("$pooling < max"), "cannot compare 'avg' < 'max'");
  EXPECT_EQ(holds("1 < 2 < 3"), "cannot compare 1 < '2 < 3'");
  EXPECT_EQ(holds("$pooling =="), "cannot compare 'avg' == nothing");
  EXPECT_EQ(holds("$nothing == 1").substr(0, 26), "unknown variable '$nothing");
}

TEST(Reader, BracesEndAName) {
  Reading r("{a: \"conv_${id}_bn\", b: \"${id}\", c: \"${id\", d: \"$${id}\", e: \"${}\", f: \"2 * ${id}\"}");
  const Reader::Scope scope(r.reader, {{"id", Node::integer(7)}});
  const auto at = [&](const char* key) { return r.reader.text(*r.root.find(key)).value_or("?"); };
  EXPECT_EQ(at("a"), "conv_7_bn");
  EXPECT_EQ(at("b"), "7");
  EXPECT_EQ(at("c"), "${id");
  EXPECT_EQ(at("d"), "${id}");
  EXPECT_EQ(at("e"), "${}");
  EXPECT_EQ(at("f"), "2 * 7");
  EXPECT_TRUE(r.diagnostics.ok());
}

TEST(Reader, Numbers) {
  Reading r(
      "{a: 1/255, b: 3, c: 2.5, d: '3', e: many, f: 9223372036854775807, g: 1e15, h: 1e19, i: 4/2, j: [1], k: ~}");
  const auto at = [&](const char* key) -> const Node& { return *r.root.find(key); };
  EXPECT_EQ(r.reader.number(at("a")), 1. / 255);
  EXPECT_EQ(r.reader.integer(at("b")), 3);
  EXPECT_EQ(r.reader.integer(at("f")), 9223372036854775807);
  EXPECT_EQ(r.reader.integer(at("g")), 1000000000000000);
  EXPECT_EQ(r.reader.integer(at("i")), 2);
  EXPECT_TRUE(r.diagnostics.ok());
  for (const char* key : {"c", "d", "e", "h", "j", "k"}) EXPECT_FALSE(r.reader.integer(at(key)).has_value()) << key;
  std::vector<std::string> messages;
  for (const Diagnostic& d : r.diagnostics.errors()) messages.push_back(d.message);
  EXPECT_EQ(messages, (std::vector<std::string>{
                          "expected an integer, found 2.5", "expected an integer, found the text '3'",
                          "expected an integer, found 'many'", "expected an integer of at most 64 bits, found 1e19",
                          "expected an integer, found a list", "expected an integer, found nothing"}));
}

TEST(Reader, BooleansAreTrueOrFalseOnly) {
  Reading r("[true, False, yes, 1, 'true']");
  EXPECT_EQ(r.reader.boolean(r.root.items()[0]), true);
  EXPECT_EQ(r.reader.boolean(r.root.items()[1]), false);
  for (std::size_t i = 2; i < 5; ++i) EXPECT_FALSE(r.reader.boolean(r.root.items()[i]).has_value());
  EXPECT_EQ(r.messages()[0], "1:15: expected true or false, found 'yes'");
}

TEST(Reader, MessagesContainSubjectAndKey) {
  Reading r("[many]");
  {
    const Reader::Subject subject(r.reader, "Conv2D 'conv1'");
    const Reader::Key key(r.reader, "filters");
    r.reader.integer(r.root.items()[0]);
    const Reader::Subject inner(r.reader, "L2");
    EXPECT_EQ(r.reader.key(), "");
  }
  EXPECT_EQ(r.messages()[0], "1:2: Conv2D 'conv1': filters must be an integer, found 'many'");
  EXPECT_EQ(r.reader.subject(), "");
}

TEST(Variables, PreferTheCommandLineOverTheEnvironment) {
  ::setenv("DPTRAIN_TEST_A", "env", 1);
  ::setenv("DPTRAIN_TEST_N", "4", 1);
  Reading r(
      "{a: $DPTRAIN_TEST_A, b: $DPTRAIN_TEST_A/x-$DPTRAIN_TEST_N, n: \"$DPTRAIN_TEST_N\", m: $DPTRAIN_TEST_N*2, p: "
      "'é$DPTRAIN_TEST_Aé'}");
  EXPECT_EQ(r.reader.text(*r.root.find("a")), "env");
  EXPECT_EQ(r.reader.text(*r.root.find("b")), "env/x-4");
  EXPECT_EQ(r.reader.integer(*r.root.find("n")), 4);
  EXPECT_EQ(r.reader.integer(*r.root.find("m")), 8);
  EXPECT_EQ(r.reader.text(*r.root.find("p")), "éenvé");
  r.reader.set_variable("DPTRAIN_TEST_A", "var");
  EXPECT_EQ(r.reader.text(*r.root.find("a")), "var");
  EXPECT_TRUE(r.diagnostics.ok());
}

TEST(Variables, PreferCommandLineAndEnvironmentOverTheFile) {
  ::setenv("DPTRAIN_TEST_N", "4", 1);
  Reading r(
      "{vars: {DPTRAIN_TEST_N: 5, DPTRAIN_TEST_B: 6, DPTRAIN_TEST_C: $DPTRAIN_TEST_N/x}, n: $DPTRAIN_TEST_N, b: "
      "$DPTRAIN_TEST_B, c: $DPTRAIN_TEST_C}");
  r.reader.read_defaults(*r.root.find("vars"));
  EXPECT_EQ(r.reader.integer(*r.root.find("n")), 4);
  EXPECT_EQ(r.reader.integer(*r.root.find("b")), 6);
  EXPECT_EQ(r.reader.text(*r.root.find("c")), "4/x");
  r.reader.set_variable("DPTRAIN_TEST_B", "7");
  EXPECT_EQ(r.reader.integer(*r.root.find("b")), 7);
  EXPECT_TRUE(r.diagnostics.ok());
}

TEST(Variables, ErrorsInVars) {
  Reading r("{a: [1], b: {A B: 1, C: [2]}}");
  r.reader.read_defaults(*r.root.find("a"));
  r.reader.read_defaults(*r.root.find("b"));
  EXPECT_EQ(r.messages(),
            (std::vector<std::string>{"1:14: vars: 'A B' is not a valid variable name; expected letters, digits and _",
                                      "1:25: vars: C must be a text or a number, found a list",
                                      "1:5: vars must be a map {NAME: value}, found a list"}));
}

TEST(Variables, Dollars) {
  Reading r("[cost$, 5$ 6, $$HOME, a$$, $1, $$$$, '$']");
  std::vector<std::string> texts;
  for (const Node& item : r.root.items()) {
    const Node once = r.reader.substituted(item);
    EXPECT_TRUE(same(once, r.reader.substituted(once)));
    texts.push_back(r.reader.text(once).value());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"cost$", "5$ 6", "$HOME", "a$", "$1", "$$", "$"}));
}

TEST(Variables, ReportsUnknownOnesOnce) {
  Reading r("{a: $DPTRAIN_NO_SUCH, b: x/$DPTRAIN_NO_SUCH}");
  EXPECT_FALSE(r.reader.integer(*r.root.find("a")).has_value());
  r.reader.text(*r.root.find("b"));
  EXPECT_EQ(
      r.messages(),
      (std::vector<std::string>{
          "1:26: unknown variable '$DPTRAIN_NO_SUCH'; give it with --var DPTRAIN_NO_SUCH=... or in the environment",
          "1:5: unknown variable '$DPTRAIN_NO_SUCH'; give it with --var DPTRAIN_NO_SUCH=... or in the environment"}));
}

TEST(Scopes, ParametersHideVariablesAndOneAnother) {
  Reading r("{f: $filters, e: 2*$filters, half: $filters/2, t: conv$filters, n: {deep: [$init]}}");
  r.reader.set_variable("filters", "7");
  std::map<std::string, Node> parameters;
  parameters["filters"] = Node::scalar("1+1");
  parameters["init"] = parsed("{TruncatedNormal: {stddev: 0.04}}");
  {
    const Reader::Scope outer(r.reader, parameters);
    EXPECT_EQ(r.reader.integer(*r.root.find("f")), 2);
    EXPECT_EQ(r.reader.integer(*r.root.find("e")), 4);  // the whole expression, not 2*1+1
    EXPECT_EQ(r.reader.integer(*r.root.find("half")), 1);
    EXPECT_EQ(r.reader.text(*r.root.find("t")), "conv1+1");
    const Node n = r.reader.substituted(*r.root.find("n"));
    EXPECT_EQ(to_yaml(n), "deep:\n  - TruncatedNormal: {stddev: 0.04}\n");
    EXPECT_EQ(n.find("deep")->items()[0].mark().str(), "test.yaml:1:76");  // location of the use
    {
      // An argument refers to the parameters of the enclosing scope.
      const Reader::Scope inner(r.reader, {{"filters", *parsed("[$filters]").items().begin()}});
      EXPECT_EQ(r.reader.integer(*r.root.find("f")), 2);
      r.reader.substituted(*r.root.find("n"));
      EXPECT_EQ(r.messages().at(0),
                "1:76: unknown variable '$init'; give it with --var init=... or in the environment");
    }
  }
  EXPECT_EQ(r.reader.integer(*r.root.find("f")), 7);
}

TEST(Scopes, RejectsInvalidCalls) {
  Reading r("{a: $filtres, b: x$list, c: $list, d: $none}");
  std::map<std::string, Node> parameters;
  parameters["filters"] = Node::integer(3);
  parameters["list"] = Node::sequence({Node::integer(1)});
  parameters["none"] = Node();
  const Reader::Scope scope(r.reader, parameters);
  r.reader.integer(*r.root.find("a"));
  r.reader.text(*r.root.find("b"));
  EXPECT_TRUE(r.reader.substituted(*r.root.find("c")).is_sequence());
  EXPECT_TRUE(r.reader.substituted(*r.root.find("d")).is_null());
  EXPECT_EQ(r.messages(), (std::vector<std::string>{"1:18: '$list' is a list and cannot be used inside text",
                                                    "1:5: unknown variable '$filtres'; did you mean '$filters'?"}));
}

TEST(Paths, OnTheCommandLineAreRelativeToTheCurrentFolder) {
  Reading r("{vars: {D: in}, a: $DPTRAIN_TEST_P/x, b: $D/x, c: x/$DPTRAIN_TEST_P, d: $$a}");
  r.reader.read_defaults(*r.root.find("vars"));
  r.reader.set_variable("DPTRAIN_TEST_P", "mine");
  EXPECT_EQ(r.reader.path(*r.root.find("a")), (std::filesystem::current_path() / "mine/x").string());
  EXPECT_EQ(r.reader.path(*r.root.find("b")), "/configs/in/x");
  EXPECT_EQ(r.reader.path(*r.root.find("c")), "/configs/x/mine");
  EXPECT_EQ(r.reader.path(*r.root.find("d")), "/configs/$a");
  EXPECT_TRUE(r.diagnostics.ok());
}

TEST(Paths, AreRelativeToTheirFile) {
  Reading r("{a: data/../x.gz, b: /abs/./y, c: '', d: [1]}");
  EXPECT_EQ(r.reader.path(*r.root.find("a")), "/configs/x.gz");
  EXPECT_EQ(r.reader.path(*r.root.find("b")), "/abs/y");
  EXPECT_FALSE(r.reader.path(*r.root.find("c")).has_value());
  EXPECT_FALSE(r.reader.path(*r.root.find("d")).has_value());
  EXPECT_EQ(r.messages()[0], "1:35: expected a path, found the text ''");
  apply_set(r.root, "a=here.gz", r.diagnostics);
  EXPECT_EQ(r.reader.path(*r.root.find("a")), (std::filesystem::current_path() / "here.gz").string());
}

}  // namespace
}  // namespace dptrain::config
