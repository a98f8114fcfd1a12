// What TextVectorization rejects and how it counts; golden_encoders_test.cpp compares it with Keras.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "data/encoders/columns.h"
#include "data/image_files.h"
#include "data/text/text_vectorization.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int32_t> ids(const Encoder& encoder, std::string_view text) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(encoder.ids()), -7);
  dynamic_cast<const TextEncoder&>(encoder).encode_ids(text, out.data());
  return out;
}

constexpr const char* kThree = "TextVectorization: {output_sequence_length: 3}";

TEST(TextVectorization, TheMostFrequentWordHasIndexTwo) {
  const auto encoder = fitted_encoder(kThree, Column(Texts{{"b a.", "B c"}}));
  EXPECT_EQ(encoder->ids(), 3);
  EXPECT_EQ(encoder->floats(), 0);
  EXPECT_EQ(encoder->id_limit(), 5);
  EXPECT_THAT(ids(*encoder, "a, nobody"), ElementsAre(4, 1, 0));
  EXPECT_THAT(ids(*encoder, "b c a b"), ElementsAre(2, 3, 4));
  EXPECT_THAT(ids(*encoder, ""), ElementsAre(0, 0, 0));
}

TEST(TextVectorization, DistinguishesManyLongWords) {
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back("a word that is longer than a slot holds " + std::to_string(i * 7919));
  const auto encoder =
      fitted_encoder("TextVectorization: {output_sequence_length: 1, split: none}", Column(Texts{texts}));
  ASSERT_EQ(encoder->id_limit(), 5002);
  std::vector<bool> seen(5002);
  for (const std::string& text : texts) {
    const std::int32_t id = ids(*encoder, text).front();
    ASSERT_GE(id, 2);
    EXPECT_FALSE(seen[static_cast<std::size_t>(id)]);
    seen[static_cast<std::size_t>(id)] = true;
  }
  EXPECT_THAT(ids(*encoder, "a word that is longer than a slot holds"), ElementsAre(1));
}

TEST(TextVectorization, VocabularyIsIndependentOfThreads) {
  std::vector<std::string> texts;
  for (int i = 0; i < 999; ++i) texts.push_back("w" + std::to_string(i % 37) + " w" + std::to_string(i * i % 101));
  const auto whole = fitted_encoder("TextVectorization: {output_mode: tf_idf}", Column(Texts{texts}));
  for (const int parts : {2, 5})
    EXPECT_EQ(fitted_encoder("TextVectorization: {output_mode: tf_idf}", Column(Texts{texts}, parts))->fitted_state(),
              whole->fitted_state());
}

TEST(TextVectorization, RejectsBytesThatAreNotUtf8) {
  const auto encoder = fitted_encoder(kThree, Column(Texts{{"a"}}));
  for (const std::string text : {"na\xEFve text here", "12345678\xC3", "\xED\xA0\x80", "\xC0\x80"})
    EXPECT_THAT(error_of(ErrorKind::kData, [&] { ids(*encoder, text); }), HasSubstr("is not UTF-8")) << text;
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { ids(*encoder, "123456789\xC3"); }),
              HasSubstr("byte 9 of the text, 0xc3"));
  EXPECT_THAT(error_of(ErrorKind::kData,
                       [&] {
                         fitted_encoder(kThree, Column(Texts{{"a", "\xFF"}}));
                       }),
              HasSubstr("byte 0"));
}

TEST(TextVectorization, ReadsAVocabularyFromAFile) {
  const TempFolder folder;
  write_plain(folder.file("words.txt"), text_bytes("cat\r\ndog\n"));
  const auto yaml = [&](const std::string& more) {
    return "TextVectorization: {output_sequence_length: 3, vocabulary: '" + folder.file("words.txt") + "'" + more + "}";
  };
  const auto encoder = fitted_encoder(yaml(""), Column(Texts{{"other words"}}));
  EXPECT_THAT(ids(*encoder, "dog cat other"), ElementsAre(3, 2, 1));
  EXPECT_THAT(
      error_of(ErrorKind::kData, [&] { fitted_encoder(yaml(", max_tokens: 3"), Column(Texts{})); }),
      HasSubstr("words.txt: the vocabulary has 4 words, including padding and unknown words, but max_tokens allows 3"));
  write_plain(folder.file("words.txt"), text_bytes("cat\n\ndog\n"));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { fitted_encoder(yaml(""), Column(Texts{})); }),
              HasSubstr("word 2 of the vocabulary is ''"));
  write_plain(folder.file("words.txt"), text_bytes("cat\ncat\n"));
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { fitted_encoder(yaml(""), Column(Texts{})); }),
              HasSubstr("has 'cat' twice"));
}

TEST(TextVectorization, NamesConflictingArguments) {
  const auto message_of = [](const std::string& arguments) { return error_about("TextVectorization: " + arguments); };
  EXPECT_THAT(message_of("{}"), HasSubstr("output_sequence_length is missing"));
  EXPECT_THAT(message_of("{output_mode: count, output_sequence_length: 3}"),
              HasSubstr("output_sequence_length needs output_mode: int"));
  EXPECT_THAT(message_of("{output_mode: count, pad_to_max_tokens: true}"), HasSubstr("needs max_tokens"));
  EXPECT_THAT(message_of("{output_mode: tf_idf, vocabulary: [a]}"), HasSubstr("needs a weight for each word"));
  EXPECT_THAT(message_of("{output_mode: count, vocabulary: [a], idf_weights: [1]}"),
              HasSubstr("tf_idf and a vocabulary"));
  EXPECT_THAT(message_of("{output_sequence_length: 3, ngrams: 0}"), HasSubstr("1 to 100"));
  EXPECT_THAT(message_of("{output_sequence_length: 3, ngrams: [2, 0]}"), HasSubstr("1 to 100"));
  EXPECT_THAT(message_of("{output_sequence_length: 3, max_tokens: 1}"), HasSubstr("max_tokens"));
  EXPECT_THAT(error_of(ErrorKind::kData,
                       [] {
                         fitted_encoder(kThree, Column(Texts{{" ", "!"}}));
                       }),
              HasSubstr("the 2 texts contain no words"));
}

}  // namespace
}  // namespace dptrain::data
