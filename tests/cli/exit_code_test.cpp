// The interface for scripts: exit codes, and the stream of each message.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "tiny_network.h"

namespace dptrain::test {
namespace {

namespace fs = std::filesystem;

class ExitCode : public TinyNetwork {};

TEST_F(ExitCode, TheFolderOfAllRunsSelectsTheNewest) {
  expect(0, "", {"fit", "tiny.yaml", "--epochs", "1", "--run-dir", "runs/tiny/001"});
  expect(0, "", {"fit", "tiny.yaml", "--epochs", "1", "--run-dir", "runs/tiny/002"});
  expect(
      8,
      "runs/tiny: the folder has no checkpoints/best.h5 or checkpoints/last.h5; the newest run in it is runs/tiny/002",
      {"eval", "runs/tiny"});
}

TEST_F(ExitCode, HelpAndVersionAreResults) {
  EXPECT_EQ(dptrain({"--version"}).code, 0);
  EXPECT_NE(dptrain({"--version"}).out.find("onednn"), std::string::npos);
  EXPECT_NE(dptrain({"--help"}).out.find("  fit "), std::string::npos);
  EXPECT_NE(dptrain({"fit", "--help"}).out.find("--resume[="), std::string::npos);
  EXPECT_NE(dptrain({"help", "eval"}).out.find("Usage: dptrain eval"), std::string::npos);
}

TEST_F(ExitCode, AResumeOfACompletedRunEndsAtOnce) {
  expect(0, "", {"fit", "tiny.yaml", "--epochs", "2", "--run-dir", "done"});
  const Outcome again = dptrain({"fit", "tiny.yaml", "--resume", "--epochs", "1", "--run-dir", "done"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("nothing to do: the run has trained 2 epochs"), std::string::npos) << again.out;
  EXPECT_NE(again.out.find("pass --epochs 3 or more to train further"), std::string::npos) << again.out;
}

TEST_F(ExitCode, AResumeNamesTheSettingsThatDiffer) {
  expect(0, "", {"fit", "tiny.yaml", "--epochs", "1", "--run-dir", "run"});
  const Outcome same = dptrain({"fit", "tiny.yaml", "--resume", "--epochs", "2", "--run-dir", "run"});
  EXPECT_EQ(same.out.find("differs"), std::string::npos) << same.out;
  const Outcome other =
      dptrain({"fit", "tiny.yaml", "--resume", "--epochs", "3", "--run-dir", "run", "--set", "train.batch_size=8",
               "--set", "callbacks=[TerminateOnNaN]", "--set", "train.log_every=1"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.out.find("differs from the checkpoint: train.batch_size 16 -> 8"), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("differs from the checkpoint: callbacks"), std::string::npos) << other.out;
  EXPECT_EQ(other.out.find("log_every"), std::string::npos) << other.out;
}

TEST_F(ExitCode, FailedGatesAre7) {
  for (const char* const run : {"good", "other", "third"})
    expect(0, "", {"fit", "tiny.yaml", "--epochs", "1", "--run-dir", run});
  EXPECT_TRUE(here_.read("good/answers.csv").starts_with("sample,label,answer,id\n0,"));

  here_.write(
      "gates.yaml",
      "confidence: 0.99\nmetrics: {loss: {at_most: 1000}}\nbaseline: [good, other]\ndrop: 0.1\nclass_drop: 0.2\n"
      "speed: {of_baseline: 0.0001}\nsize: {parameters: 1000}\n");
  const Outcome kept = dptrain({"eval", "third", "--gates", "gates.yaml", "--junit", "kept.xml"});
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_NE(kept.out.find("drop of recall of owl  0 "), std::string::npos) << kept.out;
  EXPECT_EQ(nlohmann::json::parse(here_.read("third/gates.json"))["passed"], true);
  EXPECT_NE(here_.read("kept.xml").find("failures=\"0\""), std::string::npos);

  here_.write("hard.yaml", "size:\n  parameters: 10\n");
  const Outcome broken = dptrain({"eval", "third", "--gates", "hard.yaml", "--annotations", "--assert", "loss<0"});
  EXPECT_EQ(broken.code, 7);
  EXPECT_NE(broken.err.find("hard.yaml:2:3: error: gate: parameters is"), std::string::npos) << broken.err;
  EXPECT_NE(broken.err.find("error: assertion 'loss<0'"), std::string::npos) << broken.err;
  EXPECT_NE(broken.out.find("::error file=hard.yaml,line=2,title=gate parameters::"), std::string::npos) << broken.out;
  EXPECT_EQ(nlohmann::json::parse(here_.read("third/gates.json"))["passed"], false);

  const std::vector<std::string> fit{"fit", "tiny.yaml", "--epochs", "1", "--set", "gates={size: {parameters: 10}}"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = fit;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect(7, "error: gate: parameters is", with({"--run-dir", "gated"}));
  EXPECT_TRUE(fs::exists(here_.path("gated/gates.json")));
  expect(0, "warning: gates skipped: --no-report", with({"--no-report", "--run-dir", "quick"}));
  expect(2, "--no-report skips the evaluation that --gates needs", with({"--no-report", "--gates", "hard.yaml"}));
}

/// Ids are indices in the whole data set: other seeds evaluate the same samples only if the Split has a seed.
TEST_F(ExitCode, ASplitWithASeedHoldsTheSameSamplesForOtherSeeds) {
  const auto ids = [&](const char* run, const char* seed, const std::string& split) {
    expect(0, "",
           {"fit", "tiny.yaml", "--epochs", "1", "--seed", seed, "--run-dir", run, "--set",
            "data.validation={Split: " + split + "}"});
    std::set<std::string> all;
    std::istringstream lines(here_.read(std::string(run) + "/answers.csv"));
    for (std::string line; std::getline(lines, line);) all.insert(line.substr(line.rfind(',')));
    return all;
  };
  EXPECT_EQ(ids("a", "1", "{fraction: 0.4, seed: 7}"), ids("b", "2", "{fraction: 0.4, seed: 7}"));
  EXPECT_NE(ids("c", "1", "{fraction: 0.4}"), ids("d", "2", "{fraction: 0.4}"));
}

TEST_F(ExitCode, GatesWithoutABasisAreUsageErrors) {
  expect(0, "", {"fit", "tiny.yaml", "--epochs", "1", "--run-dir", "run"});
  const auto gates = [&](int code, const std::string& message, const std::string& text) {
    here_.write("gates.yaml", text);
    expect(code, message, {"eval", "run", "--gates", "gates.yaml"});
  };
  gates(2, "gates.yaml:2:3: error: gates: there is no 'acuracy' among", "metrics:\n  acuracy: {at_least: 0}\n");
  gates(2, "there is no class 'owk'; did you mean 'owl'?", "classes: {owk: {recall: {at_least: 0}}}\n");
  gates(2, "there is no such folder", "confidence: 0.99\nbaseline: [nowhere, run]\ndrop: 0.1\n");
  here_.write("empty/labels.txt", "");
  gates(3, "answers.csv does not exist; 'dptrain eval", "confidence: 0.99\nbaseline: [run, empty]\ndrop: 0.1\n");
  here_.write("empty/answers.csv", "sample,label,answer\n0,cat,dog\n");
  gates(3, "both must be evaluated on the same data set", "confidence: 0.99\nbaseline: [run, empty]\ndrop: 0.1\n");
}

TEST_F(ExitCode, UsageIs2) {
  expect(2, "Usage: dptrain COMMAND", {});
  expect(2, "error: unknown command 'train'; did you mean 'fit'?", {"train", "tiny.yaml"});
  expect(2, "error: expected a command first, found '--quiet'", {"--quiet", "fit"});
  expect(2, "error: fit: unknown flag '--memory-limit'", {"fit", "tiny.yaml", "--memory-limit", "8GiB"});
  expect(2, "missing.yaml: cannot read the config: No such file", {"check", "missing.yaml"});
  expect(2, "error: --assert: expected a metric", {"fit", "tiny.yaml", "--assert", "accuracy"});
  expect(2, "there is no 'acc' among loss, accuracy, val_loss, val_accuracy",
         {"fit", "tiny.yaml", "--assert", "acc>0"});
  EXPECT_FALSE(fs::exists(here_.path("runs")));
}

TEST_F(ExitCode, ConfigIs2WithALocation) {
  here_.write("wrong.yaml", std::string(kTiny) + "trian: {}\n");
  expect(2, "wrong.yaml:18:1: error: ", {"check", "wrong.yaml"});
  const Outcome json = dptrain({"check", "wrong.yaml", "--log", "json"});
  EXPECT_EQ(json.code, 2);
  const auto line = nlohmann::json::parse(json.err.substr(0, json.err.find('\n')));
  EXPECT_EQ(line["level"], "error");
  EXPECT_EQ(line["file"], "wrong.yaml");
  EXPECT_EQ(line["line"], 18);
  EXPECT_EQ(line["column"], 1);

  // Errors of the plan have a location too.
  const Outcome later = dptrain(
      {"check", "tiny.yaml", "--log", "json", "--set", "train.loss={CategoricalCrossentropy: {from_logits: true}}"});
  EXPECT_EQ(later.code, 2);
  EXPECT_EQ(nlohmann::json::parse(later.err)["file"], "--set") << later.err;
  EXPECT_EQ(nlohmann::json::parse(later.err)["line"], 1);
}

TEST_F(ExitCode, CheckReadsAllConfigs) {
  const Outcome outcome = dptrain({"check", "gone.yaml", "tiny.yaml"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("gone.yaml"), std::string::npos);
  EXPECT_NE(outcome.out.find("tiny.yaml: ok"), std::string::npos);
}

TEST_F(ExitCode, NamesOfFilesAreNotLocations) {
  EXPECT_EQ(dptrain({"check", "x: error: y.yaml"}).err.find("error: x: error: y.yaml: "), 0U);
  for (const char* name : {"gone.yaml", "n.yaml:3:4: error: y.yaml"}) {
    const auto line = nlohmann::json::parse(dptrain({"check", name, "--log", "json"}).err);
    EXPECT_FALSE(line.contains("file")) << line;
    EXPECT_TRUE(line["message"].get<std::string>().starts_with(name)) << line;
  }
}

TEST_F(ExitCode, AcceptsALongMessage) {
  const std::string name(40000, 'x');
  const Outcome outcome = dptrain({"check", name + ".yaml", "--log", "json"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find(name), std::string::npos);
}

TEST_F(ExitCode, MissingDataIs3) {
  expect(3, "nowhere.gz", {"fit", "tiny.yaml", "--set", "data.train={IDX: {inputs: nowhere.gz, labels: nowhere.gz}}"});
  EXPECT_FALSE(fs::exists(here_.path("runs")));
}

TEST_F(ExitCode, MissingDevicesAre4) {
  expect(4, "error: --gpus 0: ", {"fit", "tiny.yaml", "--gpus", "0"});
  expect(4, "error: --num-gpus 1: ", {"fit", "tiny.yaml", "--num-gpus", "1"});
  expect(4, "error: cpu cannot run train.dtype_policy mixed_float16; use float32",
         {"fit", "tiny.yaml", "--set", "train.dtype_policy=mixed_float16"});
  EXPECT_EQ(dptrain({"fit", "tiny.yaml", "--gpus", "none", "--dry-run"}).code, 0);
}

TEST_F(ExitCode, TooLittleMemoryIs5AndSuggestsABatch) {
  // 300 samples of a convolution over 3000 x 3000 pixels with 256 filters: terabytes.
  const auto refused = dptrain({"fit", "tiny.yaml", "--set", "model.layers.0.Input.shape=[3000, 3000, 1]", "--set",
                                "model.layers.1.Conv2D.filters=256", "--set", "model.layers.2=GlobalAveragePooling2D",
                                "--batch-size", "300", "--accumulate", "1"});
  EXPECT_EQ(refused.code, 5);
  EXPECT_NE(refused.err.find("of memory requested"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("a replica needs "), std::string::npos) << refused.err;
}

TEST_F(ExitCode, DivergenceIs6) {
  expect(6, "error: training diverged",
         {"fit", "tiny.yaml", "--set", "train.optimizer.SGD.learning_rate=1e30", "--set", "callbacks=[TerminateOnNaN]",
          "--epochs", "50"});
}

TEST_F(ExitCode, AFalseAssertionIs7) {
  expect(7, "error: assertion 'loss<0' failed: loss is ",
         {"fit", "tiny.yaml", "--assert", "loss<0", "--assert", "loss>0"});
  EXPECT_EQ(dptrain({"eval", "runs/tiny/001", "--assert", "accuracy<=1"}).code, 0);
  expect(7, "error: assertion 'accuracy>1'", {"eval", "runs/tiny/001", "--assert", "accuracy>1"});
  EXPECT_EQ(dptrain({"fit", "tiny.yaml", "--seed", "1"}).code, 0);
  expect(7, "", {"ckpt", "diff", "runs/tiny/001", "runs/tiny/002"});
}

TEST_F(ExitCode, CheckpointsAre8) {
  here_.write("not.h5", "this is no HDF5 file");
  expect(8, "not.h5", {"fit", "tiny.yaml", "--resume=not.h5"});
  expect(8, "no run of 'tiny' under", {"fit", "tiny.yaml", "--resume"});
  EXPECT_EQ(dptrain({"fit", "tiny.yaml", "--epochs", "1", "--resume=auto"}).code, 0);  // no checkpoint: a new run
  expect(8, "kernel", {"fit", "tiny.yaml", "--resume=runs/tiny/001", "--set", "model.layers.1.Conv2D.filters=4"});
  expect(8, "kernel",
         {"fit", "tiny.yaml", "--init-from", "runs/tiny/001/model.h5", "--set", "model.layers.1.Conv2D.filters=4"});
  EXPECT_FALSE(fs::exists(here_.path("runs/tiny/002")));
}

TEST_F(ExitCode, WriteErrorsAre10) {
  expect(10, "cannot write", {"fit", "tiny.yaml", "--run-dir", "/dev/null/run"});
  here_.write("full/notes.txt", "mine");
  expect(2, "full is not empty", {"fit", "tiny.yaml", "--run-dir", "full"});
}

TEST_F(ExitCode, ResultsGoToStdoutWarningsToStderr) {
  const Outcome fit = dptrain({"fit", "tiny.yaml", "--cpus", "2"});
  EXPECT_EQ(fit.code, 0) << fit.err;
  EXPECT_NE(fit.out.find("run runs/tiny/001"), std::string::npos);
  EXPECT_NE(fit.out.find("batch    16 samples = 2 x 8; 4 steps an epoch, the last with 2; learning rate 0.1\n"),
            std::string::npos)
      << fit.out;
  EXPECT_NE(fit.out.find("Epoch 2/2\n"), std::string::npos);
  EXPECT_EQ(fit.out.find('\r'), std::string::npos);
  EXPECT_EQ(fit.err.find("ETA"), std::string::npos);  // not a terminal: no bar
  EXPECT_EQ(here_.read("runs/tiny/001/labels.txt"), "cat\ndog\nowl\n");

  const Outcome eval = dptrain({"eval", "runs/tiny/001", "--quiet"});
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(eval.out.rfind("loss: ", 0), 0U) << eval.out;
  EXPECT_NE(eval.out.find("\naccuracy: "), std::string::npos);
  EXPECT_NE(eval.out.find("\nn: 13\n"), std::string::npos);
  const auto json = nlohmann::json::parse(here_.read("runs/tiny/001/eval.json"));
  EXPECT_EQ(json["n"], 13);
  EXPECT_EQ(json["on"], "validation");
  EXPECT_EQ(here_.read("runs/tiny/001/confusion.csv").rfind("label,cat,dog,owl\ncat,", 0), 0U);
}

/// stdout has only the results, stderr one JSON object per line.
TEST_F(ExitCode, JsonLogsGoToStderr) {
  ASSERT_EQ(dptrain({"fit", "tiny.yaml", "--log", "json"}).out, "");
  const Outcome eval = dptrain({"eval", "runs/tiny/001", "--log", "json"});
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(nlohmann::json::parse(eval.out), nlohmann::json::parse(here_.read("runs/tiny/001/eval.json")));
  std::istringstream lines(eval.err);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  EXPECT_GT(count, 0);
}

TEST_F(ExitCode, EvalChecksAssertionsOnPrintedValues) {
  ASSERT_EQ(dptrain({"fit", "tiny.yaml", "--epochs", "1"}).code, 0);
  EXPECT_EQ(dptrain({"eval", "runs/tiny/001", "--assert", "f1<=1", "--assert", "recall>=0"}).code, 0);
  const auto json = nlohmann::json::parse(here_.read("runs/tiny/001/eval.json"));
  expect(7, "error: assertion 'f1>1' failed: f1 is ", {"eval", "runs/tiny/001", "--assert", "f1>1"});
  expect(7, fmt::format("precision is {:.6g}", json["macro"]["precision"].get<double>()),
         {"eval", "runs/tiny/001", "--assert", "precision>1"});
  expect(2, "there is no 'f2' among loss, accuracy, precision, recall, f1",
         {"eval", "runs/tiny/001", "--assert", "f2>1"});
  expect(2, "there is no 'f1' among loss",
         {"eval", "runs/tiny/001", "--assert", "f1>0", "--set", "train.metrics=[]", "--set",
          "train.loss=mean_squared_error"});
}

TEST_F(ExitCode, EvalOfAnotherSetKeepsTheDefaultFiles) {
  ASSERT_EQ(dptrain({"fit", "tiny.yaml", "--epochs", "1"}).code, 0);
  ASSERT_EQ(dptrain({"eval", "runs/tiny/001"}).code, 0);
  const std::string usual = here_.read("runs/tiny/001/eval.json"), table = here_.read("runs/tiny/001/confusion.csv");
  ASSERT_EQ(dptrain({"eval", "runs/tiny/001", "--on", "train"}).code, 0);
  EXPECT_EQ(here_.read("runs/tiny/001/eval.json"), usual);
  EXPECT_EQ(here_.read("runs/tiny/001/confusion.csv"), table);
  EXPECT_EQ(nlohmann::json::parse(here_.read("runs/tiny/001/eval-train.json"))["n"], 50);
  EXPECT_FALSE(here_.read("runs/tiny/001/confusion-train.csv").empty());
}

/// The 36 pixels of two images.
std::string two_images() {
  std::string idx{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0, 6};
  for (char pixel = 0; pixel < 72; ++pixel) idx += pixel;
  return idx;
}

TEST_F(ExitCode, EvalPredictAndSummaryReadModelH5) {
  ASSERT_EQ(dptrain({"fit", "tiny.yaml"}).code, 0);
  here_.write("images-idx3-ubyte", two_images());
  const auto predicted = [&](const std::vector<std::string>& model) {
    std::vector<std::string> words{"predict"};
    words.insert(words.end(), model.begin(), model.end());
    words.insert(words.end(), {"--input", "images-idx3-ubyte"});
    const Outcome outcome = dptrain(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string expected = predicted({"runs/tiny/001/checkpoints/last.h5"});
  EXPECT_NE(expected.find("\n1,"), std::string::npos) << expected;
  EXPECT_EQ(predicted({"runs/tiny/001/model.h5"}), expected);
  fs::copy_file(here_.path("runs/tiny/001/model.h5"), here_.path("handed-on.h5"));
  EXPECT_EQ(predicted({"tiny.yaml", "--weights", "handed-on.h5"}), expected);

  EXPECT_EQ(dptrain({"eval", "runs/tiny/001/model.h5", "--quiet"}).out,
            dptrain({"eval", "runs/tiny/001/checkpoints/last.h5", "--quiet"}).out);
  const std::string layers = dptrain({"summary", "tiny.yaml"}).out;
  EXPECT_EQ(dptrain({"summary", "runs/tiny/001/model.h5"}).out, layers);
  const std::string bare = dptrain({"summary", "handed-on.h5"}).out;
  EXPECT_EQ(bare.substr(0, bare.find('\n')), "Model: handed-on");
  EXPECT_EQ(bare.substr(bare.find('\n')), layers.substr(layers.find('\n')));
  expect(8, "dptrain predict CONFIG --weights handed-on.h5",
         {"predict", "handed-on.h5", "--input", "images-idx3-ubyte"});
  expect(8, "dptrain eval CONFIG --weights handed-on.h5", {"eval", "handed-on.h5"});
  expect(8, "dptrain config CONFIG; 'dptrain ckpt convert handed-on.h5 model.yaml'", {"config", "handed-on.h5"});
  expect(2,
         "ckpt convert writes .yaml (the model as a config) or .h5 (Keras) or .keras, .weights.h5 (Keras3) or .onnx "
         "(ONNX) or .safetensors (safetensors), found 'handed-on.pb'",
         {"ckpt", "convert", "handed-on.h5", "handed-on.pb"});
  expect(2, "predict needs weights: give a checkpoint in place of tiny.yaml, or --weights",
         {"predict", "tiny.yaml", "--input", "images-idx3-ubyte"});
}

TEST_F(ExitCode, PicturesAreSvg) {
  expect(2, "--output curves.jpg: pictures are written as .svg", {"plot", "runs/tiny/001", "-o", "curves.jpg"});
  expect(2, "--output chart.png: PNG is no longer supported for charts and contact sheets; use chart.svg",
         {"plot", "runs/tiny/001", "-o", "chart.png"});
  expect(2, "--plot-schedule rate.png: PNG is no longer supported for charts and contact sheets; use rate.svg",
         {"summary", "tiny.yaml", "--plot-schedule", "rate.png"});
  expect(2, "--output sheet.png: PNG is no longer supported for charts and contact sheets; use sheet.svg",
         {"data", "preview", "tiny.yaml", "-o", "sheet.png"});
}

TEST_F(ExitCode, PrintsTheSharesOfUnevenReplicas) {
  const Outcome fit =
      dptrain({"fit", "tiny.yaml", "--cpus", "3x1", "--split", "2:1:1", "--batch-size", "14", "--dry-run"});
  EXPECT_EQ(fit.code, 0) << fit.err;
  EXPECT_NE(fit.out.find("14 samples = 7 + 4 + 3;"), std::string::npos) << fit.out;
  EXPECT_FALSE(fs::exists(here_.path("runs")));
}

TEST_F(ExitCode, JsonLinesOfFitHaveFields) {
  std::istringstream lines(dptrain({"fit", "tiny.yaml", "--log", "json", "--log-every", "2 steps"}).err);
  std::map<std::string, nlohmann::json> last;
  for (std::string line; std::getline(lines, line);) {
    const auto fields = nlohmann::json::parse(line);
    if (fields.contains("ev")) last[fields["ev"]] = fields;
  }
  for (const char* name : {"loss", "accuracy", "lr", "examples_per_second", "step_ms", "epoch", "step", "message"})
    EXPECT_TRUE(last["step"].contains(name)) << name;
  for (const char* name : {"loss", "val_loss", "val_accuracy", "lr", "examples_per_second", "seconds", "epoch"})
    EXPECT_TRUE(last["epoch"].contains(name)) << name;
  EXPECT_EQ(last["end"]["epochs"], 2);
  EXPECT_EQ(last["end"]["run"], "runs/tiny/001");
}

/// Stops a long run with a signal after its start; training must continue from the checkpoint.
void stop_with(int signal, const Workplace& here) {
  const pid_t child = here.start({"fit", "tiny.yaml", "--run-dir", "run", "--epochs", "1000000"});
  for (int i = 0; i < 1000 && here.read("run/train.csv").empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(child, signal);
  const Outcome stopped = here.finish(child);
  EXPECT_EQ(stopped.code, 128 + signal) << stopped.out << stopped.err;
  const auto result = nlohmann::json::parse(here.read("run/result.json"));
  EXPECT_EQ(result["exit"], "signal");
  const std::string epochs = std::to_string(result["epochs"].get<int>() + 1);
  const Outcome resumed = here.run({"fit", "tiny.yaml", "--run-dir", "run", "--resume", "--epochs", epochs});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resumed at epoch"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(here.read("run/result.json"))["exit"], "completed");
}

TEST_F(ExitCode, InterruptIs130AfterSaving) { stop_with(SIGINT, here_); }
TEST_F(ExitCode, TerminationIs143AfterSaving) { stop_with(SIGTERM, here_); }

TEST_F(ExitCode, OtherCommandsSucceed) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"check", "tiny.yaml", "--with-data"},
           {"summary", "tiny.yaml", "--plan", "--dot", "g.dot", "--plot-schedule=lr.svg"},
           {"config", "tiny.yaml"},
           {"config", "--schema"},
           {"devices", "--json"},
           {"init"},
           {"init", "fashion_mnist", "new"},
           {"completion", "bash"},
           {"completion", "zsh"},
           {"completion", "fish"},
           {"fit", "tiny.yaml"},
           {"plot", "runs/tiny/001"},
           {"ckpt", "show", "runs/tiny/001"},
           {"ckpt", "diff", "runs/tiny/001", "runs/tiny/001/model.h5"}}) {
    const Outcome outcome = dptrain(words);
    EXPECT_EQ(outcome.code, 0) << words.front() << "\n" << outcome.err;
    EXPECT_FALSE(outcome.out.empty()) << words.front();
  }
  for (const char* file : {"g.dot", "lr.svg", "new/fashion_mnist.yaml", "runs/tiny/001/curves.svg"})
    EXPECT_FALSE(here_.read(file).empty()) << file;
  EXPECT_EQ(dptrain({"init", "fashion_mnist", "new"}).code, 2);  // never overwrites a file
  const std::string spelled_out = dptrain({"config", "tiny.yaml"}).out;
  here_.write("again/spelled_out.yaml", spelled_out);
  EXPECT_EQ(dptrain({"config", "again/spelled_out.yaml"}).out, spelled_out);
}

}  // namespace
}  // namespace dptrain::test
