#pragma once

// A regular expression in ECMAScript's grammar. <regex> takes seconds to compile wherever it is included, so it is in
// pattern.cpp alone. A Pattern does not change: any thread may search with it. The standard's engine recurses by the
// length of the text: for names, not for whole files.

#include <memory>
#include <stdexcept>
#include <string>

namespace dptrain {

/// The text is no regular expression; what() says why.
struct PatternError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Pattern {
 public:
  /// Throws PatternError.
  explicit Pattern(const std::string& expression);

  bool is_in(const std::string& text) const;
  /// Every match replaced; `with` names groups as $1.
  std::string replaced(const std::string& text, const std::string& with) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace dptrain
