// Answers of runs, paired by sample identity.

#include "evaluation/answers.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "nn/loss.h"
#include "nn/losses.h"

namespace dptrain::evaluation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Classes& two_classes() {
  static const Classes classes(nn::loss_family().make(nn::CategoricalCrossentropySpec{}), {2}, {"cat", "dog"});
  return classes;
}

SavedAnswers kept(const std::string& text) {
  const std::string file = testing::TempDir() + "/answers_test.csv";
  std::ofstream(file) << text;
  SavedAnswers answers = read_answers(file);
  std::filesystem::remove(file);
  return answers;
}

/// Ids of the pairs of `mine` with the answers of a file.
std::vector<std::int64_t> paired(const std::vector<Answer>& mine, const std::string& text) {
  const SavedAnswers other = kept(text);
  std::vector<std::int64_t> ids;
  for (const PairedAnswer& pair : pair_answers(mine, two_classes(), {&other}).pairs) ids.push_back(pair.mine.id);
  return ids;
}

std::string refusal(const std::vector<Answer>& mine, const std::string& text) {
  try {
    paired(mine, text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    return error.what();
  }
  return "";
}

std::vector<Answer> three() {
  return {{.sample = 0, .label = 0, .answer = 0, .id = 10},
          {.sample = 1, .label = 1, .answer = 1, .id = 20},
          {.sample = 2, .label = 0, .answer = 1, .id = 30}};
}

TEST(Answers, IdIsTheLastColumnAndReadsBack) {
  const std::string csv = answers_csv(three(), two_classes());
  EXPECT_EQ(csv, "sample,label,answer,id\n0,cat,cat,10\n1,dog,dog,20\n2,cat,dog,30\n");
  EXPECT_THAT(paired(three(), csv), ElementsAre(10, 20, 30));
}

TEST(Answers, ArePairedByIdIndependentOfNumbers) {
  EXPECT_THAT(paired(three(), "sample,label,answer,id\n0,dog,dog,20\n1,cat,cat,30\n2,dog,dog,40\n"),
              ElementsAre(20, 30));
}

TEST(Answers, RejectsOtherSamples) {
  EXPECT_THAT(refusal(three(), "sample,label,answer,id\n0,cat,cat,10\n1,dog,dog,40\n2,cat,cat,50\n"),
              HasSubstr("1 of this run's 3 samples are paired"));
  EXPECT_THAT(refusal(three(), "sample,label,answer,id\n0,dog,dog,10\n1,dog,dog,20\n2,cat,cat,30\n"),
              HasSubstr("its sample 0 is 'dog', where this run's sample 0 is 'cat'"));
  EXPECT_THAT(refusal(three(), "sample,label,answer,id\n0,cat,cat,10\n1,cat,cat,10\n"),
              HasSubstr("two rows have the id"));
}

TEST(Answers, PairsAFileWithoutIdsByNumber) {
  const std::string old = "sample,label,answer\n0,cat,cat\n1,dog,dog\n2,cat,cat\n";
  EXPECT_THAT(paired(three(), old), ElementsAre(10, 20, 30));
  const SavedAnswers other = kept(old);
  EXPECT_THAT(pair_answers(three(), two_classes(), {&other}).notes,
              ElementsAre(HasSubstr("paired by their numbers"), HasSubstr("3 of 3 samples")));
  EXPECT_THAT(refusal(three(), "sample,label,answer\n0,cat,cat\n"), HasSubstr("has the answers to 1 samples"));
}

TEST(ValueAnswers, AThousandOfMany) {
  std::int64_t few = 0, many = 0, of_a_period = 0;
  for (std::int64_t i = 0; i < 1000; ++i) few += is_chosen(i, 1000) ? 1 : 0;
  for (std::int64_t i = 0; i < 240'000; ++i) many += is_chosen(i, 240'000) ? 1 : 0;
  for (std::int64_t i = 0; i < 240'000; i += 24) of_a_period += is_chosen(i, 240'000) ? 1 : 0;
  EXPECT_EQ(few, 1000);
  EXPECT_NEAR(static_cast<double>(many), 1000, 100);
  EXPECT_NEAR(static_cast<double>(of_a_period), 1000 / 24.0, 20) << "each hour of the day";
}

TEST(ValueAnswers, AreATableInTheOrderOfTheSamples) {
  const std::vector<ValueAnswer> answers{{.sample = 7, .labels = {1.5F, 2}, .answers = {1, -3}},
                                         {.sample = 2, .labels = {0.25F, 4}, .answers = {0, 5}}};
  EXPECT_EQ(values_csv(answers, 1), "sample,label,answer\n2,0.25,0\n7,1.5,1\n");
  EXPECT_EQ(values_csv(answers, 2), "sample,label_1,answer_1,label_2,answer_2\n2,0.25,0,4,5\n7,1.5,1,2,-3\n");
  const std::vector<plot::ValuePairs> pairs = value_pairs(answers, 2);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[1].name, "value 2");
  EXPECT_THAT(pairs[1].labels, ElementsAre(2, 4));
  EXPECT_THAT(pairs[1].answers, ElementsAre(-3, 5));
  EXPECT_EQ(value_pairs(answers, 1)[0].name, "");
}

}  // namespace
}  // namespace dptrain::evaluation
