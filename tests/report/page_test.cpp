// The page: each section, one run and several, harmful names, missing parts.

#include "report/page.h"

#include <gmock/gmock.h>

#include "plot/text_width.h"
#include "report/html.h"
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
  EXPECT_EQ(markup_error(page), "");
  for (const char* const id : {"curves", "metrics", "classes", "worst", "layers", "time", "config"}) {
    EXPECT_THAT(page, HasSubstr("<h2 id=\"" + std::string(id) + "\">"));
    EXPECT_THAT(page, HasSubstr("<a href=\"#" + std::string(id) + "\">"));
  }
  EXPECT_THAT(page, HasSubstr("2026-11-26 08:17 UTC"));
  EXPECT_THAT(page, HasSubstr("<b>0.7500</b><span>best val_<wbr/>accuracy, epoch 2</span>"));
  EXPECT_THAT(page, HasSubstr("aria-label=\"confusion matrix of best.h5 on validation, 4 samples\""));
  EXPECT_THAT(page, HasSubstr("<img class=\"pixels\" src=\"data:image/png;base64,AAAA\" alt=\"\"/>"));
  EXPECT_THAT(page, HasSubstr("waiting for data"));
  EXPECT_THAT(page,
              HasSubstr("<div><span class=\"label\">cat</span></div><div><span class=\"answer\">dog</span> 0.90</div>"))
      << "label and answer on a line each";
}

TEST(Page, ListsWarningsAndSkippedSteps) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  EXPECT_THAT(page_of({folder}), testing::Not(HasSubstr("id=\"trouble\"")));
  runs.write("001/train.log", "warning: slow\n");
  const std::string page = page_of({folder});
  EXPECT_THAT(page, HasSubstr("<h2 id=\"trouble\">"));
  EXPECT_THAT(page, HasSubstr("<summary>1 warning</summary>"));
}

TEST(Page, HasOneTypeface) {
  const Runs runs;
  const std::string page = page_of({runs.whole("001")});
  EXPECT_THAT(page, HasSubstr(std::string("--face:") + plot::kFontFamilies + ";"));
  EXPECT_THAT(page, HasSubstr("font:16px/1.55 var(--face)"));
  EXPECT_THAT(page, Not(HasSubstr("text{font-family")));
}

TEST(Page, PanelsAreFiguresInOneGrid) {
  const Runs runs;
  const std::string page = page_of({runs.whole("001")});
  const std::size_t begin = page.find("<div class=\"charts\">"), end = page.find("</section>", begin);
  ASSERT_NE(begin, std::string::npos);
  const std::string charts = page.substr(begin, end - begin);
  EXPECT_THAT(charts, HasSubstr("aria-label=\"loss, learning curves of 001\""));
  EXPECT_THAT(charts, HasSubstr("aria-label=\"accuracy, learning curves of 001\""));
  EXPECT_THAT(page, HasSubstr("</svg>\nvalidation</span>"));
}

TEST(Page, OfARegressionHasItsPredictions) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.write("001/eval.json", R"({"checkpoint": "best.h5", "on": "validation", "n": 4, "loss": 0.6,
      "worst": [{"sample": "data/a.txt", "error": 2.5, "holds": ["a\\new line\nanother", "-> 1 2"]}]})");
  runs.write("001/predicted.csv",
             "sample,label_1,answer_1,label_2,answer_2\n0,1,1.5,0,0\n1,2,2,1,1\n2,4,nan,0,0\n3,3,3,1,0\n");
  const std::string page = page_of({folder});
  EXPECT_EQ(markup_error(page), "");
  EXPECT_THAT(page, HasSubstr("<h2 id=\"values\">Predicted values</h2>"));
  EXPECT_THAT(page, HasSubstr("aria-label=\"value 1: predicted over true, best.h5 on validation, 4 samples\""));
  EXPECT_THAT(page, HasSubstr("aria-label=\"value 1: residuals, best.h5"));
  EXPECT_THAT(page, Not(HasSubstr("aria-label=\"value 2"))) << "0 and 1 are classes";
  EXPECT_THAT(page, Not(HasSubstr("id=\"classes\""))) << "an empty section";
  EXPECT_THAT(page, HasSubstr("<pre>a\\new line\nanother</pre>")) << "line breaks and backslashes of a text";
  runs.write("001/predicted.csv", "sample,label,answer\n0,1,x\n");
  EXPECT_THAT(page_of({folder}), Not(HasSubstr("id=\"values\""))) << "not as eval writes it";
}

TEST(Page, ShowsTheClassesOfEachOutput) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  const std::string classes = R"("classes": [{"name": "a", "precision": 1.0, "recall": 0.5, "f1": 0.66, "support": 2},
      {"name": "b", "precision": 0.66, "recall": 1.0, "f1": 0.8, "support": 2}], "macro": {"f1": 0.73})";
  runs.write("001/eval.json",
             R"({"checkpoint": "best.h5", "on": "validation", "n": 4, "loss": 0.6, "outputs": {"kind": {)" + classes +
                 R"(}, "sure": {)" + classes + "}}}");
  for (const char* const output : {"kind", "sure"})
    runs.write(std::string("001/confusion-") + output + ".csv", "label,a,b\na,1,1\nb,0,2\n");
  const std::string page = page_of({folder});
  EXPECT_EQ(markup_error(page), "");
  for (const char* const output : {"kind", "sure"})
    EXPECT_THAT(page, HasSubstr(std::string("aria-label=\"confusion matrix of ") + output + ": best.h5"));
  EXPECT_THAT(page, HasSubstr("<h3>sure</h3>"));
  const std::string section = page.substr(page.find("id=\"classes\""));
  EXPECT_THAT(section.substr(0, section.find("</section>")), Not(HasSubstr("<details"))) << "nothing is folded";
}

