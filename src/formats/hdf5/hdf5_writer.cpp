#include "formats/hdf5/hdf5_writer.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include <hdf5.h>

#include "core/crc32.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"

namespace dptrain::formats {
namespace {

/// The library's last error: the innermost record of its error stack.
std::string library_error() {
  std::string text = "no reason given";
  const auto note = [](unsigned /*depth*/, const H5E_error2_t* record, void* out) -> herr_t {
    *static_cast<std::string*>(out) = fmt::format("{} in {}", record->desc, record->func_name);
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, note, &text);
  return text;
}

template <class Result>
Result checked(Result result, std::string_view what) {
  if (result < 0) throw Error(ErrorKind::kInternal, fmt::format("HDF5 cannot {}: {}", what, library_error()));
  return result;
}

/// Owner of one identifier of the library.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), std::string_view what) : id_(checked(id, what)), close_(close) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close_(id_); }
  operator hid_t() const noexcept { return id_; }  // NOLINT(google-explicit-constructor)

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

Handle simple_space(const std::vector<hsize_t>& dims) {
  return {dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
          H5Sclose, "make a dataspace"};
}

/// `length` bytes, or H5T_VARIABLE.
Handle string_type(std::size_t length, H5T_str_t padding, H5T_cset_t charset) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a string type");
  checked(H5Tset_size(type, length), "set the length of a string");
  checked(H5Tset_strpad(type, padding), "set the padding of a string");
  checked(H5Tset_cset(type, charset), "set the character set of a string");
  return Handle(H5Tcopy(type), H5Tclose, "copy a string type");
}

bool is_ascii(const std::vector<std::string>& values) {
  return std::all_of(values.begin(), values.end(), [](const std::string& value) {
    return std::all_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
  });
}

}  // namespace

struct Hdf5Writer::Impl {
  std::unique_lock<std::mutex> lock{hdf5_mutex()};
  hid_t file = -1;
  hid_t link_list = -1;     ///< creates missing groups
  hid_t dataset_list = -1;  ///< no time stamps: the same contents give the same bytes

  ~Impl() {
    if (!lock.owns_lock()) lock.lock();
    if (dataset_list >= 0) H5Pclose(dataset_list);
    if (link_list >= 0) H5Pclose(link_list);
    if (file >= 0) H5Fclose(file);
  }

  void attribute(const std::string& path, const std::string& name, hid_t type, hid_t space, const void* data) const {
    const Handle object(H5Oopen(file, path.empty() ? "/" : path.c_str(), H5P_DEFAULT), H5Oclose,
                        fmt::format("open '{}'", path));
    const Handle made(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                      fmt::format("make attribute '{}' of '{}'", name, path));
    if (data != nullptr) checked(H5Awrite(made, type, data), fmt::format("write attribute '{}' of '{}'", name, path));
  }

  void dataset(const std::string& path, hid_t type, hid_t space, std::span<const std::byte> data) const {
    const Handle made(H5Dcreate2(file, path.c_str(), type, space, link_list, dataset_list, H5P_DEFAULT), H5Dclose,
                      fmt::format("make dataset '{}'", path));
    if (!data.empty())
      checked(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()),
              fmt::format("write dataset '{}'", path));
  }
};

