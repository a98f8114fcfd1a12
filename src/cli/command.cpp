// Command: binds flags to variables and parses them with CLI11.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/app.h"
#include "config/synonyms.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::cli {
namespace {

[[noreturn]] void refuse_use(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

template <class T>
T number(const std::string& text, const std::string& flag, const std::string& wanted) {
  const auto value = parse_number<T>(text);
  if (!value) refuse_use(fmt::format("{} must be {}, found '{}'", flag, wanted, text));
  return *value;
}

void check_choice(const std::string& text, const Argument& argument) {
  const std::vector<std::string>& choices = argument.choices;
  if (!choices.empty() && std::ranges::find(choices, text) == choices.end())
    refuse_use(fmt::format("{} must be {}, found '{}'{}", argument.title(), join(choices, " or "), text,
                           did_you_mean(text, choices)));
}

}  // namespace

Argument& Command::add(const std::string& names, std::string placeholder, std::string doc) {
  Argument argument;
  if (!names.empty()) argument.names = split(names, ',');
  argument.placeholder = std::move(placeholder);
  argument.doc = std::move(doc);
  argument.section = argument.positional() ? "" : section_;
  return arguments_.emplace_back(std::move(argument));
}

Command& Command::describe(std::string text) { return description_ = std::move(text), *this; }
Command& Command::example(std::string line) { return examples_.push_back(std::move(line)), *this; }
Command& Command::section(std::string title) { return section_ = std::move(title), *this; }
Command& Command::required() { return arguments_.back().required = true, *this; }
Command& Command::deprecated_name(std::string name) {
  return arguments_.back().deprecated_name = std::move(name), *this;
}
Command& Command::exclusive(std::vector<std::string> names) { return exclusive_.push_back(std::move(names)), *this; }
Command& Command::run(std::function<int(const Context&)> body) { return body_ = std::move(body), *this; }

Command& Command::positional(std::string placeholder, std::string& value, std::string doc) {
  Argument& argument = add("", std::move(placeholder), std::move(doc));
  argument.required = true;
  argument.parse_value = [&value](const std::string& text) { value = text; };
  return *this;
}

Command& Command::positional(std::string placeholder, std::optional<std::string>& value, std::string doc) {
  add("", std::move(placeholder), std::move(doc)).parse_value = [&value](const std::string& text) { value = text; };
  return *this;
}

Command& Command::positionals(std::string placeholder, std::vector<std::string>& values, std::string doc) {
  Argument& argument = add("", std::move(placeholder), std::move(doc));
  argument.required = argument.repeatable = true;
  argument.parse_value = [&values](const std::string& text) { values.push_back(text); };
  return *this;
}

Command& Command::flag(const std::string& names, bool& value, std::string doc) {
  add(names, "", std::move(doc)).parse_value = [&value](const std::string&) { value = true; };
  return *this;
}

Command& Command::option(const std::string& names, std::string placeholder, std::optional<std::string>& value,
                         std::string doc) {
  add(names, std::move(placeholder), std::move(doc)).parse_value = [&value](const std::string& text) { value = text; };
  return *this;
}

Command& Command::option(const std::string& names, std::string placeholder, std::vector<std::string>& values,
                         std::string doc) {
  Argument& argument = add(names, std::move(placeholder), std::move(doc));
  argument.repeatable = true;
  argument.parse_value = [&values](const std::string& text) { values.push_back(text); };
  return *this;
}

Command& Command::option(const std::string& names, std::string placeholder, std::optional<double>& value,
                         std::string doc) {
  Argument& argument = add(names, std::move(placeholder), std::move(doc));
  argument.parse_value = [&value, flag = argument.title()](const std::string& text) {
    value = number<double>(text, flag, "a number");
    if (!std::isfinite(*value)) refuse_use(fmt::format("{} must be a finite number, found '{}'", flag, text));
  };
  return *this;
}

Command& Command::integer(const std::string& names, std::string placeholder, std::optional<std::int64_t>& value,
                          std::string doc, std::int64_t at_least) {
  Argument& argument = add(names, std::move(placeholder), std::move(doc));
  argument.parse_value = [&value, at_least, flag = argument.title()](const std::string& text) {
    const std::string wanted = fmt::format("a whole number >= {}", at_least);
    value = number<std::int64_t>(text, flag, wanted);
    if (*value < at_least) refuse_use(fmt::format("{} must be {}, found {}", flag, wanted, text));
  };
  return *this;
}

Command& Command::optional_value(const std::string& names, std::string placeholder, std::string implied,
                                 std::optional<std::string>& value, std::string doc) {
  Argument& argument = add(names, std::move(placeholder), std::move(doc));
  argument.implied = std::move(implied);
  argument.parse_value = [&value, flag = argument.title()](const std::string& text) {
    if (text.empty()) refuse_use(fmt::format("{}= has no value", flag));
    value = text;
  };
  return *this;
}

std::vector<std::string> Command::flag_names() const {
  std::vector<std::string> names{"--help"};
  for (const Argument& argument : arguments_) names.insert(names.end(), argument.names.begin(), argument.names.end());
  return names;
}

namespace {

/// The values that CLI11 found for each argument, in the order of the command's arguments.
class ParsedArguments {
 public:
  explicit ParsedArguments(const std::deque<Argument>& arguments) {
    parser_.set_help_flag();
    parser_.allow_extras();
    for (const Argument& argument : arguments) {
      std::vector<std::string>& values = values_.emplace_back();
      std::string& implied = implied_.emplace_back();
      const std::string names = argument.positional() ? argument.placeholder : join(argument.names, ",");
      const auto keep = [&values](const CLI::results_t& found) { return values = found, true; };
      if (!argument.implied.empty()) {
        options_.push_back(parser_.add_flag(fmt::format("{}{{{}}}", names, argument.implied), implied));
      } else if (argument.placeholder.empty()) {
        options_.push_back(parser_.add_flag(names)->disable_flag_override());
      } else {
        CLI::Option* option = parser_.add_option(names, keep)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        option->type_size(1);
        option->expected(argument.positional() && argument.repeatable ? -1 : 1);  // -1: one or more
        options_.push_back(option);
      }
    }
  }

