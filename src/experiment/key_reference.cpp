#include "experiment/key_reference.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

#include "config/node.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "experiment/experiment.h"

namespace dptrain::experiment {
namespace {

using config::Node;

struct FamilyPage {
  const char* definition;  ///< in "$defs"
  const char* file;
  const char* title;
  const char* word;  ///< in the column of types
};

constexpr FamilyPage kFamilies[] = {
    {"step", "layers.md", "Layers", "layer"},
    {"initializer", "initializers.md", "Initializers", "initializer"},
    {"regularizer", "regularizers.md", "Regularizers", "regularizer"},
    {"optimizer", "optimizers.md", "Optimizers", "optimizer"},
    {"learning-rate_schedule", "schedules.md", "Learning-rate schedules", "schedule"},
    {"loss", "losses.md", "Losses", "loss"},
    {"metric", "metrics.md", "Metrics", "metric"},
    {"data_set", "datasets.md", "Data sets", "data set"},
    {"encoder", "encoders.md", "Encoders of columns", "encoder"},
    {"transform", "transforms.md", "Transforms", "transform"},
    {"callback", "callbacks.md", "Callbacks", "callback"},
};
constexpr std::string_view kDefinitions = "#/$defs/", kActivation = "activation";
constexpr std::size_t kMaxWords = 14;  ///< longer lists of words are shortened

/// The name in "$defs" that a reference ends with; "" for others.
std::string definition_of(const std::string& reference) {
  return reference.starts_with(kDefinitions) ? reference.substr(kDefinitions.size()) : "";
}

const FamilyPage* family_of(const std::string& definition) {
  const auto found = std::ranges::find(kFamilies, definition, &FamilyPage::definition);
  return found == std::end(kFamilies) ? nullptr : found;
}

/// Markdown on one line. GitHub removes tags such as <name> outside of code.
std::string escaped(const std::string& text, bool in_table) {
  std::string out;
  bool in_code = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
    if (c == '`') in_code = !in_code;
    const bool is_tag = c == '<' && !in_code && (next == '/' || std::isalpha(static_cast<unsigned char>(next)) != 0);
    if (is_tag || (c == '|' && in_table)) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}
std::string cell(const std::string& text) { return escaped(text, true); }

/// A paragraph of the text of a key or type, which has no final period; "" for null.
std::string paragraph(const Node* text) {
  if (text == nullptr || text->str().empty()) return "";
  std::string sentence = escaped(text->str(), false);
  sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentence + (sentence.ends_with('.') ? "\n\n" : ".\n\n");
}

std::string code(const std::string& text) { return "`" + text + "`"; }

bool is_empty(const Node& value) {
  return value.is_null() || (value.is_scalar() && value.str().empty()) ||
         (value.is_sequence() && value.items().empty()) || (value.is_map() && value.entries().empty());
}

std::string text_of(const Node& schema, const char* key) {
  const Node* const found = schema.find(key);
  return found == nullptr ? "" : found->str();
}

class Writer {
 public:
  Writer() : schema_(json_schema()) {}

  std::vector<ReferencePage> pages() const {
    std::vector<ReferencePage> all{{"sections.md", sections()}};
    for (const FamilyPage& family : kFamilies) all.push_back({family.file, family_page(family)});
    return all;
  }

 private:
  static constexpr const char* kNote = "<!-- made by `dptrain config --reference`; do not edit -->\n";

  static std::string page(const char* title, const std::string& tables) {
    const bool has_positional = tables.find("` * |") != std::string::npos;
    return fmt::format("{}# {}\n{}{}", kNote, title,
                       has_positional ? "\n`Type: value` sets the key that is marked with \\*.\n" : "", tables);
  }

