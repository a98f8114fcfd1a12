#include "config/diagnostics.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "tests/config/example.h"

namespace dptrain::config {
namespace {

Mark mark_in(const std::shared_ptr<const Source>& source, int line, int column, int length = 1) {
  return {source, line, column, length};
}

TEST(Diagnostics, RendersEachErrorOnceInOrder) {
  const auto a = std::make_shared<Source>(Source{"a.yaml", "", {"first", "  caf\xc3\xa9: filter", "third"}});
  const auto b = std::make_shared<Source>(Source{"b.yaml", "", {"x"}});
  Diagnostics d;
  EXPECT_EQ(d.render(), "");
  d.throw_if_errors();
  d.error(mark_in(b, 1, 1), "in b");
  d.error(mark_in(a, 2, 9, 6), "twice").notes.emplace_back(mark_in(a, 1, 1), "the input of block 'residual', used");
  d.error(mark_in(a, 2, 9, 6), "twice");
  d.error(mark_in(a, 1, 2), "early");
  d.error({}, "nowhere");
  d.warn(mark_in(a, 3, 1, 99), "only a warning");
  const std::string text =
      "error: nowhere\n"
      "a.yaml:1:2: error: early\n"
      "    1 | first\n"
      "      |  ^\n"
      "a.yaml:2:9: error: twice\n"
      "    2 |   caf\xc3\xa9: filter\n"
      "      |         ^~~~~~\n"
      "  note: the input of block 'residual', used at a.yaml:1:1\n"
      "b.yaml:1:1: error: in b\n"
      "    1 | x\n"
      "      | ^\n"
      "4 errors; nothing was run (exit 2)";
  EXPECT_EQ(d.render(), text);
  EXPECT_EQ(d.render_warnings().substr(0, 38), "a.yaml:3:1: warning: only a warning\n  ");
  EXPECT_EQ(d.render_json().substr(0, 38), "{\"level\":\"error\",\"message\":\"nowhere\"}\n");
  EXPECT_NE(d.render_json().find(R"({"level":"error","file":"a.yaml","line":2,"column":9,"message":"twice"})"),
            std::string::npos);
  try {
    d.throw_if_errors();
    FAIL() << "must throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUsage);
    EXPECT_EQ(e.what(), text);
  }
}

TEST(Diagnostics, CutsLongLinesAroundTheError) {
  const std::string line = std::string(300, 'a') + "BAD" + std::string(300, 'b');
  const auto source = std::make_shared<Source>(Source{"a.yaml", "", {line}});
  Diagnostics d;
  d.error(mark_in(source, 1, 301, 3), "here");
  EXPECT_EQ(d.render(), "a.yaml:1:301: error: here\n    1 | ..." + std::string(70, 'a') + "BAD" + std::string(67, 'b') +
                            "...\n      | " + std::string(73, ' ') + "^~~\n1 error; nothing was run (exit 2)");
}

TEST(Diagnostics, TheExampleOfTheManual) {
  Reading r("- Conv2D: {name: block1, filter: 64}\n");
  const Node::Entry& step = r.root.items()[0].entries()[0];
  ConvSpec spec;
  conv_schema().read(step.value, step.mark, r.reader, &spec, {"name"});
  EXPECT_EQ(r.diagnostics.render(),
            "test.yaml:1:26: error: Conv2D: unknown argument 'filter'; did you mean 'filters'?\n"
            "    1 | - Conv2D: {name: block1, filter: 64}\n"
            "      |                          ^~~~~~\n"
            "1 error; nothing was run (exit 2)");
}

TEST(ErrorAt, KeepsItsLocation) {
  const auto source = std::make_shared<const Source>(Source{.name = "a.yaml", .directory = "", .lines = {}});
  const Error error = error_at(ErrorKind::kUsage, Mark{.source = source, .line = 2, .column = 9}, "no such metric");
  EXPECT_STREQ(error.what(), "a.yaml:2:9: error: no such metric");
  const Error outer = error.within("process 1");
  EXPECT_STREQ(outer.what(), "a.yaml:2:9: error: process 1: no such metric");
  EXPECT_EQ(outer.location().file, "a.yaml");
  EXPECT_EQ(outer.message(), "process 1: no such metric");
  EXPECT_FALSE(error_at(ErrorKind::kUsage, {}, "no such metric").is_complete());
}

}  // namespace
}  // namespace dptrain::config
