#pragma once

// Words of Keras, PyTorch, Lightning and scikit-learn that dptrain rejects, and their replacements. Messages about
// unknown words use this table. Any thread.
//
//   hint_for("lr", "Adam", {"learning_rate", ...})   "; Keras and dptrain call it 'learning_rate'"
//   hint_for("callbacks", "train", {"epochs", ...})  "; callbacks is a key of the top level: move it out of 'train'"

#include <span>
#include <string>
#include <string_view>

namespace dptrain::config {

struct Synonym {
  std::string_view word;  ///< compared without case; '#' matches a digit, which replaces the '#' of the answer
  /// Where the word occurs. "loss": a member of this family (Family::what()). "train": a key of this section
  /// (Schema::name()). "Adam": an argument of this type. ".filters": an argument where 'filters' is also one.
  /// "=padding": a value of this key. "command": a command. ".--epochs": a flag of a command that has this flag.
  std::string_view context;
  std::string_view answer;  ///< the name in Keras and dptrain, or (if it has a space) what to do
};

std::span<const Synonym> synonyms();

/// The row for this word, or null. `allowed`: the words that are accepted here, for contexts such as ".filters".
const Synonym* find_synonym(std::string_view word, std::string_view context, std::span<const std::string> allowed = {});

/// "; ..." for an unknown word: its synonym, else the nearest allowed word, else "". 'tf.nn.relu' counts as 'relu'.
std::string hint_for(std::string_view word, std::string_view context, std::span<const std::string> allowed = {});

/// "{L2: 0.01}" for 'l2(0.01)' and "L2"; "" without arguments, or with nested calls.
std::string call_as_mapping(std::string_view call, const std::string& type);
/// "[28, 28, 1]" for "(28, 28, 1)", "[3, 3]" for "3x3"; "" for anything else.
std::string tuple_as_list(std::string_view text);

}  // namespace dptrain::config