  /// The target of a node's "$ref"; null without one.
  const Node* target(const Node& node) const {
    const std::string reference = text_of(node, "$ref");
    if (reference.empty()) return nullptr;
    const Node* found = &schema_;
    for (const std::string& part : split(reference.substr(2), '/')) {
      found = found->find(part);
      if (found == nullptr) throw Error(ErrorKind::kInternal, "the schema has no " + reference);
    }
    return found;
  }
  const Node& resolved(const Node& node) const {
    const Node* const next = target(node);
    return next == nullptr ? node : resolved(*next);
  }
  /// The first definition in the node's chain of references that has a page or heading of its own; "": none.
  std::string documented_definition(const Node& node) const {
    const std::string definition = definition_of(text_of(node, "$ref"));
    if (definition == kActivation || family_of(definition) != nullptr) return definition;
    const Node* const next = target(node);
    return next == nullptr ? "" : documented_definition(*next);
  }
  /// An attribute of the node or, if it has none, of the targets of its references.
  const Node* attribute(const Node& node, const char* key) const {
    if (const Node* found = node.find(key)) return found;
    const Node* const next = target(node);
    return next == nullptr ? nullptr : attribute(*next, key);
  }

  /// The schemas with properties that a value can have: its own, that of its items, or those of its choices. Families
  /// have their own pages and are omitted.
  std::vector<const Node*> objects_of(const Node& node) const {
    if (family_of(documented_definition(node)) != nullptr) return {};
    const Node& found = resolved(node);
    if (found.find("properties") != nullptr) return {&found};
    if (const Node* items = found.find("items")) return objects_of(*items);
    std::vector<const Node*> all;
    if (const Node* choices = found.find("anyOf"))
      for (const Node& choice : choices->items())
        for (const Node* object : objects_of(choice)) all.push_back(object);
    return all;
  }

  /// The values of a mapping whose keys are names of the user; null: not such a mapping.
  const Node* values_of(const Node& node) const {
    const Node& found = resolved(node);
    const Node* const values = found.find("additionalProperties");
    return values != nullptr && values->is_map() ? values : nullptr;
  }

  std::string range(const Node& node) const {
    const std::pair<const char*, const char*> limits[] = {
        {"minimum", ">="}, {"exclusiveMinimum", ">"}, {"maximum", "<="}, {"exclusiveMaximum", "<"}};
    std::string text;
    for (const auto& [key, sign] : limits)
      if (const Node* const limit = attribute(node, key))
        text += fmt::format("{}{} {}", text.empty() ? " " : " and ", sign, shortest(std::stod(limit->str())));
    return text;
  }

  static std::string words(const Node& choices) {
    std::vector<std::string> all;
    for (const Node& word : choices.items()) all.push_back(code(word.str()));
    if (all.size() > kMaxWords) {
      all.resize(kMaxWords);
      all.emplace_back("...");
    }
    return join(all, ", ");
  }

  /// "integer >= 1", "`same`, `valid`", "list of number"; "" for what every value may be (a variable).
  std::string type_text(const Node& node) const {
    const std::string definition = documented_definition(node);
    if (definition == kActivation) return "[activation](../layers.md#activations)";
    if (const FamilyPage* family = family_of(definition)) return fmt::format("[{}]({})", family->word, family->file);
    const Node& found = resolved(node);
    if (const Node* choices = found.find("enum")) return words(*choices);
    if (const Node* choices = found.find("anyOf")) {
      std::vector<std::string> all;
      for (const Node& choice : choices->items()) {
        const std::string text = type_text(choice);
        if (!text.empty() && std::ranges::find(all, text) == all.end()) all.push_back(text);
      }
      return join(all, " or ");
    }
    const Node* const type = found.find("type");
    if (type == nullptr) return "";
    const std::string name = type->is_sequence() ? type->items().front().str() : type->str();
    if (name == "array") {
      const Node* const items = found.find("items");
      const std::string item = items == nullptr ? "" : type_text(*items);
      if (item.empty()) return "list";
      const bool is_list = item.find(" or ") != std::string::npos || item.find(", ") != std::string::npos;
      return is_list ? "list of (" + item + ")" : "list of " + item;
    }
    if (name == "object") return "mapping";
    if (name == "string") return found.find("pattern") != nullptr && text_of(found, "pattern") == "\\$" ? "" : "text";
    if (name == "null") return "none";
    return name + range(node);
  }

