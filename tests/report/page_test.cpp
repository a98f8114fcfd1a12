// The page: each section, one run and several, names that would do harm, and pieces that are missing.

#include "report/page.h"

#include <gmock/gmock.h>

#include "report/html.h"
#include "report/numbers.h"
#include "report/run_folder.h"
#include "report/tags.h"
#include "train/line_file.h"

namespace dptrain::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(const std::vector<std::string>& folders) {
  std::vector<RunRecord> runs;
  for (const std::string& folder : folders) runs.push_back(read_record(folder, folder.substr(folder.size() - 3)));
  return page("animals", runs);
}

TEST(Page, HasEachSection) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.evaluate("001", "cat", "dog");
  const std::string page = page_of({folder});
  EXPECT_EQ(what_is_wrong(page), "");
  for (const char* const id : {"curves", "metrics", "classes", "worst", "layers", "time", "trouble", "config"}) {
    EXPECT_THAT(page, HasSubstr("<h2 id=\"" + std::string(id) + "\">"));
    EXPECT_THAT(page, HasSubstr("<a href=\"#" + std::string(id) + "\">"));
  }
  EXPECT_THAT(page, HasSubstr("2026-11-26 08:17 UTC"));
  EXPECT_THAT(page, HasSubstr("<b>0.7500</b><span>best val_accuracy, epoch 2</span>"));
  EXPECT_THAT(page, HasSubstr("aria-label=\"confusion matrix of validation, 4 samples, with best.h5\""));
  EXPECT_THAT(page, HasSubstr("<img class=\"pixels\" src=\"data:image/png;base64,AAAA\" alt=\"\"/>"));
  EXPECT_THAT(page, HasSubstr("waiting for data"));
}

TEST(Page, NeedsNothingBesidesItself) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.evaluate("001", "cat", "dog");
  const std::string page = page_of({folder});
  for (const char* const word : {"<script", "<link", "@import", "url(", "src=\"http", "href=\"http"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_THAT(page, HasSubstr("@media print"));
  EXPECT_THAT(page, HasSubstr("@media (prefers-color-scheme:dark)"));
}

TEST(Page, NamesAreHarmless) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.evaluate("001", "<script>alert(1)</script>", "\\\" onload=\\\"x & 学習");
  runs.write("001/command.txt", "dptrain fit '</pre><b>'\n");
  runs.write("001/train.log", "warning: <i>\x1b[1m\n");
  const std::string page = page_of({folder});
  EXPECT_EQ(what_is_wrong(page), "");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("学習"));
  EXPECT_THAT(page, HasSubstr("&lt;/pre&gt;&lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

TEST(Page, WhatIsMissingSaysWhatWouldAddIt) {
  const Runs runs;
  runs.write("001/config.resolved.yaml", kConfig);
  const std::string page = page_of({runs / "001"});
  EXPECT_EQ(what_is_wrong(page), "");
  EXPECT_THAT(page, HasSubstr("not ended: it runs, or was killed"));
  EXPECT_THAT(page, HasSubstr("no train.csv with an epoch"));
  EXPECT_THAT(page, HasSubstr("The run has not been evaluated: dptrain eval "));
  EXPECT_THAT(page, HasSubstr("no steps.csv"));
  EXPECT_THAT(page, HasSubstr("no env.json"));

  std::string without = kConfig;
  without.erase(without.find(", validation: {Synthetic: {samples: 4, classes: 2}}"), 51);
  runs.write("002/config.resolved.yaml", without);
  EXPECT_THAT(page_of({runs / "002"}), HasSubstr("data.validation, or data.test, adds this"));
  runs.write("003/config.resolved.yaml", "dptrain: 1\nmodel: [\n");
  const std::string broken = page_of({runs / "003"});
  EXPECT_EQ(what_is_wrong(broken), "");
  EXPECT_THAT(broken, HasSubstr("The config cannot be read here"));
}

TEST(Page, SeveralRunsStandSideBySide) {
  const Runs runs;
  const std::vector<std::string> folders{runs.whole("001"), runs.whole("002", "0.1", "0.9")};
  runs.evaluate("002", "cat", "dog");
  const std::string page = page_of(folders);
  EXPECT_EQ(what_is_wrong(page), "");
  for (const char* const id : {"runs", "curves", "differences", "each"})
    EXPECT_THAT(page, HasSubstr("<h2 id=\"" + std::string(id) + "\">"));
  EXPECT_THAT(page, HasSubstr("<h3 id=\"run1-curves\">"));
  EXPECT_THAT(page, HasSubstr("<h3 id=\"run2-curves\">"));
  EXPECT_THAT(page, HasSubstr("<span class=\"best\">0.9000</span>"));
}

TEST(Page, IsWrittenForFolders) {
  const Runs runs;
  write_page({runs.whole("net/001"), runs.whole("net/002")}, runs / "both.html");
  EXPECT_THAT(train::read_text(runs / "both.html"), HasSubstr("<title>net</title>"));
  write_page({runs / "net/001", runs.whole("other/001")}, runs / "two.html");
  const std::string two = train::read_text(runs / "two.html");
  EXPECT_THAT(two, HasSubstr("<title>Runs of several experiments</title>"));
  EXPECT_THAT(two, HasSubstr("other/001</a>"));
}

TEST(Html, TextIsWrittenOut) {
  EXPECT_EQ(escaped("a<b> & \"c\"\n"), "a&lt;b&gt; &amp; &quot;c&quot;\\n");
  EXPECT_EQ(preformatted("a\n\tb <\n\n"), "<pre>a\n\tb &lt;</pre>\n");
  EXPECT_EQ(note("<"), "<p class=\"note\">&lt;</p>\n");
}

TEST(Numbers, AsTheyAreShown) {
  EXPECT_EQ(value_text(0.12345), "0.1235");
  EXPECT_EQ(value_text(0), "0.0000");
  EXPECT_EQ(value_text(2.5e-6), "2.5000e-06");
  EXPECT_EQ(value_text(14126.04), "14,126");
  EXPECT_EQ(value_text(3.1e12), "3.1e+12");
  EXPECT_EQ(date_text("2026-11-26T08:17:19Z"), "2026-11-26 08:17 UTC");
  EXPECT_EQ(date_text(""), "");
}

TEST(Tags, FindWhatIsWrong) {
  EXPECT_EQ(what_is_wrong("<!DOCTYPE html><a b=\">\"><c/>&amp;</a>"), "");
  for (const char* const bad : {"<a>", "<a></b>", "</a>", "<a>&</a>", "<a b=<c>></a>"})
    EXPECT_NE(what_is_wrong(bad), "") << bad;
}

}  // namespace
}  // namespace dptrain::report
