// The only user of yaml-cpp (0.7, 0.8), by events: its nodes hide duplicate keys, `<<` and the locations of aliases.

#include "config/source_text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "config/tree_builder.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

/// yaml-cpp 0.7 turns the escapes \N and \_ into the single bytes 0x85 and 0xA0 instead of U+0085 and U+00A0. In UTF-8
/// source only these escapes yield such a byte outside a sequence.
std::string with_whole_characters(const std::string& value) {
  std::string out;
  int following = 0;  // continuation bytes that remain
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0xC0) {
      following = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
    } else if (byte < 0x80) {
      following = 0;
    } else if (following > 0) {
      --following;
    } else {
      out += '\xC2';
    }
    out += c;
  }
  return out;
}

class Events final : public YAML::EventHandler {
 public:
  Events(const SourceText& source, Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics), builder_(diagnostics) {}

  Node take() { return builder_.take(); }
  /// Location of the innermost unclosed bracket of this kind.
  Mark opened(char bracket) const {
    const auto is_it = [&](std::size_t at) { return at < source_.text().size() && source_.text()[at] == bracket; };
    const auto found = std::find_if(open_.rbegin(), open_.rend(), is_it);
    return found == open_.rend() ? Mark{} : source_.mark(*found, 1);
  }
  const std::vector<std::string>& anchor_names() const noexcept { return anchor_names_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    const Mark at = source_.mark(offset_of(mark), 3);
    const bool marked = source_.text().compare(offset_of(mark), 3, "---") == 0;
    diagnostics_.error(at, marked ? "a second document starts here; one file holds one experiment"
                                  : "this does not fit what is above; check the indentation");
    throw TreeBuilder::Stop{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t at = skip_properties(offset_of(mark));
    const std::size_t word = word_length(at);
    const bool written = word > 0 && is_null(source_.text().substr(at, word));
    builder_.null(written, source_.mark(at, std::max<std::size_t>(word, 1)), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.alias(anchor, source_.mark(offset_of(mark), 1 + word_length(offset_of(mark) + 1)));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    const std::size_t begin = skip_properties(offset_of(mark));
    builder_.scalar(with_whole_characters(value), tag == "!",
                    source_.mark(begin, scalar_bytes(begin, value, tag == "!")), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open_.push_back(skip_properties(offset_of(mark)));
    builder_.begin_sequence(source_.mark(open_.back(), 1), anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    check_tag(mark, tag);
    open_.push_back(skip_properties(offset_of(mark)));
    builder_.begin_map(source_.mark(open_.back(), 1), anchor, style == YAML::EmitterStyle::Flow);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }
  void OnAnchor(const YAML::Mark&, const std::string& name) override { anchor_names_.push_back(name); }

  static std::size_t offset_of(const YAML::Mark& mark) {
    return static_cast<std::size_t>(std::max<decltype(mark.pos)>(mark.pos, 0));
  }

  /// Number of bytes before the character that ends an anchor's name or a bare word.
  std::size_t word_length(std::size_t at) const {
    const std::string& text = source_.text();
    return at >= text.size() ? 0 : std::min(text.find_first_of(" \t\n,[]{}:", at), text.size()) - at;
  }

 private:
  void end() {
    open_.pop_back();
    builder_.end();
  }

  static bool is_null(const std::string& word) {
    return word == "~" || word == "null" || word == "Null" || word == "NULL";
  }

  std::size_t skip_properties(std::size_t at) const {
    const std::string& text = source_.text();
    while (at < text.size() && (text[at] == '&' || text[at] == '!')) {
      const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
      at = std::min(text.find_first_not_of(" \t\n", end), text.size());
    }
    return at;
  }

  /// yaml-cpp reports plain and quoted values without a tag as "?" and "!".
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    const std::size_t at = std::min(source_.text().find('!', offset_of(mark)), source_.text().size());
    diagnostics_.error(source_.mark(at, word_length(at)),
                       "YAML tags have no meaning here: types come from the key; leave it out");
  }

  /// Number of bytes to underline from `begin`. Rejects a quote that is never closed, which yaml-cpp accepts.
  std::size_t scalar_bytes(std::size_t begin, const std::string& value, bool quoted) {
    const std::string& text = source_.text();
    const char first = begin < text.size() ? text[begin] : ' ';
    if (!quoted || (first != '"' && first != '\'')) return first == '|' || first == '>' ? 1 : value.size();
    for (std::size_t i = begin + 1; i < text.size(); ++i) {
      if (first == '"' && text[i] == '\\')
        ++i;
      else if (first == '\'' && text[i] == first && i + 1 < text.size() && text[i + 1] == first)
        ++i;
      else if (text[i] == first)
        return i + 1 - begin;
    }
    diagnostics_.error(source_.mark(begin, 1), fmt::format("this quote {} is never closed", first));
    throw TreeBuilder::Stop{};
  }

  const SourceText& source_;
  Diagnostics& diagnostics_;
  TreeBuilder builder_;
  std::vector<std::string> anchor_names_;
  std::vector<std::size_t> open_;  ///< offsets of the unclosed lists and mappings
  int documents_ = 0;
};

std::string line_of(const Mark& mark, int line) {
  const auto& lines = mark.source->lines;
  return line >= 1 && static_cast<std::size_t>(line) <= lines.size() ? lines[static_cast<std::size_t>(line) - 1] : "";
}

/// Whether a line is `key:value` without the space, which YAML reads as one word.
bool lacks_space(const std::string& line) {
  const std::string word = trim(line.substr(0, line.find('#')));
  const std::size_t colon = word.find(':');
  return colon != std::string::npos && colon + 1 < word.size() && word[colon + 1] != ' ' &&
         word.find_first_of(" \"'[{") == std::string::npos;
}

std::string misplaced_colon(const Mark& at) {
  if (lacks_space(line_of(at, at.line - 1)))
    return fmt::format("this does not fit the line above; is a space missing after its ':' ('{}')?",
                       trim(line_of(at, at.line - 1)));
  const std::string line = line_of(at, at.line);
  if (line.find(": ") + 1 < static_cast<std::size_t>(at.column))
    return "a second ':' in one value; put text that holds ': ' in quotes";
  return "a key is not allowed here; check the indentation, and the ':' after the key above";
}

void report(const YAML::ParserException& e, const SourceText& source, const Events& events, Diagnostics& diagnostics) {
  namespace messages = YAML::ErrorMsg;
  const auto is_error = [&](const char* words) { return e.msg.starts_with(words); };  // 0.8 appends to some messages
  const std::size_t offset = e.mark.is_null() ? 0 : Events::offset_of(e.mark);
  const std::string& text = source.text();
  const std::string found = offset < text.size() ? fmt::format("'{}'", text.substr(offset, 1)) : "the end of the file";
  Mark at = source.mark(offset, 1);
  const auto unclosed = [&](char open, char close) {
    const bool shell = line_of(at, at.line).find("${") != std::string::npos;
    Diagnostic& error =
        diagnostics.error(at, shell ? fmt::format("'${{' does not work inside {{}}: write $NAME without the braces")
                                    : fmt::format("expected ',' or '{}' before this", close));
    if (!shell) error.notes.emplace_back(events.opened(open), fmt::format("the opening '{}'", open));
  };

  if (is_error(messages::END_OF_MAP_FLOW)) return unclosed('{', '}');
  if (is_error(messages::END_OF_SEQ_FLOW)) return unclosed('[', ']');
  std::string message = "YAML: " + e.msg;
  if (is_error(messages::UNKNOWN_ANCHOR)) {
    const std::size_t length = events.word_length(offset + 1);
    const std::string name = text.substr(offset + 1, length);
    at = source.mark(offset, length + 1);
    message = fmt::format("unknown alias '*{}'{}", name, did_you_mean(name, events.anchor_names()));
  } else if (is_error(messages::MAP_VALUE)) {
    message = misplaced_colon(at);
  } else if (is_error(messages::END_OF_MAP) || is_error(messages::END_OF_SEQ) || is_error(messages::BLOCK_ENTRY)) {
    message = "this does not fit the lines above; check the indentation";
  } else if (is_error(messages::FLOW_END)) {
    message = fmt::format("{} closes nothing", found);
  } else if (is_error(messages::EOF_IN_SCALAR)) {
    message = "the file ends inside a quoted text";
  } else if (is_error(messages::UNKNOWN_TOKEN)) {
    message = fmt::format("text cannot start with {}; put it in quotes", found);
  } else if (is_error(messages::ALIAS_NOT_FOUND)) {
    message = "text cannot start with '*' (an alias needs a name); put it in quotes";
  } else if (is_error(messages::INVALID_ESCAPE)) {
    message = fmt::format("unknown escape '\\{}'; write '\\\\', or use single quotes", e.msg.substr(e.msg.size() - 1));
  }
  diagnostics.error(at, message);
}

}  // namespace

Node parse_yaml(const SourceText& source, Diagnostics& diagnostics) {
  std::istringstream stream(source.text());
  Events events(source, diagnostics);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
    return events.take();
  } catch (const TreeBuilder::Stop&) {  // reported
  } catch (const YAML::ParserException& e) {
    report(e, source, events, diagnostics);
  }
  return {};
}

}  // namespace dptrain::config
