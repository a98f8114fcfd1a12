// The gates section of a config, and verdicts.

#include "experiment/gates_section.h"

#include <gmock/gmock.h>

#include <cmath>

#include "config/config_loader.h"
#include "config/diagnostics.h"
#include "config/value.h"
#include "evaluation/gate_checks.h"

namespace dptrain::evaluation {
namespace {

/// The errors of reading, or "" and the section.
std::string read(const std::string& text, experiment::GatesSection* out = nullptr) {
  config::Diagnostics diagnostics;
  const config::Node node = config::load_text(text, "gates.yaml", "/here", diagnostics);
  config::Reader reader(diagnostics);
  experiment::GatesSection section;
  config::Value<experiment::GatesSection>::read(node, reader, section);
  if (out != nullptr) *out = section;
  try {
    diagnostics.throw_if_errors();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(GatesSection, KeepsLocationsAndReadsBack) {
  experiment::GatesSection section;
  ASSERT_EQ(read("metrics:\n"
                 "  accuracy: {at_least: 0.9}\n"
                 "class_recall: {at_least: 70%}\n"
                 "class_iou: {at_least: 60%}\n"
                 "classes: {Shirt: {recall: {at_least: 0.5}, iou: {at_least: 0.4}}}\n"
                 "baseline: [good, better]\n"
                 "confidence: 0.95\n"
                 "drop: 0.01\n"
                 "size: {file: 1 MiB}\n",
                 &section),
            "");
  EXPECT_EQ(section.metrics.limits[0].second.mark.str(), "gates.yaml:2:3");
  EXPECT_EQ(section.class_recall->at_least, 0.7);
  EXPECT_EQ(section.class_iou->at_least, 0.6);
  EXPECT_EQ(section.classes.classes.front().second.iou->at_least, 0.4);
  EXPECT_TRUE(section.limits_iou());
  EXPECT_EQ(section.baseline[0].value, "/here/good");
  EXPECT_EQ(section.size->file->bytes, 1U << 20);
  const config::Node written = config::Value<experiment::GatesSection>::write(section);
  experiment::GatesSection again;
  ASSERT_EQ(read(config::to_yaml(written), &again), "");
  EXPECT_TRUE(config::same(written, config::Value<experiment::GatesSection>::write(again))) << config::to_yaml(written);
}

TEST(GatesSection, ReportsErrorsWithTheirLocations) {
  using testing::HasSubstr;
  EXPECT_THAT(read("metrics:\n  accuracy: {at_lest: 0.9}\n"),
              HasSubstr("gates.yaml:2:14: error: gates.accuracy: unknown key "));
  EXPECT_THAT(read("metrics: {accuracy: 0.9}\n"), HasSubstr("accuracy must be a mapping"));
  EXPECT_THAT(read("metrics: {accuracy: {}}\n"), HasSubstr("needs at_least or at_most"));
  EXPECT_THAT(read("drop: 2\nbaseline: [a, b]\n"), HasSubstr("a share of right answers between 0 and 1"));
  EXPECT_THAT(read("confidence: 0.99\ndrop: 0.01\n"), HasSubstr("need a baseline"));
  EXPECT_THAT(read("confidence: 0.99\ndrop: 0.01\nbaseline: good\n"), HasSubstr("compare: models"));
  EXPECT_EQ(read("confidence: 0.99\ndrop: 0.01\nbaseline: good\ncompare: models\n"), "");
  EXPECT_THAT(
      read("class_drop: 0.01\nbaseline: [a, b]\n"),
      HasSubstr("gates.yaml:1:1: error: gates: drop and class_drop need a confidence: a difference of two runs is "
                "partly noise; add confidence: 0.99"));
  EXPECT_THAT(read("baselin: a\n"), HasSubstr("did you mean 'baseline'?"));
}

TEST(Verdicts, ComparesValuesWithoutConfidence) {
  const auto evaluated = [](double share, const std::optional<double>& confidence) {
    return check_share_gates({{"recall of 6", share, 400, {.at_least = 0.75}}}, confidence).front();
  };
  EXPECT_EQ(word_of(evaluated(0.725, std::nullopt)), "FAILED");
  EXPECT_EQ(evaluated(0.725, std::nullopt).message, "recall of 6 is 0.725; the limit is at least 0.75");
  EXPECT_FALSE(evaluated(0.725, std::nullopt).interval);
  EXPECT_EQ(word_of(evaluated(0.75, std::nullopt)), "ok");
  EXPECT_EQ(word_of(evaluated(0.725, 0.95)), "not proven");
  EXPECT_FALSE(evaluated(0.725, 0.95).failed);
  EXPECT_EQ(word_of(evaluated(0.77, 0.95)), "not proven") << "the lower end of the interval is below the limit";
  EXPECT_EQ(word_of(evaluated(0.9, 0.95)), "ok");
  EXPECT_EQ(word_of(evaluated(0.6, 0.95)), "FAILED");
  const Verdict most = check_share_gates({{"share", 0.2, 400, {.at_most = 0.19}}}, 0.95).front();
  EXPECT_EQ(word_of(most), "not proven");
}

/// One run compared with one that gives the same answers except for 10 samples.
TEST(Verdicts, ReportsADropThatIsNotProven) {
  PairedCounts counts(1, 1);
  counts.add({1, 1}, 80);
  counts.add({1, 0}, 6);
  counts.add({0, 1}, 4);
  const auto word = [&](double limit) {
    return word_of(
        check_drop_gates({{.name = "a", .counts = counts, .limit = {.value = limit}}}, 0.95).verdicts.front());
  };
  EXPECT_EQ(word(0.03), "not proven");
  EXPECT_EQ(word(0.5), "ok");
}

TEST(Verdicts, NoiseDoesNotFailALimit) {
  const auto failed = [](double right, double samples) {
    return any_failed(check_share_gates({{"accuracy", right / samples, samples, {.at_least = 0.9}}}, 0.99));
  };
  EXPECT_FALSE(failed(88, 100)) << "two of a hundred are noise";
  EXPECT_TRUE(failed(8800, 10000)) << "two hundred of ten thousand are none";
  EXPECT_FALSE(any_failed(check_share_gates({{"share", 0.12, 100, {.at_most = 0.1}}}, 0.99)));
  EXPECT_TRUE(any_failed(check_share_gates({{"share", 0.12, 10000, {.at_most = 0.1}}}, 0.99)));
  EXPECT_TRUE(any_failed(check_limit("loss", std::nan(""), {.at_most = 1}))) << "what is no number keeps no limit";
}

TEST(Verdicts, AsTableAsXmlAndAsAnnotations) {
  std::vector<Verdict> verdicts = check_limit("loss of <a>", 0.5, {.at_most = 0.25});
  verdicts.push_back({.gate = "b", .found = 1, .interval = Interval{0.5, 1}, .limit = ">= 0.9"});
  auto source = std::make_shared<config::Source>();
  source->name = "a,b.yaml";
  verdicts[0].place = {.source = source, .line = 7, .column = 3};
  EXPECT_EQ(table_of(verdicts),
            "gate         found  interval          limit    verdict\n"
            "loss of <a>  0.5    -                 <= 0.25  FAILED\n"
            "b            1      0.5000 .. 1.0000  >= 0.9   ok");
  EXPECT_EQ(junit_of(verdicts, "net"),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuites>\n"
            "  <testsuite name=\"net\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\">\n"
            "    <testcase classname=\"net\" name=\"loss of &lt;a&gt; &lt;= 0.25\">\n"
            "      <failure message=\"loss of &lt;a&gt; is 0.5; the limit is at most 0.25\">a,b.yaml:7:3: loss of "
            "&lt;a&gt; is 0.5; the limit is at most 0.25</failure>\n"
            "    </testcase>\n"
            "    <testcase classname=\"net\" name=\"b &gt;= 0.9\"/>\n"
            "  </testsuite>\n"
            "</testsuites>\n");
  verdicts.back().proven = false;
  EXPECT_THAT(table_of(verdicts), testing::EndsWith(">= 0.9   not proven"));
  EXPECT_THAT(junit_of(verdicts, "net"), testing::HasSubstr("skipped=\"1\""));
  EXPECT_THAT(
      junit_of(verdicts, "net"),
      testing::HasSubstr("<testcase classname=\"net\" name=\"b &gt;= 0.9\">\n      <skipped message=\"not proven: "
                         "the interval 0.5000 .. 1.0000 contains the limit\"/>\n    </testcase>\n"));
  EXPECT_EQ(number_text(1555630), "1555630");
  EXPECT_EQ(number_text(0.25), "0.25");
  EXPECT_THAT(junit_of({}, "net", "stopped"), testing::HasSubstr("<skipped message=\"stopped\"/>"));
  EXPECT_EQ(annotations_of(verdicts),
            std::vector<std::string>{"::error file=a%2Cb.yaml,line=7,title=gate loss of <a>::loss of <a> is 0.5; the "
                                     "limit is at most 0.25"});
}

}  // namespace
}  // namespace dptrain::evaluation
