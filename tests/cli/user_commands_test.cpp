// Errors of commands, continuing a run, and flags that change a config.

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "tiny_network.h"

namespace dptrain::test {
namespace {

namespace fs = std::filesystem;

const char* const kNpy = "\x93NUMPY\x01";

class Commands : public TinyNetwork {};

TEST_F(Commands, ErrorsOfOpenDataShowTheLineOfTheConfig) {
  here_.write("weights.yaml", kTiny + std::string("  class_weight: {bird: 2}\n"));
  expect(2,
         "unknown class 'bird'; expected cat, dog, owl or 0..2\n   18 |   class_weight: {bird: 2}\n      |             "
         "    ^",
         {"fit", "weights.yaml"});
  expect(0, "warning: a batch size of 100 exceeds the training set (50 samples)",
         {"check", "tiny.yaml", "--with-data", "--batch-size", "100"});
}

TEST_F(Commands, DiceRejectsClassNumbersOfSeveralClasses) {
  const auto idx = [](std::initializer_list<int> dims, const std::string& values) {
    std::string bytes{'\0', '\0', '\x08', static_cast<char>(dims.size())};
    for (const int dim : dims) bytes += std::string(3, '\0') + static_cast<char>(dim);
    return bytes + values;
  };
  here_.write("x", idx({3, 2, 2}, std::string(12, '\x07')));
  here_.write("y", idx({3}, std::string("\0\1\2", 3)));
  here_.write(
      "dice.yaml",
      "dptrain: 1\nmodel: {layers: [{Input: {shape: [2, 2, 1]}}, Flatten, {Dense: {units: 1, activation: "
      "sigmoid}}]}\ndata: {train: {IDX: {inputs: x, labels: y}}}\ntrain: {epochs: 1, batch_size: 3, loss: {Dice: "
      "{axis: [1]}}}\n");
  expect(3, "item 2: label 2 is outside 0..1, which the loss expects", {"fit", "dice.yaml"});
}

TEST_F(Commands, ADeprecatedNameOfAFlagIsAcceptedWithAWarning) {
  expect(0, "warning: --lr is deprecated: --plot-schedule replaces it, and the next version will not accept --lr",
         {"summary", "tiny.yaml", "--lr", "lr.svg"});
  EXPECT_FALSE(here_.read("lr.svg").empty());
  EXPECT_EQ(dptrain({"summary", "--help"}).out.find("--lr"), std::string::npos);
}

TEST_F(Commands, ARunContinuesWithItsOwnConfig) {
  ASSERT_EQ(dptrain({"fit", "tiny.yaml", "--steps", "3", "--run-dir", "run", "--learning-rate", "0.2"}).code, 0);
  here_.write("tiny.yaml", "no config any more");
  const std::string config = here_.read("run/config.yaml");
  const Outcome resumed = dptrain({"resume", "run", "--epochs", "3"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resumed at epoch 1, step 3"), std::string::npos) << resumed.out;
  EXPECT_EQ(nlohmann::json::parse(here_.read("run/result.json"))["epochs"], 3);
  EXPECT_NE(here_.read("run/config.resolved.yaml").find("learning_rate: 0.2"), std::string::npos);
  EXPECT_EQ(here_.read("run/config.yaml"), config) << "the config as its user wrote it";
  EXPECT_NE(dptrain({"resume", "run", "--epochs", "2"}).out.find("nothing to do: the run has trained 3 epochs"),
            std::string::npos);
  EXPECT_EQ(dptrain({"resume", "run/checkpoints/last.h5", "--epochs", "4"}).code, 0) << "a checkpoint of the run";
  EXPECT_EQ(nlohmann::json::parse(here_.read("run/result.json"))["epochs"], 4);

  fs::copy_file(here_.path("run/checkpoints/last.h5"), here_.path("alone.h5"));
  expect(8, "dptrain fit CONFIG --resume=alone.h5", {"resume", "alone.h5"});
  expect(8, "no such file", {"resume", "runs/other"});
  expect(8, "tiny.yaml is a config; dptrain fit tiny.yaml --resume continues the newest of its runs",
         {"resume", "tiny.yaml"});
  expect(8, "the newest run in it is", {"resume", "."});
  here_.write("file", "a file next to the run");
  expect(8, "other/: there is no such run; the newest run in . is ./run", {"eval", "other/"});
  expect(3, "other: there is no such run; the newest run in . is ./run", {"plot", "other"});
  expect(3, "run/other: there is no such folder", {"plot", "run/other"});
  expect(2, "--parallel is for sweeps", {"resume", "run", "--parallel", "2"});
  expect(2, "unknown flag '--init-from'", {"resume", "run", "--init-from", "alone.h5"});
}

TEST_F(Commands, ASweepContinues) {
  ASSERT_EQ(dptrain({"sweep", "tiny.yaml", "--vary", "seed=1,2", "--epochs", "1", "--run-dir", "all"}).code, 0);
  EXPECT_EQ(dptrain({"resume", "all", "--cpus", "1"}).code, 0);
  expect(2, "--epochs does not apply to a sweep", {"resume", "all", "--epochs", "3"});
}

TEST_F(Commands, TheLearningRateKeepsASchedule) {
  const auto rate = [&](const std::string& optimizer) {
    here_.write("rate.yaml", std::regex_replace(std::string(kTiny), std::regex("SGD: .*\n"), optimizer + "}\n"));
    return dptrain({"config", "rate.yaml", "--minimal", "--learning-rate", "0.25"});
  };
  for (const auto& [optimizer, found] : std::vector<std::pair<std::string, std::string>>{
           {"SGD: {learning_rate: 0.1}", "learning_rate: 0.25"},
           {"Adam: {}", "learning_rate: 0.25"},
           {"Adam: 0.1", "learning_rate: 0.25"},
           {"Adam: {learning_rate: {CosineDecay: {initial_learning_rate: 1, decay_steps: 9, warmup_target: null}}}",
            "initial_learning_rate: 0.25"},
           {"Adam: {learning_rate: {CosineDecay: {initial_learning_rate: 1, decay_steps: 9}}}",
            "initial_learning_rate: 0.25"},
           {"Adam: {learning_rate: {CosineDecay: {initial_learning_rate: 0, decay_steps: 9, warmup_target: 1, "
            "warmup_steps: 2}}}",
            "warmup_target: 0.25"},
           {"Adam: {learning_rate: {Warmup: {warmup_steps: 2, then: 1}}}", "then: 0.25"},
           {"Adam: {learning_rate: {Warmup: {warmup_steps: 2, then: {ExponentialDecay: {initial_learning_rate: 1, "
            "decay_steps: 9, decay_rate: 0.5}}}}}",
            "initial_learning_rate: 0.25"}}) {
    const Outcome outcome = rate(optimizer);
    EXPECT_EQ(outcome.code, 0) << optimizer << outcome.err;
    EXPECT_NE(outcome.out.find(found), std::string::npos) << optimizer << "\n" << outcome.out;
  }
  here_.write("rate.yaml",
              std::regex_replace(std::string(kTiny), std::regex("  optimizer: .*\n"), "  optimizer: adam\n"));
  EXPECT_NE(dptrain({"config", "rate.yaml", "--learning-rate", "0.25"}).out.find("learning_rate: 0.25"),
            std::string::npos);
  here_.write("rate.yaml", std::regex_replace(std::string(kTiny), std::regex("  optimizer: .*\n"), ""));
  EXPECT_NE(dptrain({"config", "rate.yaml", "--learning-rate", "0.25"}).out.find("learning_rate: 0.25"),
            std::string::npos);
  const Outcome several =
      rate("SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [3], values: [0.1, 0.01]}}}");
  EXPECT_EQ(several.code, 2);
  EXPECT_NE(several.err.find("rate.yaml:15:37"), std::string::npos) << several.err;
  EXPECT_NE(several.err.find("--learning-rate: PiecewiseConstantDecay has several rates"), std::string::npos);
}

/// Files and folders in place of others.
TEST_F(Commands, NamesFilesOfTheWrongKind) {
  expect(0, "", {"fit", "tiny.yaml", "--epochs", "1", "--run-dir", "runs/tiny/001"});
  const std::string zip("PK\x03\x04\x14\0\0\0\0\0\0\0\0\0", 14);
  here_.write("net.pt", zip + "archive/data.pkl");
  here_.write("net.onnx", std::string("\x08\x07\x12\x07pytorch"));
  here_.write("book.xlsx", zip + "[Content_Types].xml");
  here_.write("series.npy", kNpy);
  here_.write("pairs.npz", zip + "inputs.npy");
  here_.write("rows.csv", "a,b\n1,2\n");
  here_.write("reviews/good/1.txt", "fine");
  here_.write("reviews/bad/1.txt", "poor");
  const std::string checkpoint = "runs/tiny/001/checkpoints/last.h5";
  struct Case {
    std::vector<std::string> words;
    int code;
    std::string message;
  };
  const std::vector<Case> all{
      {{"fit", "tiny"}, 2, "tiny: cannot read the config: No such file or directory; did you mean 'tiny.yaml'?"},
      {{"check", "tiny.yml"}, 2, "No such file or directory; did you mean 'tiny.yaml'?"},
      {{"check", "tny.yaml"}, 2, "No such file or directory; did you mean 'tiny.yaml'?"},
      {{"fit", "fashion_mnist.yaml"}, 2, "'dptrain init fashion_mnist' writes that config"},
      {{"fit", "runs/tiny/001"},
       2,
       "whose config is runs/tiny/001/config.yaml; 'dptrain resume runs/tiny/001' continues it"},
      {{"fit", "reviews"}, 2, "it is a folder; 'dptrain init --from reviews' writes a config"},
      {{"check", checkpoint}, 2, "it is an HDF5 file; 'dptrain ckpt show " + checkpoint + "'"},
      {{"check", "net.onnx"}, 2, "it is an ONNX model, which dptrain cannot read"},
      {{"check", "net.pt"}, 2, "it is a PyTorch file, which dptrain cannot read"},
      {{"check", "rows.csv"}, 2, "it is a table; 'dptrain init --from rows.csv' writes a config for it"},
      {{"eval", "net.pt"}, 2, "it is a PyTorch file, which dptrain cannot read"},
      {{"eval", "tiny.yaml", "--weights", "net.pt"}, 8, "'net.pt' is a PyTorch file, which dptrain cannot read"},
      {{"ckpt", "show", "net.onnx"}, 8, "'net.onnx' is an ONNX model, which dptrain cannot read"},
      {{"eval", "runs/tiny/999"},
       8,
       "runs/tiny/999: there is no such run; the newest run in runs/tiny is runs/tiny/001"},
      {{"ckpt", "show", "runs/tiny/999"}, 8, "there is no such run; the newest run in runs/tiny is runs/tiny/001"},
      {{"plot", "runs/tiny"}, 3, "the folder has no train.csv; the newest run in runs/tiny is runs/tiny/001"},
      {{"plot", "runs/tiny/2"}, 3, "there is no such run; the newest run in runs/tiny is runs/tiny/001"},
      {{"data", "scan", "series.npy"}, 2, "it is a NumPy array; in a config: data: {train: {Numpy: "},
      {{"data", "scan", "pairs.npz"}, 2, "it is a file of NumPy arrays; in a config: data: {train: {Numpy: "},
      {{"data", "scan", "reviews"}, 2, "it is a folder of texts, which are read with the vocabulary of a config"},
      {{"init", "--from", "series.npy"}, 2, "it is a NumPy array, but init --from expects a CSV or HDF5 file"},
      {{"init", "--from", "book.xlsx"}, 2, "it is an Excel workbook, but init --from expects a CSV or HDF5 file"},
      {{"init", "fashion_mnits"}, 2, "there is no config 'fashion_mnits'; did you mean 'fashion_mnist'? There are "},
      {{"predict", "runs/tiny/001", "--input", "net.pt"}, 2, "it is a PyTorch file, but this model expects images"},
      {{"predict", "runs/tiny/001", "--input", "tiny.yaml"}, 2, "it is a config, but this model expects images"},
      {{"predict", "runs/tiny/001", "--input", "rows.csv"}, 2, "it is a table, but this model expects images"},
  };
  for (const Case& one : all) {
    expect(one.code, one.message, one.words);
    EXPECT_EQ(dptrain(one.words).out, "") << one.words.front() << ": nothing is printed before a failure";
  }
}

TEST_F(Commands, InitNamesTheSourceOfTheData) {
  const Outcome written = dptrain({"init", "fashion_mnist"});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_NE(written.out.find("the data of this config are missing: no folder "), std::string::npos) << written.out;
  const Outcome flowers = dptrain({"init", "flowers_vgg16"});  // its folder is the default of a variable
  EXPECT_NE(flowers.out.find("datasets/flowers. datasets/README.md"), std::string::npos) << flowers.out;
  EXPECT_NE(written.out.find("dptrain fit fashion_mnist.yaml --data synthetic"), std::string::npos) << written.out;
  expect(0, "", {"check", "fashion_mnist.yaml", "--data", "synthetic"});
}

TEST_F(Commands, AFailedPredictionPrintsNoHeader) {
  expect(0, "", {"fit", "tiny.yaml", "--epochs", "1", "--run-dir", "run"});
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 5, 5, 1), }";
  const std::string padded = header + std::string(117 - header.size(), ' ') + "\n";
  here_.write("small.npy", std::string("\x93NUMPY\x01\0v\0", 10) + padded + std::string(50, '\1'));
  const Outcome refused = dptrain({"predict", "run", "--input", "small.npy", "--cpus", "1"});
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.err.find("the model expects 6x6x1"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.out, "");
}

TEST_F(Commands, PredictResizesWithAFlag) {
  expect(0, "", {"fit", "tiny.yaml", "--epochs", "1", "--run-dir", "run"});
  here_.write("new/a.pgm", "P5\n8 7\n255\n" + std::string(56, 'x'));
  expect(
      3,
      "to data.transforms, for a trained model with --set 'data.transforms.eval.+={Resizing: {height: 6, width: 6}}'",
      {"predict", "run", "--input", "new", "--cpus", "1"});
  expect(0, "",
         {"predict", "run", "--input", "new", "--cpus", "1", "--set",
          "data.transforms.eval.+={Resizing: {height: 6, width: 6}}"});
}

TEST_F(Commands, PredictWritesMasksArraysAndLayers) {
  here_.write("map.yaml",
              "dptrain: 1\n"
              "model:\n"
              "  blocks: {pair: {layers: [{Conv2D: {name: conv, filters: 4, kernel_size: 3, padding: same}}]}}\n"
              "  shared: {twice: {Conv2D: {filters: 4, kernel_size: 1}}}\n"
              "  layers:\n"
              "    - Input: {shape: [6, 6, 1]}\n"
              "    - pair: {name: first}\n"
              "    - twice: {name: once}\n"
              "    - twice: {name: again}\n"
              "    - Conv2D: {name: classes, filters: 3, kernel_size: 1, activation: softmax}\n"
              "data:\n"
              "  train: {Synthetic: {samples: 20}}\n"
              "  transforms: {train: [], eval: [{Resizing: {height: 6, width: 6}}]}\n"
              "train: {epochs: 1, batch_size: 10, optimizer: sgd, loss: sparse_categorical_crossentropy}\n");
  expect(0, "", {"fit", "map.yaml", "--run-dir", "run", "--cpus", "1"});
  here_.write("new/a.pgm", "P5\n8 7\n255\n" + std::string(56, 'x'));
  here_.write("new/b/c.pgm", "P5\n3 9\n255\n" + std::string(27, 'y'));
  const auto predict = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"predict", "run", "--input", "new", "--cpus", "1"});
    return words;
  };
  expect(0, "", predict({"--output", "masks/"}));
  const auto size = [&](const char* name) { return here_.read(name).substr(16, 8); };
  EXPECT_EQ(size("masks/a.png"), std::string("\0\0\0\x08\0\0\0\x07", 8));
  EXPECT_EQ(size("masks/b/c.png"), std::string("\0\0\0\x03\0\0\0\x09", 8));
  expect(2, "2 of 2 masks exist already (masks/a.png, masks/b/c.png); add --overwrite", predict({"--output", "masks"}));
  expect(0, "", predict({"--output", "masks", "--overwrite"}));

  expect(0, "", predict({"--output", "all.npy"}));
  EXPECT_NE(here_.read("all.npy").find("'descr': '|u1', 'fortran_order': False, 'shape': (2, 6, 6), }"),
            std::string::npos);
  expect(0, "", predict({"--output", "p.npy", "--probabilities"}));
  expect(0, "", predict({"--output", "classes.npy", "--layer", "classes"}));
  EXPECT_EQ(here_.read("classes.npy"), here_.read("p.npy"));
  for (const char* const layer : {"first_conv", "once", "again", "input_layer"}) {
    expect(0, "", predict({"--output", "layer.npy", "--layer", layer}));
    EXPECT_NE(here_.read("layer.npy")
                  .find(std::string("'<f4', 'fortran_order': False, 'shape': (2, 6, 6, ") +
                        (std::string(layer) == "input_layer" ? "1" : "4") + "), }"),
              std::string::npos)
        << layer;
  }
  expect(2, "--layer clases: the model has no such layer; did you mean 'classes'?", predict({"--layer", "clases"}));
  expect(2, "--layer twice: the model calls this layer several times; name one call: once, again",
         predict({"--layer", "twice"}));
}

TEST_F(Commands, HelpMentionsRepeatableOnce) {
  for (const char* const command : {"predict", "fit", "eval"})
    EXPECT_EQ(
        std::regex_replace(dptrain({command, "--help"}).out, std::regex("\\s+"), " ").find("(repeatable) (repeatable)"),
        std::string::npos)
        << command;
}

}  // namespace
}  // namespace dptrain::test
