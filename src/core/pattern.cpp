#include "core/pattern.h"

#include <regex>

namespace dptrain {

struct Pattern::Compiled {
  std::regex regex;
};

Pattern::Pattern(const std::string& expression) try
    : compiled_(std::make_shared<const Compiled>(Compiled{std::regex(expression)})) {
} catch (const std::regex_error& error) {
  throw PatternError(error.what());
}

bool Pattern::is_in(const std::string& text) const { return std::regex_search(text, compiled_->regex); }

std::string Pattern::replaced(const std::string& text, const std::string& with) const {
  return std::regex_replace(text, compiled_->regex, with);
}

}  // namespace dptrain
