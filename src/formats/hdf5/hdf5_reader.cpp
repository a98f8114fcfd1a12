#include "formats/hdf5/hdf5_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

#include "core/crc32.h"
#include "core/floats.h"
#include "core/format.h"
#include "formats/hdf5/hdf5_object.h"

namespace dptrain::formats {

struct Hdf5Context {
  std::shared_ptr<const Hdf5Bytes> bytes;
  /// The last global heap collection: index -> object. Adjacent strings share collections.
  std::uint64_t collection = kUndefinedAddress;
  std::vector<std::byte> collection_bytes;
  std::unordered_map<std::uint64_t, std::span<const std::byte>> objects;
};

namespace {

constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};

std::string found_instead(const std::string& name) {
  if (name.ends_with(".onnx"))
    return "is an ONNX model, which dptrain writes and does not read; it reads weights from .h5, .keras and "
           ".safetensors files";
  return "is not an HDF5 file: its first bytes are different";
}

std::uint64_t root_address(const Hdf5Bytes& file) {
  std::array<unsigned char, 8> signature{};
  if (file.size() >= signature.size()) file.read(0, std::as_writable_bytes(std::span(signature)));
  if (signature != kSignature)
    file.refuse(file.size() == 0 ? "is empty, expected an HDF5 file" : found_instead(file.name()));
  const std::vector<std::byte> superblock = file.read(8, 88);
  Cursor at(file, superblock);
  const std::uint8_t version = at.u8();
  if (version > 1)
    file.refuse(fmt::format("uses the newer superblock of HDF5, which is not supported; {}", kHdf5Rewrite));
  at.skip(4);
  if (at.u8() != 8 || at.u8() != 8) file.throw_damaged("its addresses are not of 8 bytes");
  at.skip(version == 1 ? 13 : 9);
  if (at.u64() != 0) file.throw_damaged("its base address is not 0");
  at.skip(8);
  const std::uint64_t end = at.u64();
  if (end > file.size()) file.throw_damaged(fmt::format("it is cut off, {} bytes of {}", file.size(), end));
  at.skip(16);  // driver information, name of the root
  return at.u64();
}

void load_collection(Hdf5Context& context, std::uint64_t address) {
  if (context.collection == address) return;
  const Hdf5Bytes& file = *context.bytes;
  const std::vector<std::byte> head = file.read(address, 16);
  Cursor at(file, head);
  if (!at.signature("GCOL") || at.u8() != 1) file.throw_damaged("a text of variable length has no heap");
  at.skip(3);
  const std::uint64_t size = at.u64();
  context.collection = kUndefinedAddress;
  context.objects.clear();
  context.collection_bytes = file.read(address, size);
  Cursor object(file, context.collection_bytes);
  object.skip(16);
  while (object.left() >= 16) {
    const std::uint16_t index = object.u16();
    object.skip(6);
    const std::uint64_t length = object.u64();
    if (index == 0) break;  // free space up to the end
    if (length > object.left()) file.throw_damaged("a text of variable length is longer than its heap");
    context.objects.emplace(index, object.take(static_cast<std::size_t>(length)));
    object.skip(std::min<std::size_t>(object.left(), (8 - length % 8) % 8));
  }
  context.collection = address;
}

std::string variable_string(Hdf5Context& context, Cursor& at) {
  const std::uint32_t length = at.u32();
  const std::uint64_t address = at.u64();
  const std::uint32_t index = at.u32();
  if (length == 0) return "";
  load_collection(context, address);
  const auto object = context.objects.find(index);
  if (object == context.objects.end() || object->second.size() < length)
    context.bytes->throw_damaged("a text of variable length is missing from its heap");
  return until_nul(object->second.first(length));
}

std::string fixed_string(std::span<const std::byte> bytes, const Hdf5Type& type) {
  if (!type.null_padded && !type.space_padded) return until_nul(bytes);
  const std::byte pad = type.space_padded ? std::byte{' '} : std::byte{0};
  while (!bytes.empty() && (bytes.back() == pad || bytes.back() == std::byte{0})) bytes = bytes.first(bytes.size() - 1);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The strings of an attribute; nothing for H5S_NULL and for 0 elements of any type.
std::vector<std::string> strings_of(Hdf5Context& context, const Hdf5Attribute& attribute, const std::string& owner) {
  const Hdf5Bytes& file = *context.bytes;
  const std::string name = fmt::format("attribute '{}' of '/{}'", attribute.name, owner);
  if (attribute.shared) file.refuse(fmt::format("has the {} with a shared type, which is not supported", name));
  const Hdf5Space space = decode_space(file, attribute.space);
  if (space.elements == 0) return {};
  const Hdf5Type type = decode_type(file, attribute.type);
  const bool variable = type.kind == Hdf5Type::Kind::kVariableString;
  if (!variable && type.kind != Hdf5Type::Kind::kFixedString)
    file.refuse(fmt::format("has the {}, which is not text", name));
  if (space.elements > attribute.value.size() / type.size) file.throw_damaged(fmt::format("the {} is cut off", name));

  Cursor at(file, attribute.value);
  std::vector<std::string> strings;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < space.elements; ++i) {
    strings.push_back(variable ? variable_string(context, at) : fixed_string(at.take(type.size), type));
    total += strings.back().size();
    if (total > file.size()) file.throw_damaged(fmt::format("the {} is larger than the file", name));
  }
  return strings;
}

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}/{}", path, name);
}

