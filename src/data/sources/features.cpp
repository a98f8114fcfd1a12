#include "data/sources/features.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data {
namespace {

/// Reads or writes all of it, however often the call comes back early. 0, or what went wrong; ENODATA: the file ends.
template <class Call>
int all_of(const Call& call, std::size_t bytes, std::int64_t offset) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = call(done, bytes - done, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENODATA;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace

std::uint64_t feature_bytes(const std::vector<FeatureInput>& inputs, std::int64_t samples) {
  std::int64_t floats = 0;
  for (const FeatureInput& input : inputs) floats += input.shape.elements();
  return static_cast<std::uint64_t>(floats * samples) * sizeof(float);
}

Features::Features(std::shared_ptr<const Source> of, std::vector<FeatureInput> inputs, const std::string& folder)
    : WrappedSource(std::move(of)),
      inputs_(std::move(inputs)),
      folder_(folder),
      kept_(static_cast<std::size_t>(size()), false) {
  if (!folder.empty()) {
    open_file(folder);
    return;
  }
  try {
    memory_ = std::make_unique_for_overwrite<float[]>(bytes() / sizeof(float));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kMemory, fmt::format("no memory for {} of features", human_bytes(bytes())));
  }
}

Features::~Features() {
  if (file_ >= 0) close(file_);
}

void Features::open_file(const std::string& folder) {
  std::string name = folder + "/dptrain-features-XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0)
    throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write features there: {}", folder, std::strerror(errno)));
  unlink(name.c_str());
  // A full disk shows here, not in the middle of the features.
  if (const int error = posix_fallocate(file_, 0, static_cast<off_t>(bytes())); error != 0) {
    close(std::exchange(file_, -1));
    throw Error(ErrorKind::kWrite,
                fmt::format("{}: no room for {} of features: {}", folder, human_bytes(bytes()), std::strerror(error)));
  }
}

std::int64_t Features::place(std::int64_t index, std::size_t input) const {
  std::int64_t floats = 0;
  for (std::size_t i = 0; i < input; ++i) floats += inputs_[i].shape.elements() * size();
  return floats + index * inputs_[input].shape.elements();
}

void Features::keep(std::int64_t index, const std::vector<const float*>& rows) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::int64_t floats = inputs_[i].shape.elements();
    if (memory_) {
      std::copy_n(rows[i], floats, memory_.get() + place(index, i));
      continue;
    }
    const auto* const bytes = reinterpret_cast<const char*>(rows[i]);
    const auto write = [&](std::size_t done, std::size_t left, std::int64_t offset) {
      return pwrite(file_, bytes + done, left, static_cast<off_t>(offset));
    };
    const auto size = static_cast<std::size_t>(floats) * sizeof(float);
    const auto start = place(index, i) * static_cast<std::int64_t>(sizeof(float));
    if (const int error = all_of(write, size, start); error != 0)
      throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write features: {}", folder_, std::strerror(error)));
  }
  const auto which = static_cast<std::size_t>(index);
  if (!kept_[which]) ++kept_count_;
  kept_[which] = true;
}

void Features::read(std::int64_t index, int input, Array& out, const ReadHint& hint) const {
  const auto i = static_cast<std::size_t>(input);
  if (!kept_[static_cast<std::size_t>(index)]) {
    of().read(index, 0, out, hint);
    throw Error(ErrorKind::kData, fmt::format("{}: could not be read when the features were computed, and can be now; "
                                              "start again",
                                              label_place(index, 0)));
  }
  const std::int64_t floats = inputs_[i].shape.elements();
  out.shape = inputs_[i].shape;
  out.type = DType::kF32;
  out.f32.resize(static_cast<std::size_t>(floats));
  if (memory_) {
    std::copy_n(memory_.get() + place(index, i), floats, out.f32.begin());
    return;
  }
  auto* const bytes = reinterpret_cast<char*>(out.f32.data());
  const auto read = [&](std::size_t done, std::size_t left, std::int64_t offset) {
    return pread(file_, bytes + done, left, static_cast<off_t>(offset));
  };
  const auto start = place(index, i) * static_cast<std::int64_t>(sizeof(float));
  if (const int error = all_of(read, out.f32.size() * sizeof(float), start); error != 0)
    throw Error(ErrorKind::kData,
                fmt::format("{}: cannot read features of sample {}: {}", folder_, index, std::strerror(error)));
}

const float* Features::f32_rows(int input) const {
  return memory_ && missing() == 0 ? memory_.get() + place(0, static_cast<std::size_t>(input)) : nullptr;
}

}  // namespace dptrain::data
