#pragma once

// Words of Keras, PyTorch, Lightning and scikit-learn that dptrain does not read, with what to write instead: the one
// table that messages about unknown words use. No word of it is ever accepted. Any thread.
//
//   hint_for("lr", "Adam", {"learning_rate", ...})   "; Keras and dptrain call it 'learning_rate'"
//   hint_for("callbacks", "train", {"epochs", ...})  "; callbacks is a key of the top level: move it out of 'train'"

#include <span>
#include <string>
#include <string_view>

namespace dptrain::config {

struct Synonym {
  std::string_view word;  ///< compared without case; a '#' is a digit, which replaces the '#' of the answer
  /// Where the word occurs. "loss": a member of this family (Family::what()). "train": a key of this section
  /// (Schema::name()). "Adam": an argument of this type. ".filters": an argument wherever 'filters' is one.
  /// "=padding": a value of this key. "command", ".--epochs": a command, or a flag of each that has this one.
  std::string_view context;
  std::string_view answer;  ///< the name that Keras and dptrain use, or (with a space) what to do
};

std::span<const Synonym> synonyms();

/// The row for this word, or null. `allowed`: the words that the place accepts, for contexts such as ".filters".
const Synonym* find_synonym(std::string_view word, std::string_view context, std::span<const std::string> allowed = {});

/// "; ..." for a message about an unknown word: its synonym, else the nearest allowed word, else "". Prefixes of
/// modules are ignored: 'tf.nn.relu' is 'relu'.
std::string hint_for(std::string_view word, std::string_view context, std::span<const std::string> allowed = {});

/// "{L2: 0.01}" of 'l2(0.01)' and "L2"; "" without arguments, or with calls in them.
std::string call_as_mapping(std::string_view call, const std::string& type);
/// "[28, 28, 1]" of "(28, 28, 1)", "[3, 3]" of "3x3"; "" of anything else.
std::string tuple_as_list(std::string_view text);

}  // namespace dptrain::config
