// Reader::condition: the value of `if`. The text is split before variables are replaced, so that a value with a space
// or an operator in it stays one operand.
//
//   condition: all ('or' all)*        all: part ('and' part)*
//   part: 'not' part | operand | operand ('==' | '!=' | '<=' | '>=' | '<' | '>') operand

#include "config/expression.h"
#include "config/reader.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

/// The first comparison and the offset of its sign, or null.
std::pair<const Comparison*, std::size_t> find_comparison(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const Comparison& comparison : kComparisons)
      if (text.substr(at).starts_with(comparison.sign)) return {&comparison, at};
  return {};
}

/// Splits `text` at each `word` between spaces.
std::vector<std::string> parts(const std::string& text, std::string_view word) {
  const std::string between = " " + std::string(word) + " ";
  std::vector<std::string> all;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(between, from)) != std::string::npos; from = at + between.size())
    all.push_back(trim(text.substr(from, at - from)));
  all.push_back(trim(text.substr(from)));
  return all;
}

/// One `if`; errors are reported at `whole`.
struct Condition {
  Reader& reader;
  const Node& whole;

  std::optional<bool> any_of(const std::string& text) {
    bool any = false;
    for (const std::string& part : parts(text, "or")) {
      const auto all = all_of(part);
      if (!all) return all;
      any = any || *all;
    }
    return any;
  }

  std::optional<bool> all_of(const std::string& text) {
    bool all = true;
    for (const std::string& part : parts(text, "and")) {
      const auto one = this->one(part);
      if (!one) return one;
      all = all && *one;
    }
    return all;
  }

  std::optional<bool> one(std::string text) {
    bool negated = false;
    for (; text.starts_with("not "); negated = !negated) text = trim(text.substr(4));
    const auto [found, at] = find_comparison(text);
    const auto value = found == nullptr
                           ? reader.boolean(operand(text))
                           : compare(trim(text.substr(0, at)), *found, trim(text.substr(at + found->sign.size())));
    return value && negated ? std::optional(!*value) : value;
  }

  std::optional<bool> compare(const std::string& left_text, const Comparison& comparison,
                              const std::string& right_text) {
    const Node left = reader.substituted(operand(left_text)), right = reader.substituted(operand(right_text));
    const auto a = number(left), b = number(right);
    if (a && b) return comparison.holds(*a, *b);
    const bool words = left.is_scalar() && right.is_scalar() && !left.str().empty() && !right.str().empty() &&
                       find_comparison(right.str()).first == nullptr;
    if (words && comparison.sign == "==") return left.str() == right.str();
    if (words && comparison.sign == "!=") return left.str() != right.str();
    const auto say = [](const Node& node) {
      return node.is_scalar() && node.str().empty() ? "nothing" : node.describe();
    };
    reader.error(whole, fmt::format("{}cannot compare {} {} {}", reader.key().empty() ? "" : reader.key() + ": ",
                                    say(left), comparison.sign, say(right)));
    return std::nullopt;
  }

  static std::optional<double> number(const Node& node) {
    return node.is_scalar() && !node.quoted() ? evaluate(node.str()) : std::nullopt;
  }

  Node operand(const std::string& text) const {
    Node node = Node::scalar(text, whole.mark());
    node.set_literal(whole.literal());
    return node;
  }
};

}  // namespace

std::optional<bool> Reader::condition(const Node& node) {
  if (!node.is_scalar() || node.quoted()) return boolean(node);
  return Condition{*this, node}.any_of(trim(node.str()));
}

}  // namespace dptrain::config
