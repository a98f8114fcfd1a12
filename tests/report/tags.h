#pragma once

// Checks that a page is well-formed: tags are closed in order, attributes are quoted, no stray & or <.

#include <string>
#include <vector>

namespace dptrain::report {

/// "" if the page is well-formed; otherwise the error and the text at its position.
inline std::string markup_error(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < page.size(); ++at) {
    if (page[at] == '&') {
      const std::size_t end = page.find(';', at);
      const std::string entity = page.substr(at, end == std::string::npos ? 12 : end - at + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") return "stray " + entity;
    }
    if (page[at] != '<') continue;
    if (page.compare(at, 9, "<!DOCTYPE") == 0) {
      at = page.find('>', at);
      continue;
    }
    std::size_t end = at + 1;  // quotes may contain a >
    for (bool quoted = false; end < page.size() && (quoted || page[end] != '>'); ++end) {
      if (page[end] == '"') quoted = !quoted;
      if (page[end] == '<') return "a < inside of a tag: " + page.substr(at, 60);
    }
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /\n", 1));
    at = end;
    if (tag.starts_with('/')) {
      if (open.empty() || "/" + open.back() != name)
        return "</" + name + "> where <" + (open.empty() ? "" : open.back()) + "> is open";
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
      if (name == "style") at = page.find("</style>", at) - 1;
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

}  // namespace dptrain::report