TEST(Page, ShowsTheIoUOfMaps) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.write("001/eval.json",
             R"({"checkpoint": "best.h5", "on": "validation", "n": 2, "loss": 0.6, "classes": [
      {"name": "sky", "precision": 1.0, "recall": 0.5, "f1": 0.66, "iou": 0.5, "support": 20000000},
      {"name": "<road>", "precision": 0.25, "recall": 0.5, "f1": 0.33, "iou": 0.2, "support": 20},
      {"name": "none", "precision": null, "recall": null, "f1": null, "iou": null, "support": 0}],
      "macro": {"precision": 0.6, "recall": 0.5, "f1": 0.5, "iou": 0.35}})");
  runs.write("001/confusion.csv", "label,sky,<road>,none\nsky,10000000,10000000,0\n<road>,10,10,0\nnone,0,0,0\n");
  const std::string page = page_of({folder});
  EXPECT_EQ(markup_error(page), "");
  EXPECT_THAT(page, HasSubstr("Intersection over union"));
  EXPECT_LT(page.find("<td>&lt;road&gt;</td>"), page.find("<td>sky</td>")) << "the smallest first";
  EXPECT_THAT(page, HasSubstr("0.3500")) << "the mean";
  EXPECT_THAT(page, HasSubstr("sky: precision 1.0000, recall 0.5000, F1 0.6600, IoU 0.5000, 20,000,000 positions"));
  EXPECT_THAT(page, HasSubstr(">20 M</text>"));
  runs.evaluate("001", "cat", "dog");
  EXPECT_THAT(page_of({folder}), Not(HasSubstr("Intersection over union"))) << "one class per sample";
}

