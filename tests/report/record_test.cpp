// Reading a run's folder: complete, partial, and other folders.

#include "report/record.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "report/run_folder.h"

namespace dptrain::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(Record, OfARunThatHasEnded) {
  const Runs runs;
  const std::string folder = runs.whole("001", "0.25");
  runs.evaluate("001", "a, or b", "c");
  const RunRecord run = read_record(folder, "001");
  ASSERT_TRUE(run.result);
  EXPECT_EQ(run.result->exit, "completed");
  EXPECT_EQ(run.result->best_epoch, 2);
  EXPECT_EQ(run.result->best.count("epoch"), 0U);
  ASSERT_TRUE(run.curves);
  EXPECT_EQ(run.curves->values.at("val_accuracy").back().y, 0.75);
  ASSERT_EQ(run.layers.size(), 3U) << run.model_problem;
  EXPECT_EQ(run.parameters, 4 * 2 + 2);
  EXPECT_TRUE(run.has_validation);
  EXPECT_EQ(value_of(run.settings, "train.optimizer.SGD.learning_rate"), "0.25");
  EXPECT_THAT(run.changed, testing::Contains(Pair("train.optimizer.SGD.learning_rate", "0.5 → 0.25")));
  EXPECT_EQ(value_of(run.environment, "machine.host"), "a");
  EXPECT_EQ(value_of(run.environment, "machine.none"), "");
  EXPECT_EQ(run.date, "2026-11-26T08:17:19Z");
}

TEST(Record, ChangesOfSettings) {
  const auto text = [](const std::vector<Change>& changes) {
    std::string all;
    for (const Change& change : changes) all += change.name + " '" + change.was + "' '" + change.now + "'; ";
    return all;
  };
  EXPECT_EQ(text(changes(Fields{{"a", "1"}, {"b", "2"}, {"gone", "3"}}, Fields{{"new", "4"}, {"a", "1"}, {"b", "5"}})),
            "new '' '4'; b '2' '5'; gone '3' ''; ");
}

TEST(Record, PathsRelativeToAnotherFolderAreNotChanges) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  const auto config = [](const std::string& file, const std::string& labels) {
    return "dptrain: 1\nname: table\nmodel: {layers: [{Input: {shape: [1]}}, {Dense: {units: 1}}]}\n"
           "data: {train: {CSV: {file: " +
           file + ", labels: " + labels + "}}}\ntrain: {epochs: 1, batch_size: 2, loss: mse}\n";
  };
  const auto changed = [&](const char* key) {
    return std::ranges::count(read_record(folder, "001").changed, key, &Fields::value_type::first);
  };
  runs.write("001/config.resolved.yaml", config("[/elsewhere/datasets/a.csv]", "y"));
  for (const char* const same :
       {"../datasets/a.csv", "../../datasets/a.csv", "../datasets/../datasets/a.csv", "./datasets/a.csv"}) {
    runs.write("001/config.yaml", config(same, "x"));
    EXPECT_EQ(changed("data.train.CSV.file"), 0) << same;
  }
  EXPECT_EQ(changed("data.train.CSV.labels"), 1);
  for (const char* const other : {"../datasets/b.csv", "../other/a.csv", "/datasets/a.csv"}) {
    runs.write("001/config.yaml", config(other, "x"));
    EXPECT_EQ(changed("data.train.CSV.file"), 1) << other;
  }
}

TEST(Record, TimeByActivity) {
  const Runs runs;
  const RunRecord run = read_record(runs.whole("001"), "001");
  ASSERT_TRUE(run.time);
  EXPECT_EQ(run.time->steps, 4);
  EXPECT_DOUBLE_EQ(run.time->computing, 4 * 0.25);
  EXPECT_DOUBLE_EQ(run.time->others, 4 * 0.05) << "a part of the step";
  EXPECT_DOUBLE_EQ(run.time->data, 4 * 0.1) << "before the step";
  EXPECT_NEAR(run.time->rest, 2.0 - 1.6, 1e-12) << "of the seconds in result.json";
  EXPECT_DOUBLE_EQ(run.time->saving, 0.25);
}

TEST(Record, AnEvaluation) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.evaluate("001", "a, or b", "c");
  const std::vector<EvaluationRecord> all = read_evaluations(folder);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0].values, ElementsAre(Pair("loss", 0.6), Pair("accuracy", 0.75)));
  ASSERT_EQ(all[0].outputs.size(), 1U);
  const OutputRecord& output = all[0].outputs[0];
  EXPECT_THAT(output.counts, ElementsAre(1, 1, 0, 2)) << "a name with a comma is one field";
  EXPECT_EQ(output.macro.samples, 4);
  ASSERT_EQ(output.worst.size(), 2U);
  EXPECT_EQ(output.worst[0].loss, 2.3);
  EXPECT_THAT(output.worst[0].images, ElementsAre("data:image/png;base64,AAAA"));
  EXPECT_THAT(output.worst[1].images, ElementsAre("data:image/png;base64,BBB="));
}