  /// The default of a key; for a member of a family only its type. "" for sections, which have their own tables, and
  /// where the text of the key contains the default.
  std::string default_text(const Node& node) const {
    const Node* const value = attribute(node, "default");
    if (value != nullptr && value->is_map() && !objects_of(node).empty()) return "";
    if (value == nullptr || is_empty(*value)) {
      const Node* const description = attribute(node, "description");
      return description != nullptr && description->str().find("default: ") != std::string::npos ? "" : "none";
    }
    const bool is_type =
        value->entries().size() == 1 && std::isupper(static_cast<unsigned char>(value->entries().front().key[0])) != 0;
    return code(is_type ? value->entries().front().key : flow(*value));
  }

  /// YAML in flow style: "{RandomUniform: {minval: -0.05}}", "[2, 2]".
  static std::string flow(const Node& node) {
    std::vector<std::string> parts;
    for (const Node& item : node.items()) parts.push_back(flow(item));
    if (node.is_sequence()) return "[" + join(parts, ", ") + "]";
    for (const Node::Entry& entry : node.entries()) parts.push_back(entry.key + ": " + flow(entry.value));
    if (node.is_map()) return "{" + join(parts, ", ") + "}";
    return node.is_null() ? "null" : trim(config::to_yaml(Node::sequence({node}))).substr(2);
  }

  /// Maps each required key of an object to "required". If one of two keys is required, the text names the other one.
  static std::map<std::string, std::string> required_keys(const Node& object) {
    std::map<std::string, std::string> found;
    if (const Node* const names = object.find("required"))
      for (const Node& name : names->items()) found[name.str()] = "required";
    std::vector<const Node*> groups{&object};
    if (const Node* const all = object.find("allOf"))
      for (const Node& group : all->items()) groups.push_back(&group);
    for (const Node* group : groups) {
      std::vector<std::string> names;
      if (const Node* const choices = group->find("oneOf"))
        for (const Node& choice : choices->items()) names.push_back(choice.find("required")->items().front().str());
      for (const std::string& name : names) {
        std::vector<std::string> others;
        for (const std::string& other : names)
          if (other != name) others.push_back(code(other));
        found[name] = "required, or " + join(others, ", ");
      }
    }
    return found;
  }

  /// {key: its other names} of an object.
  std::map<std::string, std::vector<std::string>> aliases_of(const Node& object) const {
    std::map<std::string, std::vector<std::string>> aliases;
    for (const Node::Entry& entry : object.find("properties")->entries())
      if (const Node* const name = attribute(entry.value, "x-alias-of"))
        aliases[name->str()].push_back(code(entry.key));
    return aliases;
  }

  /// The table of the keys of all `objects`. `ignored`: keys that are described elsewhere.
  std::string table(const std::vector<const Node*>& objects, const std::set<std::string>& ignored = {}) const {
    std::string rows;
    for (const Node* object : objects) {
      const std::map<std::string, std::string> required = required_keys(*object);
      const std::map<std::string, std::vector<std::string>> aliases = aliases_of(*object);
      const bool is_choice = object->find("maxProperties") != nullptr;  // exactly one key, without default
      for (const Node::Entry& entry : object->find("properties")->entries()) {
        if (ignored.contains(entry.key) || attribute(entry.value, "x-alias-of") != nullptr) continue;
        std::string key = code(entry.key);
        if (attribute(entry.value, "x-positional") != nullptr) key += " *";
        if (const auto others = aliases.find(entry.key); others != aliases.end())
          key += " (also " + join(others->second, ", ") + ")";
        const auto found = required.find(entry.key);
        rows += row(key, entry.value,
                    found != required.end() ? found->second
                    : is_choice             ? ""
                                            : default_text(entry.value));
      }
    }
    return rows.empty() ? "No keys.\n" : "| key | type | default | meaning |\n|---|---|---|---|\n" + rows;
  }