float float_of(Cursor& at, const Hdf5Type& type) {
  const std::uint64_t bits = at.number(type.size);
  if (type.kind == Hdf5Type::Kind::kFloat) {
    if (type.size == 2) return float_of_half(static_cast<std::uint16_t>(bits));
    return type.size == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                          : static_cast<float>(std::bit_cast<double>(bits));
  }
  if (!type.is_signed) return static_cast<float>(bits);
  const unsigned unused = 64 - 8 * type.size;
  return static_cast<float>(static_cast<std::int64_t>(bits << unused) >> unused);
}

}  // namespace

Hdf5Object::Hdf5Object(std::shared_ptr<Hdf5Context> context, std::string path, std::uint64_t address)
    : context_(std::move(context)),
      path_(std::move(path)),
      header_(std::make_shared<const Hdf5Header>(read_header(*context_->bytes, address))) {}

const Hdf5Bytes& Hdf5Object::file() const noexcept { return *context_->bytes; }

const Hdf5Attribute* Hdf5Object::find(std::string_view name) const noexcept {
  for (const Hdf5Attribute& attribute : header_->attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

bool Hdf5Object::has(std::string_view attribute) const noexcept { return find(attribute) != nullptr; }

std::optional<std::string> Hdf5Object::text(std::string_view attribute) const {
  const Hdf5Attribute* const found = find(attribute);
  if (found == nullptr) return std::nullopt;
  std::vector<std::string> strings = strings_of(*context_, *found, path_);
  if (strings.size() != 1) return std::nullopt;
  return std::move(strings.front());
}

std::optional<std::int64_t> Hdf5Object::number(std::string_view attribute) const {
  const Hdf5Attribute* const found = find(attribute);
  if (found == nullptr || found->shared) return std::nullopt;
  const Hdf5Type type = decode_type(file(), found->type);
  const Hdf5Space space = decode_space(file(), found->space);
  if (type.kind != Hdf5Type::Kind::kInteger || !type.little_endian || space.elements != 1 ||
      found->value.size() < type.size)
    return std::nullopt;
  return static_cast<std::int64_t>(Cursor(file(), found->value).number(type.size));
}

std::vector<std::string> Hdf5Object::list(std::string_view attribute) const {
  if (const Hdf5Attribute* const whole = find(attribute)) return strings_of(*context_, *whole, path_);
  std::vector<std::string> all;
  for (int part = 0;; ++part) {
    const Hdf5Attribute* const found = find(fmt::format("{}{}", attribute, part));
    if (found == nullptr) return all;
    for (std::string& value : strings_of(*context_, *found, path_)) all.push_back(std::move(value));
  }
}

Hdf5Group::Hdf5Group(std::shared_ptr<Hdf5Context> context, std::string path, std::uint64_t address)
    : Hdf5Object(std::move(context), std::move(path), address) {
  if (!header_->unreadable.empty()) file().refuse(fmt::format("cannot be read: '/{}' {}", path_, header_->unreadable));
  if (!header_->is_group) file().throw_damaged(fmt::format("'/{}' is not a group", path_));
  children_ = read_symbols(file(), *header_);
}

Hdf5Group Hdf5Group::root(std::shared_ptr<const Hdf5Bytes> bytes) {
  const std::uint64_t address = root_address(*bytes);
  auto context = std::make_shared<Hdf5Context>();
  context->bytes = std::move(bytes);
  return {std::move(context), "", address};
}

bool Hdf5Group::contains(std::string_view name) const { return children_.find(name) != children_.end(); }

std::vector<std::string> Hdf5Group::names() const {
  std::vector<std::string> all;
  for (const auto& [name, address] : children_) all.push_back(name);
  return all;
}

std::uint64_t Hdf5Group::child(std::string_view name) const {
  const auto found = children_.find(name);
  if (found == children_.end()) file().throw_damaged(fmt::format("'/{}' is missing", joined(path_, name)));
  if (found->second == kUndefinedAddress)
    file().refuse(
        fmt::format("has a soft or external link at '/{}', which is not followed; store the object itself there",
                    joined(path_, name)));
  return found->second;
}

Hdf5Group Hdf5Group::group(std::string_view path) const {
  // A group may contain a link to itself; Keras's paths have about three parts.
  if (std::count(path.begin(), path.end(), '/') > 16)
    file().throw_damaged(fmt::format("a path below '/{}' is too deep", path_));
  const std::size_t slash = path.find('/');
  const std::string_view name = path.substr(0, slash);
  Hdf5Group next(context_, joined(path_, name), child(name));
  return slash == std::string_view::npos ? next : next.group(path.substr(slash + 1));
}

Hdf5Dataset Hdf5Group::dataset(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) return group(path.substr(0, slash)).dataset(path.substr(slash + 1));
  return {context_, joined(path_, path), child(path)};
}

std::optional<Hdf5Group> Hdf5Group::find_group(std::string_view name) const {
  if (!contains(name)) return std::nullopt;
  return group(name);
}

Hdf5Dataset::Hdf5Dataset(std::shared_ptr<Hdf5Context> context, std::string path, std::uint64_t address)
    : Hdf5Object(std::move(context), std::move(path), address) {
  if (!header_->unreadable.empty()) file().refuse(fmt::format("cannot be read: '/{}' {}", path_, header_->unreadable));
  if (!header_->space || !header_->type || !header_->layout)
    file().throw_damaged(fmt::format("'/{}' is not a dataset", path_));
}

Shape Hdf5Dataset::shape() const {
  std::vector<std::int64_t> dims;
  for (const std::uint64_t dim : header_->space->dims) dims.push_back(static_cast<std::int64_t>(dim));
  return Shape(std::move(dims));
}

std::uint64_t Hdf5Dataset::elements() const { return header_->space->elements; }

std::uint64_t Hdf5Dataset::length() const {
  const Hdf5Layout& layout = *header_->layout;
  if (!layout.unreadable.empty()) file().refuse(fmt::format("cannot be read: '/{}' {}", path_, layout.unreadable));
  const std::uint64_t size = header_->type->size;
  // Elements are bounded by 2^48 and sizes by 2^32, so the first comparison comes before the product.
  const bool fits = elements() <= layout.size / size && elements() <= file().size() / size &&
                    (layout.is_compact || file().contains(layout.address, elements() * size));
  if (elements() != 0 && !fits)
    file().throw_damaged(fmt::format("'/{}' is smaller than the {} elements of {} bytes that its header declares",
                                     path_, elements(), size));
  return elements() * size;
}

void Hdf5Dataset::read(std::span<std::byte> out) const {
  const Hdf5Layout& layout = *header_->layout;
  if (layout.is_compact)
    std::copy_n(layout.compact.begin(), out.size(), out.begin());
  else if (!out.empty())
    file().read(layout.address, out);
  if (const auto expected = number("crc32"); expected && crc32(out) != static_cast<std::uint32_t>(*expected))
    file().throw_damaged(fmt::format("the checksum of '/{}' does not match", path_));
}

/// HDF5 has no such type: h5py writes opaque bytes, and Keras adds the attribute.
bool Hdf5Dataset::is_bfloat16() const {
  return header_->type->kind == Hdf5Type::Kind::kOpaque && header_->type->size == 2 && text("dtype") == "bfloat16";
}

bool Hdf5Dataset::is_int8() const noexcept {
  const Hdf5Type& type = *header_->type;
  return type.kind == Hdf5Type::Kind::kInteger && type.size == 1 && type.is_signed;
}

std::vector<float> Hdf5Dataset::floats() const {
  const Hdf5Type& type = *header_->type;
  const bool bfloat16 = is_bfloat16();
  const bool number = type.kind == Hdf5Type::Kind::kInteger || (type.kind == Hdf5Type::Kind::kFloat && type.ieee);
  if (type.kind == Hdf5Type::Kind::kOpaque && !bfloat16)
    file().refuse(fmt::format(
        "cannot be read: '/{}' contains {} opaque bytes for each value. Keras writes bfloat16 in this way, in .h5 "
        "files without the attribute dtype = 'bfloat16'. Save the model as .keras, or add the attribute with h5py",
        path_, type.size));
  if (!(number && type.little_endian) && !bfloat16)
    file().refuse(fmt::format("cannot be read: '/{}' does not contain little-endian numbers", path_));
  const auto size = static_cast<std::size_t>(length());
  std::vector<float> values(static_cast<std::size_t>(elements()));
  if (type.kind == Hdf5Type::Kind::kFloat && type.size == 4) {
    read(std::as_writable_bytes(std::span(values)));
    return values;
  }
  std::vector<std::byte> data(size);
  read(data);
  Cursor at(file(), data);
  for (float& value : values) value = bfloat16 ? float_of_bfloat16(at.u16()) : float_of(at, type);
  return values;
}

std::int64_t Hdf5Dataset::whole_number() const {
  const Hdf5Type& type = *header_->type;
  if (type.kind != Hdf5Type::Kind::kInteger || !type.little_endian || elements() != 1)
    file().refuse(fmt::format("cannot be read: '/{}' is not a whole number", path_));
  std::vector<std::byte> data(static_cast<std::size_t>(length()));
  read(data);
  const unsigned unused = 64 - 8 * type.size;
  const std::uint64_t bits = Cursor(file(), data).number(type.size) << unused;
  return type.is_signed ? static_cast<std::int64_t>(bits) >> unused : static_cast<std::int64_t>(bits >> unused);
}

std::string Hdf5Dataset::text_value() const {
  if (header_->type->kind != Hdf5Type::Kind::kFixedString || elements() != 1)
    file().refuse(fmt::format("cannot be read: '/{}' is not text", path_));
  std::vector<std::byte> data(static_cast<std::size_t>(length()));
  read(data);
  return fixed_string(data, *header_->type);
}

}  // namespace dptrain::formats