  void parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // CLI11 expects the reverse order
    parser_.parse(words);
    for (std::size_t i = 0; i < options_.size(); ++i) {
      if (values_[i].empty() && options_[i]->count() > 0) values_[i].assign(options_[i]->count(), implied_[i]);
    }
  }

  const std::vector<std::string>& values(std::size_t argument) const { return values_[argument]; }
  std::vector<std::string> unknown() const { return parser_.remaining(); }

 private:
  CLI::App parser_;
  std::deque<std::vector<std::string>> values_;
  std::deque<std::string> implied_;
  std::vector<CLI::Option*> options_;
};

void refuse_unknown(const std::vector<std::string>& unknown, const std::vector<std::string>& known) {
  for (const std::string& word : unknown) {
    const std::string flag = word.substr(0, word.find('='));
    if (word.starts_with('-'))
      refuse_use(fmt::format("unknown flag '{}'{}", flag, config::hint_for(flag, "flag", known)));
  }
}

/// Throws for an unexpected word, with a hint if it may be a value that must follow `=`.
void refuse_unexpected(const std::vector<std::string>& unknown, const std::vector<std::string>& given,
                       const std::deque<Argument>& arguments) {
  if (unknown.empty()) return;
  const std::string& word = unknown.front();
  const auto at = std::ranges::find(given, word);
  const std::string before = at == given.begin() || at == given.end() ? "" : *(at - 1);
  const auto may_be_its_value = [&](const Argument& argument) {
    return !argument.implied.empty() && std::ranges::find(argument.names, before) != argument.names.end();
  };
  const bool hint = std::ranges::any_of(arguments, may_be_its_value);
  refuse_use(
      fmt::format("unexpected argument '{}'{}", word, hint ? fmt::format("; did you mean {}={}?", before, word) : ""));
}

}  // namespace

std::vector<std::string> Command::replace_deprecated_names(std::vector<std::string>& words) const {
  std::vector<std::string> warnings;
  for (std::string& word : words)
    for (const Argument& argument : arguments_) {
      const std::string flag = word.substr(0, word.find('='));
      if (argument.deprecated_name.empty() || flag != argument.deprecated_name) continue;
      word.replace(0, flag.size(), argument.title());
      warnings.push_back(fmt::format("{0} is deprecated: {1} replaces it, and the next version will not accept {0}",
                                     flag, argument.title()));
    }
  return warnings;
}

void Command::parse(const std::vector<std::string>& given) const {
  const auto refuse_here = [&](const std::string& message) {
    refuse_use(fmt::format("{}: {}{}", name_, message,
                           message.ends_with('?') ? "" : fmt::format("; see dptrain {} --help", name_)));
  };
  try {
    ParsedArguments parsed(arguments_);
    parsed.parse(given);
    refuse_unknown(parsed.unknown(), flag_names());
    refuse_unexpected(parsed.unknown(), given, arguments_);
    std::map<std::string, bool> present;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      const std::vector<std::string>& values = parsed.values(i);
      const bool several = values.size() > 1 && !argument.repeatable && !argument.placeholder.empty();
      if (several) refuse_use(fmt::format("{} is given {} times", argument.title(), values.size()));
      if (argument.required && values.empty()) refuse_use(fmt::format("{} is missing", argument.title()));
      present[argument.title()] = !values.empty();
      for (const std::string& value : values) {
        check_choice(value, argument);
        argument.parse_value(value);
      }
    }
    for (const std::vector<std::string>& group : exclusive_) {
      std::vector<std::string> both;
      for (const std::string& name : group)
        if (present[name]) both.push_back(name);
      if (both.size() > 1) refuse_use(fmt::format("give one of {}, not both", join(both, " and ")));
    }
  } catch (const CLI::ParseError& error) {
    refuse_here(error.what());
  } catch (const Error& error) {
    refuse_here(error.what());
  }
}

}  // namespace dptrain::cli