TEST(Page, HasNoExternalResources) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.evaluate("001", "cat", "dog");
  const std::string page = page_of({folder});
  for (const char* const word : {"<script", "<link", "@import", "url(", "src=\"http", "href=\"http"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_THAT(page, HasSubstr("@media print"));
  EXPECT_THAT(page, HasSubstr("@media (prefers-color-scheme:dark)"));
}

TEST(Page, EscapesNames) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.evaluate("001", "<script>alert(1)</script>", "\\\" onload=\\\"x & 学習");
  runs.write("001/command.txt", "dptrain fit '</pre><b>'\n");
  runs.write("001/train.log", "warning: <i>\x1b[1m\n");
  const std::string page = page_of({folder});
  EXPECT_EQ(markup_error(page), "");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("学習"));
  EXPECT_THAT(page, HasSubstr("&lt;/<wbr/>pre&gt;&lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

TEST(Page, AResumedRunHasAllItsCommands) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.write("001/command.txt", "dptrain fit a.yaml\ndptrain fit a.yaml --resume\n");
  const std::string page = page_of({folder});
  EXPECT_THAT(page, HasSubstr("<tr><th>command</th><td><code>dptrain fit a.<wbr/>yaml</code></td></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><th>resumed by</th><td><code>dptrain fit a.<wbr/>yaml --resume</code>"));
}

TEST(Page, MissingPartsSuggestACommand) {
  const Runs runs;
  runs.write("001/config.resolved.yaml", kConfig);
  const std::string page = page_of({runs / "001"});
  EXPECT_EQ(markup_error(page), "");
  EXPECT_THAT(page, HasSubstr("not ended: it runs, or was killed"));
  EXPECT_THAT(page, HasSubstr("no train.csv with an epoch"));
  EXPECT_THAT(page, HasSubstr("The run has not been evaluated: dptrain eval "));
  EXPECT_THAT(page, HasSubstr("no env.json"));
  for (const char* const empty : {"classes", "values", "worst", "time", "trouble"})
    EXPECT_THAT(page, Not(HasSubstr("id=\"" + std::string(empty) + "\"")));

  std::string without = kConfig;
  without.erase(without.find(", validation: {Synthetic: {samples: 4, classes: 2}}"), 51);
  runs.write("002/config.resolved.yaml", without);
  EXPECT_THAT(page_of({runs / "002"}), HasSubstr("data.validation, or data.test, adds the pictures"));
  runs.write("003/config.resolved.yaml", "dptrain: 1\nmodel: [\n");
  const std::string broken = page_of({runs / "003"});
  EXPECT_EQ(markup_error(broken), "");
  EXPECT_THAT(broken, HasSubstr("The config cannot be read here"));
}

TEST(Page, SeveralRunsShareAPage) {
  const Runs runs;
  const std::vector<std::string> folders{runs.whole("001"), runs.whole("002", "0.1", "0.9")};
  runs.evaluate("002", "cat", "dog");
  const std::string page = page_of(folders);
  EXPECT_EQ(markup_error(page), "");
  for (const char* const id : {"runs", "curves", "differences", "each"})
    EXPECT_THAT(page, HasSubstr("<h2 id=\"" + std::string(id) + "\">"));
  EXPECT_THAT(page, Not(HasSubstr("share of each run"))) << "the runs have as many epochs";
  EXPECT_THAT(page, HasSubstr("<h3 id=\"run1-curves\">"));
  EXPECT_THAT(page, HasSubstr("<h3 id=\"run2-curves\">"));
  EXPECT_THAT(page, HasSubstr("<span class=\"best\">0.9000</span>"));
}

TEST(Page, RunsOfDifferentLengthHaveARelativeAxis) {
  const Runs runs;
  const std::vector<std::string> folders{runs.whole("001"), runs.whole("002")};
  runs.write("002/train.csv",
             "epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds\n1,0.9,0.5,0.8,0.5,0.5,100,1\n");
  const std::string page = page_of(folders);
  EXPECT_EQ(markup_error(page), "");
  EXPECT_THAT(page, HasSubstr("<summary>Over the share of each run's epochs"));
  EXPECT_THAT(page, HasSubstr(">share of the run's epochs, %</text>"));
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

TEST(Html, KeysBreakBetweenTheirParts) {
  EXPECT_EQ(breakable("data.IDX/val_loss <"), "data.<wbr/>IDX/<wbr/>val_<wbr/>loss &lt;");
  EXPECT_EQ(breakable("samples/s"), "samples/s");
  EXPECT_EQ(breakable("0.001"), "0.001");
}

TEST(Html, EscapesText) {
  EXPECT_EQ(escaped("a<b> & \"c\"\n"), "a&lt;b&gt; &amp; &quot;c&quot;\\n");
  EXPECT_EQ(preformatted("a\n\tb <\n\n"), "<pre>a\n\tb &lt;</pre>\n");
  EXPECT_EQ(note("<"), "<p class=\"note\">&lt;</p>\n");
}

TEST(Numbers, AreFormatted) {
  EXPECT_EQ(date_text("2026-11-26T08:17:19Z"), "2026-11-26 08:17 UTC");
  EXPECT_EQ(date_text(""), "");
  RunRecord run{};
  EXPECT_EQ(exit_word(run), "not ended");
  run.result = ResultRecord{.exit = "early_stopping", .reason = ""};
  EXPECT_EQ(exit_word(run), "early stopping");
}

TEST(Tags, FindErrors) {
  EXPECT_EQ(markup_error("<!DOCTYPE html><a b=\">\"><c/>&amp;</a>"), "");
  for (const char* const bad : {"<a>", "<a></b>", "</a>", "<a>&</a>", "<a b=<c>></a>"})
    EXPECT_NE(markup_error(bad), "") << bad;
}

TEST(Page, ShowsLabelAndAnswerOfMaps) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.write("001/eval.json", R"({"checkpoint": "best.h5", "on": "validation", "n": 4, "loss": 0.6,
      "classes": [{"name": "background", "precision": 1.0, "recall": 0.5, "f1": 0.66, "support": 20},
                  {"name": "a, or b", "precision": 0.66, "recall": 1.0, "f1": 0.8, "support": 9},
                  {"name": "absent", "precision": null, "recall": null, "f1": null, "support": 0}],
      "macro": {"precision": 0.83, "recall": 0.75, "f1": 0.73}, "map": [4, 5],
      "worst": [{"sample": "data/a.png", "wrong": 7, "positions": 20, "loss": 2.3},
                {"sample": "data/b.png", "wrong": 3, "positions": 9, "loss": 0.5}]})");
  const auto sheet = [&](int images) {
    std::string svg = "<svg>";
    for (int i = 0; i < images; ++i)
      svg += "<image href=\"data:image/png;base64,AAA" + std::string(1, static_cast<char>('A' + i)) + "\"/>";
    runs.write("001/worst.svg", svg + "</svg>");
  };
  sheet(6);
  const std::string page = page_of({folder});
  EXPECT_EQ(markup_error(page), "");
  EXPECT_THAT(page, HasSubstr("the largest loss first: picture, label and answer"));
  EXPECT_THAT(page, HasSubstr("<div class=\"cards maps\">"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "AAAB\" alt=\"\"/><img class=\"pixels\" src=\"data:image/png;base64,AAAC\" alt=\"\"/></div>7 of 20 wrong"));
  EXPECT_THAT(page, HasSubstr("style=\"background:#800000\"></i>a, or b</span>"));
  EXPECT_THAT(page, HasSubstr("</i>background</span>"));
  EXPECT_THAT(page, HasSubstr("</i>ignored</span>")) << "9 of 20 pixels count";
  EXPECT_THAT(page, Not(HasSubstr("</i>absent</span>")));
  sheet(0);
  EXPECT_THAT(page_of({folder}), Not(HasSubstr("</i>ignored</span>"))) << "no pictures";
}

}  // namespace
}  // namespace dptrain::report
