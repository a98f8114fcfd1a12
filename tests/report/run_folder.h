#pragma once

// Hand-made folders of runs, as written by fit and eval.

#include <filesystem>
#include <fstream>
#include <string>

#include "support/folder.h"

namespace dptrain::report {

inline constexpr const char* kConfig = R"(dptrain: 1
name: animals
model:
  layers:
    - Input: {name: x, shape: [2, 2, 1]}
    - Flatten: {name: flat}
    - Dense: {name: out, units: 2, activation: softmax}
data: {train: {Synthetic: {samples: 8, classes: 2}}, validation: {Synthetic: {samples: 4, classes: 2}}}
train: {epochs: 2, batch_size: 4, optimizer: {SGD: {learning_rate: 0.5}}, loss: categorical_crossentropy, metrics: [accuracy]}
)";

class Runs {
 public:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  /// A completed run, with the config's learning rate replaced.
  std::string whole(const std::string& name, const std::string& rate = "0.5",
                    const std::string& accuracy = "0.75") const {
    std::string config = kConfig;
    config.replace(config.find("0.5"), 3, rate);
    write(name + "/config.yaml", kConfig);
    write(name + "/config.resolved.yaml", config);
    write(name + "/command.txt", "dptrain fit animals.yaml\n");
    write(name + "/train.csv",
          "epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds\n"
          "1,0.9,0.5,0.8,0.5,0.5,100,1\n2,0.7,0.6,0.6," +
              accuracy + ",0.5,100,1\n");
    write(name + "/steps.csv",
          "step,epoch,loss,lr,examples_per_second,step_ms,data_wait_ms,comm_exposed_ms\n"
          "2,1,0.9,0.5,100,300,100,50\n4,2,0.7,0.5,100,300,100,50\n");
    write(name + "/result.json",
          R"({"exit": "completed", "epochs": 2, "steps": 4, "skipped_steps": 0, "rollbacks": 0, "seconds": 2.0,
              "examples_per_second": 8.0, "final": {"loss": 0.7}, "best": {"loss": 0.7, "epoch": 2}})");
    write(name + "/events.jsonl", "{\"t\": 1.0, \"ev\": \"end\", \"save_stall_seconds\": 0.25}\n");
    write(
        name + "/env.json",
        R"({"dptrain": "0.1.0", "devices": ["cpu:0 1 thread"], "machine": {"host": "a"}, "time": "2026-11-26T08:17:19Z"})");
    return folder_ / name;
  }
  /// Adds the files of eval; classes have these names.
  void evaluate(const std::string& name, const std::string& first, const std::string& second) const {
    write(name + "/eval.json", R"({"checkpoint": "best.h5", "on": "validation", "n": 4, "loss": 0.6, "accuracy": 0.75,
        "classes": [{"name": ")" + first +
                                   R"(", "precision": 1.0, "recall": 0.5, "f1": 0.66, "support": 2},
                    {"name": ")" + second +
                                   R"(", "precision": 0.66, "recall": 1.0, "f1": 0.8, "support": 2}],
        "macro": {"precision": 0.83, "recall": 0.75, "f1": 0.73},
        "worst": [{"sample": "data/a.png", "label": ")" +
                                   first + R"(", "answer": ")" + second +
                                   R"(", "probability": 0.9, "loss": 2.3},
                  {"sample": "data/b.png", "label": ")" +
                                   second + R"(", "answer": ")" + second +
                                   R"(", "probability": 0.6, "loss": 0.5, "holds": ["age  39 -> 0.02"]}]})");
    write(name + "/confusion.csv", "label,\"a, or b\",c\n\"a, or b\",1,1\nc,0,2\n");
    write(name + "/worst.svg",
          "<svg><image href=\"data:image/png;base64,AAAA\"/><image href=\"data:image/png;base64,BBB=\"/></svg>");
  }

 private:
  test::Folder folder_;
};

}  // namespace dptrain::report
