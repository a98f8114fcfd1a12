#include "data/encoders/missing.h"

#include <cmath>

#include "config/expression.h"
#include "config/json_fragment.h"

namespace dptrain::config {

bool Value<data::MissingNumberRule>::read(const Node& node, Reader& reader, data::MissingNumberRule& out) {
  const Node found = reader.substituted(node);
  if (found.is_scalar() && !found.quoted() && is_number_literal(found.str())) {
    out.number = reader.number(found);
    return out.number.has_value();
  }
  out.number.reset();
  return Value<data::MissingNumber>::read(found, reader, out.rule);
}

Node Value<data::MissingNumberRule>::write(const data::MissingNumberRule& value) {
  return value.number ? Node::number(*value.number) : Value<data::MissingNumber>::write(value.rule);
}

Node Value<data::MissingNumberRule>::schema() {
  return fragment::any_of({fragment::number("number"), Value<data::MissingNumber>::schema()});
}

}  // namespace dptrain::config
