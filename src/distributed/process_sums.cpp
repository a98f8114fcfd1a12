#include "distributed/process_sums.h"

#include <cstring>
#include <string>

#include "core/error.h"

namespace dptrain::distributed {
namespace {

// All processes run the same program, so numbers have the same bytes.
template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

class Reader {
 public:
  explicit Reader(const std::string& from) : from_(from) {}
  bool at_end() const { return at_ == from_.size(); }

  template <class T>
  T get() {
    if (from_.size() - at_ < sizeof(T))
      throw Error(ErrorKind::kInternal, "a process sent only a part of a replica's sums");
    T value{};
    std::memcpy(&value, from_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }

 private:
  const std::string& from_;
  std::size_t at_ = 0;
};

void put_sums(std::string& to, const runtime::StepSums& sums) {
  put(to, sums.loss);
  put(to, sums.samples);
  put(to, sums.penalty);
  put(to, sums.update_skipped);
  put(to, sums.seconds);
  put(to, sums.control_requests);
  put(to, sums.outputs.size());
  for (const double value : sums.outputs) put(to, value);
}

runtime::StepSums get_sums(Reader& from) {
  runtime::StepSums sums;
  sums.loss = from.get<double>();
  sums.samples = from.get<std::int64_t>();
  sums.penalty = from.get<double>();
  sums.update_skipped = from.get<bool>();
  sums.seconds = from.get<double>();
  sums.control_requests = from.get<std::uint32_t>();
  for (auto left = from.get<std::size_t>(); left > 0; --left) sums.outputs.push_back(from.get<double>());
  return sums;
}

}  // namespace

std::vector<runtime::StepSums> sums_of_all(Processes& processes, const std::vector<runtime::StepSums>& local_values) {
  std::string mine;
  for (const runtime::StepSums& sums : local_values) put_sums(mine, sums);
  std::vector<runtime::StepSums> all;
  for (const std::string& given : processes.gather(std::move(mine)))
    for (Reader from(given); !from.at_end();) all.push_back(get_sums(from));
  return all;
}

std::vector<std::uint64_t> numbers_of_all(Processes& processes, const std::vector<std::uint64_t>& local_values) {
  std::string mine;
  for (const std::uint64_t number : local_values) put(mine, number);
  std::vector<std::uint64_t> all;
  for (const std::string& given : processes.gather(std::move(mine)))
    for (Reader from(given); !from.at_end();) all.push_back(from.get<std::uint64_t>());
  return all;
}

}  // namespace dptrain::distributed
