#include <gtest/gtest.h>

#include <algorithm>

#include "tests/config/example.h"

namespace dptrain::config {
namespace {

constexpr const char* kConfig =
    "train: {epochs: 3, optimizer: adam}\n"
    "empty:\n"
    "layers:\n"
    "  - Dense: {units: 1}\n"
    "  - Flatten\n"
    "  - Dense: {units: 2}\n"
    "steps: [{Dense: {name: hidden, units: 3}}, {Dense: {name: classes, units: 5}}]\n"
    "callbacks: [{EarlyStopping: {patience: 3}}, CSVLogger]\n";

std::string set(const std::string& assignment) {
  Reading r(kConfig);
  apply_set(r.root, assignment, r.diagnostics);
  if (!r.diagnostics.ok()) return r.messages()[0];
  return to_yaml(r.root);
}

bool changes(const std::string& assignment, const std::string& line) {
  return set(assignment).find(line) != std::string::npos;
}

TEST(Set, ReplacesValues) {
  EXPECT_TRUE(changes("train.epochs=5", "train: {epochs: 5, optimizer: adam}\n")) << set("train.epochs=5");
  EXPECT_TRUE(changes("train.epochs=", "train: {epochs: null, optimizer: adam}\n"));
  EXPECT_TRUE(changes("train={a: [1, 2]}", "train: {a: [1, 2]}\n"));
  EXPECT_TRUE(changes("train.epochs=a=b", "{epochs: a=b, "));
  EXPECT_TRUE(changes("train.epochs='5'", "{epochs: \"5\", "));
}

TEST(Set, CreatesMissingKeys) {
  EXPECT_TRUE(changes("train.batch_size=64", "optimizer: adam, batch_size: 64}\n"));
  EXPECT_TRUE(changes("empty.a.b=1", "empty: {a: {b: 1}}\n"));
  EXPECT_TRUE(changes("runtime.deterministic=false", "runtime: {deterministic: false}\n"));
}

TEST(Set, PathsCanContainTypeNames) {
  EXPECT_TRUE(changes("train.optimizer.Adam.learning_rate=3e-4", "optimizer: {Adam: {learning_rate: 3e-4}}"));
  EXPECT_TRUE(changes("layers.1.Flatten.data_format=x", "- Flatten: {data_format: x}\n"));
  EXPECT_TRUE(changes("callbacks.EarlyStopping.patience=9", "- EarlyStopping: {patience: 9}\n"));
  EXPECT_TRUE(changes("callbacks.CSVLogger.filename=x.csv", "- CSVLogger: {filename: x.csv}\n"));
}

TEST(Set, OmitsATypeWithoutArguments) {
  EXPECT_TRUE(changes("train.optimizer.learning_rate=3e-4", "optimizer: {adam: {learning_rate: 3e-4}}"));
  EXPECT_TRUE(changes("layers.0.units=9", "- Dense: {units: 9}\n"));
  EXPECT_TRUE(changes("layers.0.use_bias=false", "- Dense: {units: 1, use_bias: false}\n"));
  EXPECT_TRUE(changes("layers.1.data_format=x", "- Flatten: {data_format: x}\n"));
}

TEST(Set, PathsCanContainListItems) {
  EXPECT_TRUE(changes("layers.2.Dense.units=7", "- Dense: {units: 7}\n"));
  EXPECT_TRUE(changes("layers.0=Flatten", "layers:\n  - Flatten\n  - Flatten\n"));
}

TEST(Set, AddsToLists) {
  EXPECT_TRUE(changes("layers.+=Flatten", "  - Dense: {units: 2}\n  - Flatten\n")) << set("layers.+=Flatten");
  EXPECT_TRUE(changes("layers.+.Dense.units=4", "  - Dense: {units: 2}\n  - Dense: {units: 4}\n"));
  EXPECT_TRUE(changes("empty.+.Dense.units=4", "empty:\n  - Dense: {units: 4}\n"));
  EXPECT_TRUE(changes("more.+=a", "more: [a]\n"));
  EXPECT_EQ(set("train.epochs.+=1"), "1:14: 'train.epochs' is 3, it has no key '+'");
}

TEST(Set, FindsAStepByName) {
  EXPECT_TRUE(changes("steps.classes.units=7", "- Dense: {name: classes, units: 7}\n")) << set("steps.classes.units=7");
  EXPECT_TRUE(changes("steps.hidden.activation=relu", "- Dense: {name: hidden, units: 3, activation: relu}\n"));
  EXPECT_EQ(set("steps.heads.units=1"), "1:7: the list has 2 items, counted from 0, and none is 'heads'");
}

TEST(Set, RejectsInvalidAssignments) {
  EXPECT_EQ(set("train.epochs.x=1"), "1:14: 'train.epochs' is 3, it has no key 'x'");
  EXPECT_EQ(set("layers.Dense.units=1"), "1:8: 'Dense' occurs 2 times in the list; give its index, counted from 0");
  EXPECT_EQ(set("layers.3.units=1"), "1:8: the list has 3 items, counted from 0, and none is '3'");
  const std::string form = "1:1: expected a path of keys and a value, as in train.optimizer.Adam.learning_rate=3e-4";
  for (const char* wrong : {"train.epochs", "=3", "train..epochs=3", "", " a=1"}) EXPECT_EQ(set(wrong), form) << wrong;
  EXPECT_EQ(set("train.epochs={a: 1, a: 2}"), "1:21: duplicate key 'a' (first at 1:15)");
  EXPECT_EQ(set("train.epochs=[1"), "1:16: expected ',' or ']' before this");
}

TEST(Set, MarksPointIntoTheAssignment) {
  Reading r("train: {optimizer: sgd}");
  apply_set(r.root, "train.optimizer.SGD.momentum=3/2", r.diagnostics);
  test_optimizers().read(*r.root.find("train")->find("optimizer"), r.reader);
  EXPECT_EQ(r.diagnostics.render(),
            "--set:1:30: error: SGD: momentum must be >= 0 and < 1, found 1.5\n"
            "    1 | train.optimizer.SGD.momentum=3/2\n"
            "      |                              ^~~\n"
            "1 error; nothing was run (exit 2)");
  Reading key("{}");
  apply_set(key.root, "optimiser=sgd", key.diagnostics);
  EXPECT_EQ(key.root.entries()[0].mark.str(), "--set:1:1");
}

TEST(Set, LimitsTheDepth) {
  Reading r("{}");
  std::string path = "a";
  for (int i = 0; i < 200; ++i) path += ".a";
  apply_set(r.root, path + "=1", r.diagnostics);
  EXPECT_FALSE(r.diagnostics.ok());
}

}  // namespace
}  // namespace dptrain::config
