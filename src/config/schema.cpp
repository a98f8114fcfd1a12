#include "config/schema.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "config/expression.h"
#include "config/json_fragment.h"
#include "config/synonyms.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

bool is_capital(const std::string& name) { return !name.empty() && name[0] >= 'A' && name[0] <= 'Z'; }

/// Types have arguments, sections have keys.
std::string word_for_key(const std::string& schema) { return is_capital(schema) ? "argument" : "key"; }

/// The subject of messages: the reader's subject and the key whose value is read, or else the schema's name.
std::string subject_of(const Reader& reader, const std::string& name) {
  if (reader.subject().empty()) return name;
  return reader.key().empty() ? reader.subject() : reader.subject() + "." + reader.key();
}

const Field* find_field(const std::vector<Field>& fields, const std::string& key) {
  const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& f) {
    return f.name == key || std::find(f.aliases.begin(), f.aliases.end(), key) != f.aliases.end();
  });
  return field == fields.end() ? nullptr : &*field;
}

const Field* positional_field(const std::vector<Field>& fields) {
  const auto field = std::find_if(fields.begin(), fields.end(), [](const Field& f) { return f.positional; });
  return field == fields.end() ? nullptr : &*field;
}

/// Whether the positional value is a type: `Bidirectional: {LSTM: {...}}`. Arguments never start with a capital.
bool is_positional_type(const Node& arguments, const std::vector<Field>& fields) {
  return arguments.entries().size() == 1 && is_capital(arguments.entries().front().key) &&
         find_field(fields, arguments.entries().front().key) == nullptr && positional_field(fields) != nullptr;
}

struct Reading {
  const std::string& name;
  const std::vector<Field>& fields;
  const std::vector<std::pair<std::string, std::string>>& rejected_keys;
  Reader& reader;
  void* spec;
  std::set<const Field*> seen = {};
  std::set<const Field*> misspelt = {};  ///< present under a misspelt name, so not missing
  bool good = true;

  void fail(const Mark& mark, const std::string& message) {
    reader.error(mark, message);
    good = false;
  }

  void positional(const Node& value, const Mark& where) {
    const Field* field = positional_field(fields);
    if (field == nullptr) {
      const Mark& at = value.mark().known() ? value.mark() : where;
      fail(at, fields.empty() ? fmt::format("has no {}s, found {}", word_for_key(name), value.describe())
                              : fmt::format("expected a mapping such as {{{}: ...}}, found {}", fields.front().name,
                                            value.describe()));
      for (const Field& f : fields) seen.insert(&f);  // suppresses errors about missing keys
      return;
    }
    seen.insert(field);
    good = field->read(value, reader, spec) && good;
  }

  void keys(const Node& arguments, const std::vector<std::string>& ignored) {
    for (const Node::Entry& entry : arguments.entries()) {
      if (std::find(ignored.begin(), ignored.end(), entry.key) != ignored.end()) continue;
      const Field* field = find_field(fields, entry.key);
      if (field == nullptr) {
        unknown(entry, ignored);
      } else if (!seen.insert(field).second) {
        fail(entry.mark,
             fmt::format("{} '{}' is given twice, under two of its names", word_for_key(name), field->name));
      } else {
        good = field->read(entry.value, reader, spec) && good;
      }
    }
  }

  void unknown(const Node::Entry& entry, const std::vector<std::string>& ignored) {
    std::vector<std::string> names, known = ignored;
    for (const Field& field : fields) names.push_back(field.name);
    known.insert(known.end(), names.begin(), names.end());
    for (const Field& field : fields) known.insert(known.end(), field.aliases.begin(), field.aliases.end());
    const auto rejected = std::find_if(rejected_keys.begin(), rejected_keys.end(),
                                       [&](const auto& one) { return one.first == entry.key; });
    std::string hint = rejected != rejected_keys.end() ? "; " + rejected->second : hint_for(entry.key, name, known);
    if (hint.empty())
      hint = names.empty() ? "; there are none"
                           : (names.size() == 1 ? "; expected " : "; expected one of ") + join(names, ", ");
    fail(entry.mark, fmt::format("unknown {} '{}'{}", word_for_key(name), entry.key, hint));
    const Synonym* synonym = find_synonym(entry.key, name, known);
    const std::string near = synonym == nullptr ? nearest(entry.key, known) : std::string(synonym->answer);
    if (const Field* meant = find_field(fields, near)) misspelt.insert(meant);
  }

  void missing(const Mark& where) {
    for (const Field& field : fields)
      if (field.required && !seen.contains(&field) && !misspelt.contains(&field))
        fail(where, fmt::format("missing {} '{}'{}", word_for_key(name), field.name,
                                field.name == "dptrain" ? "; begin the file with 'dptrain: 1'" : ""));
  }
};

}  // namespace

