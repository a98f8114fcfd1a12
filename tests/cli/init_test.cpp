// init --from: what it drafts is a config that loads, whatever the columns are called, and its network fits the data.

#include <gmock/gmock.h>

#include <fstream>

#include "cli/init/draft.h"
#include "core/error.h"
#include "data/source.h"
#include "experiment/experiment.h"
#include "experiment/model_side.h"
#include "support/folder.h"

namespace dptrain::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;

class InitTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
    return (folder_.path() / name).string();
  }
  static Draft draft(const std::string& path, const std::optional<std::string>& target = std::nullopt) {
    return draft_config({.path = path, .reference = path, .name = "drafted", .target = target});
  }
  /// Loads it, and opens its data for its model.
  static data::Sources open(const Draft& draft) {
    const experiment::Experiment experiment = experiment::load_experiment_text(draft.yaml, "drafted.yaml", {});
    const experiment::DataSection& section = experiment.config.data;
    return data::open_sources({section.train, section.validation, section.test},
                              experiment::input_side(experiment.graph), experiment.config.seed);
  }

  dptrain::test::Folder folder_;
};

/// A table with a column of each kind, and names that YAML or a layer would not take.
std::string wild_table() {
  std::string text = "id,Größe: m,\"a, b\",ville de départ,the review,when,y\n";
  for (int i = 0; i < 400; ++i)
    text += std::to_string(1000 + i) + "," + std::to_string(i % 37) + ".5," + (i % 3 == 0 ? "yes" : "no") + ",city" +
            std::to_string(i % 80) + ",\"a text of several words, and number " + std::to_string(i * 7) +
            " is one of them\",2024-01-" + (i % 9 < 8 ? "0" + std::to_string(1 + i % 9) : "12") + "," +
            std::to_string(i % 2) + "\n";
  return text;
}

TEST_F(InitTest, ColumnsOfAnyNameGiveAConfigThatLoads) {
  const Draft drafted = draft(write("wild.csv", wild_table()));
  const data::Sources sources = open(drafted);
  EXPECT_EQ(sources.train->inputs(), 3) << "a table, a city, a text";
  EXPECT_THAT(sources.train->class_names(), testing::ElementsAre("0", "1"));
  EXPECT_EQ(sources.train->size() + sources.validation->size() + sources.test->size(), 400);
  EXPECT_THAT(drafted.yaml, HasSubstr("TextVectorization"));
  EXPECT_THAT(drafted.said, Contains(HasSubstr("left out: another one in each row")));
}

TEST_F(InitTest, TheInputIsAsWideAsTheColumnsOfTheTrainingRows) {
  const std::string path = write("plain.csv", wild_table());
  const Draft drafted = draft(path, "Größe: m");
  const data::Sources sources = open(drafted);
  EXPECT_THAT(drafted.yaml, HasSubstr("shape: [" + std::to_string(sources.train->input_shape(0)[0]) + "]"));
  EXPECT_THAT(drafted.yaml, HasSubstr("mean_squared_error"));
}

TEST_F(InitTest, WhatCannotBeDraftedIsSaid) {
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string path = write("plain.csv", wild_table());
  EXPECT_THAT(message([&] { draft(path, "z"); }), HasSubstr("--target z"));
  EXPECT_THAT(message([&] { draft(folder_.path().string(), "y"); }), HasSubstr("is a folder"));
  EXPECT_THAT(message([&] { draft(path + ".not"); }), HasSubstr("no such file or folder"));
}

}  // namespace
}  // namespace dptrain::cli