TEST(Record, PredictedValues) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.write("001/eval.json", R"({"checkpoint": "best.h5", "on": "validation", "n": 2, "loss": 0.6})");
  const auto values = [&](const std::string& csv) {
    runs.write("001/predicted.csv", csv);
    return read_evaluations(folder)[0].outputs[0].values;
  };
  const std::vector<plot::ValuePairs> one = values("sample,label,answer\n0,1,1.5\n4,-2e3,2\n");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].name, "");
  EXPECT_THAT(one[0].labels, ElementsAre(1, -2000));
  EXPECT_THAT(one[0].answers, ElementsAre(1.5, 2));
  EXPECT_EQ(values("sample,label_1,answer_1,label_2,answer_2\n0,1,1.5,3,4\n").at(1).name, "value 2");
  for (const char* const other :
       {"", "sample\n", "sample,label\n1,2\n", "sample,label,answer\n1,2\n", "sample,label,answer\n1,2,x\n"})
    EXPECT_TRUE(values(other).empty()) << other;
}

TEST(Record, OmitsPicturesOfOtherSamples) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.evaluate("001", "a", "c");
  for (const char* const sheet :
       {"<svg><image href=\"data:image/png;base64,AAAA\"/></svg>",
        "<image href=\"data:image/png;base64,A&quot;A\"/><image href=\"data:image/png;base64,B\"/>"}) {
    runs.write("001/worst.svg", sheet);
    EXPECT_TRUE(read_evaluations(folder)[0].outputs[0].worst[0].images.empty()) << sheet;
  }
}

TEST(Record, OfANewRun) {
  const Runs runs;
  runs.write("001/config.resolved.yaml", kConfig);
  const RunRecord run = read_record(runs / "001", "001");
  EXPECT_FALSE(run.result || run.curves || run.time);
  EXPECT_TRUE(run.evaluations.empty() && run.environment.empty() && run.warnings.empty() && run.fault.empty());
}

TEST(Record, OmitsUnreadableFiles) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  for (const char* const file : {"001/result.json", "001/eval.json", "001/env.json"}) runs.write(file, "{\"exit\": [");
  const RunRecord run = read_record(folder, "001");
  EXPECT_FALSE(run.result);
  EXPECT_TRUE(run.evaluations.empty());
  runs.write("001/result.json", "{\"exit\": 5}");
  EXPECT_FALSE(read_record(folder, "001").result) << "a value of another type";
}

TEST(Record, OmitsInvalidLines) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.write("001/steps.csv",
             "step,epoch,loss,lr,examples_per_second,step_ms,data_wait_ms,comm_exposed_ms\n"
             "2,1,1,1,1,100,0,0\ninf,1,1,1,1,100,0,0\n1e300,1,1,1,1,1,1,1\n4,1,1,1,1,nan,0,0\n");
  runs.write("001/events.jsonl", "{\"ev\": null}\n{\"ev\": \"end\", \"save_stall_seconds\": null}\n[1]\n");
  const RunRecord run = read_record(folder, "001");
  ASSERT_TRUE(run.time);
  EXPECT_EQ(run.time->steps, 2);
  EXPECT_DOUBLE_EQ(run.time->saving, 0);
}

TEST(Record, WarningsAndBadSamples) {
  const Runs runs;
  const std::string folder = runs.whole("001");
  runs.write("001/train.log", "Epoch 1/2\nwarning: slow\nwarning: slow\nwarning: other\n");
  runs.write("001/data-errors.csv", "file,byte,message\n\"a,b.jpg\",12,\"no \"\"end\"\"\"\n");
  const RunRecord run = read_record(folder, "001");
  EXPECT_THAT(run.warnings, ElementsAre("warning: slow", "warning: other"));
  EXPECT_THAT(run.bad_samples, ElementsAre(ElementsAre("a,b.jpg", "12", "no \"end\"")));
}

TEST(Record, RejectsOtherFolders) {
  const Runs runs;
  runs.whole("net/001");
  runs.whole("net/002");
  const auto message = [](const std::string& folder) -> std::string {
    try {
      read_record(folder, "x");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message(runs / "none"), HasSubstr("there is no such folder; give the folder of a run"));
  EXPECT_THAT(message(runs / "net"),
              testing::AllOf(HasSubstr("the folder has no config.resolved.yaml"), testing::EndsWith("net/002")));
}

TEST(Settings, PartsOfListsHaveTheirNames) {
  const Fields all = settings_of(
      "a: [1, 2]\nlayers: [{Dense: {name: out, units: 3}}, relu]\ncallbacks: [{CSVLogger: {append: true}}]\n"
      "same: [{A: {x: 1}}, {A: {x: 2}}]\n");
  EXPECT_THAT(all, ElementsAre(Pair("a", "[1, 2]"), Pair("layers.out.name", "out"), Pair("layers.out.units", "3"),
                               Pair("layers.relu", "yes"), Pair("callbacks.CSVLogger.append", "true"),
                               Pair("same.0.A.x", "1"), Pair("same.1.A.x", "2")));
}

}  // namespace
}  // namespace dptrain::report