  std::string row(const std::string& key, const Node& value, const std::string& default_value) const {
    const Node* const description = attribute(value, "description");
    const Node* const standard = attribute(value, "default");
    std::string type = type_text(value);
    // The schema has numbers for values with a unit, such as "10s" and "1 GiB".
    const bool has_unit =
        standard != nullptr && standard->is_scalar() && standard->str().find(' ') != std::string::npos;
    if (has_unit && (type.starts_with("number") || type.starts_with("integer")))
      type.insert(std::min(type.find(' '), type.size()), " with a unit");
    return fmt::format("| {} | {} | {} | {} |\n", key, cell(type), cell(default_value),
                       cell(description == nullptr ? "" : description->str()));
  }

  /// Appends a section and its subsections, depth first. `description`: the text of the nearest section with one.
  void add_section(const std::string& path, const Node& section, const Node* description, std::string& text) const {
    if (const Node* const own = attribute(section, "description")) description = own;
    const std::vector<const Node*> objects = objects_of(section);
    if (const Node* values = objects.empty() ? values_of(section) : nullptr)
      return add_section(path + ".NAME", *values, description, text);
    if (objects.empty()) return;
    text += fmt::format("\n## {}\n\n{}{}", path, paragraph(description), table(objects));
    for (const Node* object : objects)
      for (const Node::Entry& entry : object->find("properties")->entries())
        add_section(path + "." + entry.key, entry.value, description, text);
  }

  std::string sections() const {
    std::string text = "\n" + table({&schema_});
    for (const Node::Entry& entry : schema_.find("properties")->entries())
      add_section(entry.key, entry.value, nullptr, text);
    return page("Sections of a config", text);
  }

  /// The types of a family and their arguments.
  const std::vector<Node::Entry>& members(const Node& family) const {
    return objects_of(family).front()->find("properties")->entries();
  }

  /// {type: its names} of a family, in its order; aliases follow the name.
  std::vector<std::pair<std::string, std::vector<std::string>>> types_of(const Node& family) const {
    std::vector<std::pair<std::string, std::vector<std::string>>> types;
    std::map<std::string, std::size_t> places;
    for (const Node::Entry& entry : members(family)) {
      const std::string reference = text_of(entry.value, "$ref");
      const auto [place, is_new] = places.try_emplace(reference, types.size());
      if (is_new)
        types.push_back({entry.key, {}});
      else
        types[place->second].second.push_back(entry.key);
    }
    return types;
  }

  std::string family_page(const FamilyPage& family) const {
    const Node& definition = *schema_.find("$defs")->find(family.definition);
    std::string text;
    std::set<std::string> shared;
    if (family.definition == std::string("step"))
      if (const Node* any = schema_.find("$defs")->find("any")) {
        text += "\nKeys of every step:\n\n" + table({any});
        for (const Node::Entry& entry : any->find("properties")->entries()) shared.insert(entry.key);
      }
    for (const auto& [name, aliases] : types_of(definition)) {
      const auto member = std::ranges::find(members(definition), name, &Node::Entry::key);
      text += fmt::format("\n## {}\n\n{}", name, paragraph(attribute(member->value, "description")));
      std::vector<std::string> spelled;
      for (const std::string& alias : aliases) spelled.push_back(code(alias));
      if (!spelled.empty()) text += fmt::format("Also: {}.\n\n", join(spelled, ", "));
      std::vector<const Node*> arguments = objects_of(member->value);
      arguments.resize(std::min<std::size_t>(arguments.size(), 1));  // others are values of the first argument
      text += table(arguments, shared);
    }
    return page(family.title, text);
  }

  const Node schema_;
};

}  // namespace

std::vector<ReferencePage> key_reference() { return Writer().pages(); }

}  // namespace dptrain::experiment
