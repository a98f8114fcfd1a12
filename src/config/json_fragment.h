#pragma once

// Pieces of JSON Schema (draft 2020-12), with which an editor checks a config. They accept more than the reader: any
// number or word may also be an expression or a `$NAME`. Pure functions.

#include <string>
#include <vector>

#include "config/node.h"

namespace dptrain::config::fragment {

Node types(const std::vector<std::string>& names);  ///< {"type": ...}
Node number(const std::string& type);               ///< "integer" or "number", or text such as "1/255", "$filters"
Node boolean();
Node variable();  ///< text with a `$`
Node one_of_words(const std::vector<std::string>& words);
Node any_of(std::vector<Node> choices);  ///< nested anyOf choices are flattened
Node list(Node item);
/// A mapping with these keys, or with `open` also others; it must have the key `must_have`, unless that is empty.
Node object(Node properties, bool open = false, const std::string& must_have = "");
Node required(const std::string& key);    ///< {"required": [key]}
Node reference(const std::string& name);  ///< to "$defs"/<name> of the whole schema

Node described(Node node, const std::string& text);

}  // namespace dptrain::config::fragment