bool Schema::read(const Node& arguments, const Mark& where, Reader& reader, void* spec,
                  const std::vector<std::string>& ignored) const {
  const Node found = reader.substituted(arguments);
  const Reader::Subject subject(reader, subject_of(reader, name_));
  Reading reading{name_, fields_, rejected_keys_, reader, spec};
  if (found.is_map() && !is_positional_type(found, fields_))
    reading.keys(found, ignored);
  else if (!found.is_null())
    reading.positional(found, where);
  reading.missing(where);
  if (!reading.good) return false;
  for (const auto& rule : rules_)
    if (const std::string error = rule(spec); !error.empty()) reading.fail(where, error);
  return reading.good;
}

bool Schema::read_section(const Node& node, Reader& reader, void* spec) const {
  const Reader::Subject subject(reader, name_);
  if (node.is_map() || node.is_null()) return read(node, node.mark(), reader, spec);
  return reader.error(node, "must be a mapping, found " + node.describe()), false;
}

Node Schema::write(const void* spec, bool minimal) const {
  const std::shared_ptr<void> defaults = minimal ? make() : nullptr;
  Node map = Node::map();
  for (const Field& field : fields_) {
    Node value = field.write(spec);
    if (!minimal || field.required || !same(value, field.write(defaults.get()))) map.set(field.name, std::move(value));
  }
  return map;
}

Node Schema::json_schema() const {
  const std::shared_ptr<void> defaults = make();
  Node properties = Node::map(), required = Node::sequence();
  for (const Field& field : fields_) {
    Node schema = field.schema();
    if (!field.doc.empty()) schema.set("description", Node::text(field.doc));
    if (field.positional) schema.set("x-positional", Node::boolean(true));
    if (field.required)
      required.items().push_back(Node::text(field.name));
    else if (Node value = field.write(defaults.get()); !value.is_null())
      schema.set("default", std::move(value));
    for (const std::string& alias : field.aliases)
      properties.set(alias, schema).set("x-alias-of", Node::text(field.name));
    properties.set(field.name, std::move(schema));
  }
  Node schema = fragment::types({"object"});
  schema.set("properties", std::move(properties));
  if (!required.items().empty()) schema.set("required", std::move(required));
  schema.set("additionalProperties", Node::boolean(false));
  return schema;
}

std::string Range::str() const {
  const std::string above = std::isinf(low) ? "" : fmt::format("{} {}", low_open ? ">" : ">=", shortest(low));
  const std::string below = std::isinf(high) ? "" : fmt::format("{} {}", high_open ? "<" : "<=", shortest(high));
  return above + (above.empty() || below.empty() ? "" : " and ") + below;
}

namespace {

/// The number in a written value, with or without a unit (`5 epochs`); sizes are in bytes.
std::optional<double> number_in(const Node& written) {
  if (!written.is_scalar() || written.quoted()) return std::nullopt;
  const std::string& text = written.str();
  const std::size_t space = text.find(' ');
  const auto number = evaluate(text.substr(0, space));
  if (!number || space == std::string::npos) return number;
  const auto unit = std::string_view(text).substr(space + 1);
  for (const auto& [word, factor] : {std::pair("KiB", 0x1p10), {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}})
    if (unit == word) return *number * factor;
  return number;
}

bool all_in(const Node& written, const std::string& key, const Range& range, const Node& at, Reader& reader) {
  for (std::size_t i = 0; i < written.items().size(); ++i)
    if (!all_in(written.items()[i], key, range, i < at.items().size() ? at.items()[i] : at, reader)) return false;
  const auto number = number_in(written);
  if (!number || range.holds(*number)) return true;
  reader.error(at, fmt::format("{} must be {}, found {}", key, range.str(), written.str()));
  return false;
}

void limit(Node& schema, const Range& range) {
  if (Node* choices = schema.find("anyOf"))
    for (Node& choice : choices->items()) limit(choice, range);
  if (Node* items = schema.find("items")) limit(*items, range);
  const Node* type = schema.find("type");
  const std::string first = type == nullptr ? "" : type->is_sequence() ? type->items().front().str() : type->str();
  if (first != "number" && first != "integer") return;
  if (!std::isinf(range.low)) schema.set(range.low_open ? "exclusiveMinimum" : "minimum", Node::number(range.low));
  if (!std::isinf(range.high)) schema.set(range.high_open ? "exclusiveMaximum" : "maximum", Node::number(range.high));
}

}  // namespace

bool Field::read(const Node& node, Reader& reader, void* spec) const {
  const Reader::Key naming(reader, name);
  void* const found = member(spec);
  if (!value->read(node, reader, found)) return false;
  const Node written = value->write(found);
  if (required && written.is_null()) return reader.error(node, name + " has no value"), false;
  if (range.limits() && !all_in(written, name, range, node, reader)) return false;
  const std::string error = check ? check(found) : "";
  if (!error.empty()) reader.error(node, name + " " + error);
  return error.empty();
}

Node Field::schema() const {
  Node schema = value->schema();
  limit(schema, range);
  return schema;
}

}  // namespace dptrain::config