Hdf5Writer::Hdf5Writer(std::uint64_t expected_bytes) : impl_(std::make_unique<Impl>()) {
  checked(H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr), "silence its error printing");
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a property list");
  // Allocates once if the estimate holds, and at least 256 KiB at a time.
  const std::size_t increment = std::max<std::size_t>(std::size_t{1} << 18U, expected_bytes + expected_bytes / 64);
  checked(H5Pset_fapl_core(access, increment, 0 /* nothing on disk */), "select its memory driver");
  checked(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "set the closing of files");
  // The reader supports the oldest format, which is not the default of HDF5 2.0.
  checked(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18), "set the version of its format");
  // The library treats two open in-memory files of one name as the same file.
  static std::uint64_t count = 0;
  const std::string name = fmt::format("dptrain-checkpoint-in-memory-{}", ++count);
  impl_->file = checked(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), "make a file in memory");
  impl_->link_list = checked(H5Pcreate(H5P_LINK_CREATE), "make a property list");
  checked(H5Pset_create_intermediate_group(impl_->link_list, 1), "set the making of groups");
  impl_->dataset_list = checked(H5Pcreate(H5P_DATASET_CREATE), "make a property list");
  checked(H5Pset_obj_track_times(impl_->dataset_list, false), "leave out time stamps");
}

Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::group(const std::string& path) {
  const Handle made(H5Gcreate2(impl_->file, path.c_str(), impl_->link_list, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
                    fmt::format("make group '{}'", path));
}

void Hdf5Writer::floats(const std::string& path, const Shape& shape, std::span<const float> values) {
  if (static_cast<std::size_t>(shape.elements()) != values.size())
    throw Error(ErrorKind::kInternal,
                fmt::format("'{}' has {} values for the shape {}", path, values.size(), shape.str()));
  const std::vector<hsize_t> dims(shape.dims().begin(), shape.dims().end());
  const auto data = std::as_bytes(values);
  impl_->dataset(path, H5T_IEEE_F32LE, simple_space(dims), data);
  number_attribute(path, "crc32", crc32(data));
}

void Hdf5Writer::whole_number(const std::string& path, std::int64_t value) {
  impl_->dataset(path, H5T_STD_I64LE, simple_space({}), std::as_bytes(std::span(&value, 1)));
}

void Hdf5Writer::text(const std::string& path, std::string_view value) {
  const auto data = std::as_bytes(std::span(value));
  impl_->dataset(path, string_type(value.size(), H5T_STR_NULLPAD, H5T_CSET_UTF8), simple_space({}), data);
  number_attribute(path, "crc32", crc32(data));
}

void Hdf5Writer::text_attribute(const std::string& path, const std::string& name, const std::string& value) {
  const char* const data = value.c_str();
  impl_->attribute(path, name, string_type(H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8), simple_space({}), &data);
}

void Hdf5Writer::number_attribute(const std::string& path, const std::string& name, std::uint32_t value) {
  impl_->attribute(path, name, H5T_STD_U32LE, simple_space({}), &value);
}

void Hdf5Writer::list_attribute(const std::string& path, const std::string& name,
                                const std::vector<std::string>& values) {
  if (values.empty()) return impl_->attribute(path, name, H5T_IEEE_F64LE, simple_space({0}), nullptr);
  std::size_t width = 1;
  for (const std::string& value : values) width = std::max(width, value.size());
  if (width > kAttributeBytes)
    throw Error(ErrorKind::kUsage, fmt::format("a name of {} bytes is too long for a Keras file: at most {} bytes",
                                               width, kAttributeBytes));
  // As numpy.array_split: the fewest parts of at most kAttributeBytes, of which the first may have one element more.
  const std::size_t count = values.size(), fits = kAttributeBytes / width, parts = (count + fits - 1) / fits;
  const Handle type = string_type(width, H5T_STR_NULLPAD, is_ascii(values) ? H5T_CSET_ASCII : H5T_CSET_UTF8);
  std::size_t next = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t size = count / parts + (part < count % parts ? 1 : 0);
    std::string data(size * width, '\0');
    for (std::size_t i = 0; i < size; ++i) values[next + i].copy(data.data() + i * width, width);
    impl_->attribute(path, parts == 1 ? name : fmt::format("{}{}", name, part), type, simple_space({size}),
                     data.data());
    next += size;
  }
}

std::span<const std::byte> Hdf5Writer::bytes() {
  checked(H5Fflush(impl_->file, H5F_SCOPE_GLOBAL), "flush a file in memory");
  const ssize_t size = checked(H5Fget_file_image(impl_->file, nullptr, 0), "read the size of a file in memory");
  void* handle = nullptr;  // where the memory driver stores the address of its buffer
  checked(H5Fget_vfd_handle(impl_->file, H5P_DEFAULT, &handle), "get the buffer of a file in memory");
  impl_->lock.unlock();  // other users of HDF5 need not wait while the caller writes the bytes to disk
  return {*static_cast<const std::byte* const*>(handle), static_cast<std::size_t>(size)};
}

std::array<std::byte, kSealBytes> seal(std::uint32_t crc) {
  const std::string text = fmt::format("{}{:08x}\n", kSealWords, crc);
  std::array<std::byte, kSealBytes> bytes{};
  std::memcpy(bytes.data(), text.data(), bytes.size());
  return bytes;
}

}  // namespace dptrain::formats
