// Writes readable YAML: shallow values of up to 100 columns in flow style, everything else in blocks.

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/expression.h"
#include "config/node.h"
#include "core/format.h"

namespace dptrain::config {
namespace {

constexpr std::size_t kWidth = 100;
constexpr int kFlowDepth = 3;  // `{kernel_initializer: {TruncatedNormal: {stddev: 0.04}}}` is readable in one line

/// Control characters (C0, C1, delete) and characters that editors or YAML treat as line ends or byte order marks.
bool has_special_characters(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7F) return true;
    if (c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) return true;
    if (text.compare(i, 3, "\xEF\xBB\xBF") == 0 || text.compare(i, 3, "\xE2\x80\xA8") == 0 ||
        text.compare(i, 3, "\xE2\x80\xA9") == 0)
      return true;
  }
  return false;
}

/// Whether the text can be written without quotes, including inside `{}` and `[]`, and reads back as the same text.
bool is_plain(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  const bool minus = text[0] == '-' && text.size() > 1 && text[1] != ' ' && !text.starts_with("---");
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`").find(text[0]) != std::string_view::npos && !minus) return false;
  if (text.starts_with("...") || text == "<<" || text.find_first_of(",[]{}?\"") != std::string::npos) return false;
  return text.find(": ") == std::string::npos && text.find(" #") == std::string::npos && !has_special_characters(text);
}

std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\')
      (out += '\\') += text[i];
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", c);
    else if (c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else if (text.compare(i, 3, "\xEF\xBB\xBF") == 0)
      out += "\\ufeff", i += 2;
    else if (text.compare(i, 3, "\xE2\x80\xA8") == 0)
      out += "\\u2028", i += 2;
    else if (text.compare(i, 3, "\xE2\x80\xA9") == 0)
      out += "\\u2029", i += 2;
    else
      out += text[i];
  }
  return out + '"';
}

std::string key_text(const std::string& key) { return is_plain(key) && !is_null_word(key) ? key : in_quotes(key); }

std::string scalar_text(const Node& node) {
  if (node.is_null()) return "null";
  std::string text = node.str();
  const bool quotes = node.quoted() ? needs_quotes_to_be_text(text) : is_null_word(text);
  if (node.literal())
    for (std::size_t at = 0; (at = text.find('$', at)) != std::string::npos; at += 2) text.insert(at, 1, '$');
  return quotes || !is_plain(text) ? in_quotes(text) : text;
}

/// The node in one line, or nothing if it is longer than `width`.
std::optional<std::string> flow(const Node& node, std::size_t width) {
  if (!node.is_map() && !node.is_sequence()) {
    std::string text = scalar_text(node);
    return text.size() <= width ? std::optional(std::move(text)) : std::nullopt;
  }
  std::string out(1, node.is_map() ? '{' : '[');
  const auto add = [&](const std::string& key, const Node& value) {
    if (out.size() > 1) out += ", ";
    out += key;
    const auto text = out.size() < width ? flow(value, width - out.size()) : std::nullopt;
    if (text) out += *text;
    return text.has_value();
  };
  for (const Node& item : node.items())
    if (!add("", item)) return std::nullopt;
  for (const Node::Entry& entry : node.entries())
    if (!add(key_text(entry.key) + ": ", entry.value)) return std::nullopt;
  out += node.is_map() ? '}' : ']';
  return out.size() <= width ? std::optional(std::move(out)) : std::nullopt;
}

/// Whether a list contains mappings: such a list is written with one item per line.
bool has_steps(const Node& node) {
  for (const Node& item : node.items())
    if (item.is_map() || has_steps(item)) return true;
  for (const Node::Entry& entry : node.entries())
    if (has_steps(entry.value)) return true;
  return false;
}

class Writer {
 public:
  std::string all(const Node& node) {
    if (is_block(node) && !node.items().empty())
      items(node, 0);
    else if (is_block(node) && !node.entries().empty())
      entries(node, 0);
    else
      out_ += flow(node, std::string::npos).value() + "\n";
    return std::move(out_);
  }

 private:
  static bool is_block(const Node& node) { return node.is_map() || node.is_sequence(); }

  /// Writes the value after `key:` or `-`, in the same line (already `column` wide) if it fits, else below.
  void value(const Node& node, std::size_t column, int indent) {
    const bool empty = node.items().empty() && node.entries().empty();
    if (!is_block(node) || empty) {
      out_ += ' ' + flow(node, std::string::npos).value() + "\n";
      return;
    }
    const auto line =
        depth(node) <= kFlowDepth && !has_steps(node) && column < kWidth ? flow(node, kWidth - column) : std::nullopt;
    if (line) {
      out_ += ' ' + *line + "\n";
    } else {
      out_ += "\n";
      if (node.is_map())
        entries(node, indent + 2);
      else
        items(node, indent + 2);
    }
  }

  void entries(const Node& map, int indent, bool first_is_indented = false) {
    for (const Node::Entry& entry : map.entries()) {
      if (!std::exchange(first_is_indented, false)) out_.append(static_cast<std::size_t>(indent), ' ');
      const std::string key = key_text(entry.key) + ":";
      out_ += key;
      value(entry.value, static_cast<std::size_t>(indent) + key.size() + 1, indent);
    }
  }

  void items(const Node& list, int indent) {
    for (const Node& item : list.items()) {
      out_.append(static_cast<std::size_t>(indent), ' ') += '-';
      if (item.is_map() && !item.entries().empty()) {
        out_ += ' ';
        entries(item, indent + 2, true);
      } else {
        value(item, static_cast<std::size_t>(indent) + 2, indent);
      }
    }
  }

  std::string out_;
};

}  // namespace

std::string to_yaml(const Node& node) { return Writer().all(node); }

}  // namespace dptrain::config
