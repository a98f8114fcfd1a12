#include "formats/checkpoint/writer.h"

#include <new>
#include <utility>

#include "core/clock.h"
#include "core/trace.h"
#include "formats/exporter.h"

namespace dptrain::formats {
namespace {

WrittenFile write_file(const WriteJob& job, const std::string& path) {
  WrittenFile saved{.path = path, .bytes = 0, .seconds = 0, .error = std::nullopt};
  const Stopwatch watch;
  const trace::Span span("save", "writing", &path);
  try {
    const Exported exported{.model = *job.model,
                            .compiled = job.compiled,
                            .class_names = job.state->class_names,
                            .fitted_state = job.state->fitted_state};
    saved.bytes = job.private_state ? save_checkpoint(path, *job.model, job.compiled, *job.state)
                                    : exporter_of(path).write(path, exported);
  } catch (const Error& error) {
    saved.error = error;
  } catch (const std::bad_alloc&) {
    saved.error = Error(ErrorKind::kMemory, "not enough memory to write '" + path + "'");
  } catch (const std::exception& error) {
    saved.error = Error(ErrorKind::kInternal, "cannot write '" + path + "': " + error.what());
  }
  saved.seconds = watch.seconds();
  return saved;
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::function<void(const WrittenFile&)> done)
    : done_(std::move(done)), thread_([this] { run(); }) {}

CheckpointWriter::~CheckpointWriter() {
  jobs_.close();
  thread_.join();
}

void CheckpointWriter::submit(WriteJob job) {
  {
    const std::lock_guard lock(mutex_);
    ++pending_;
  }
  jobs_.push(std::move(job));
}

void CheckpointWriter::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return pending_ == 0; });
}

std::optional<Error> CheckpointWriter::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

void CheckpointWriter::run() {
  trace::name_thread("writer of checkpoints");
  while (std::optional<WriteJob> job = jobs_.pop()) {
    for (const std::string& path : job->paths) finish(write_file(*job, path));
    job.reset();  // frees the snapshot before drain() returns
    const std::lock_guard lock(mutex_);
    --pending_;
    idle_.notify_all();
  }
}

void CheckpointWriter::finish(const WrittenFile& saved) {
  {
    const std::lock_guard lock(mutex_);
    last_error_ = saved.error;
  }
  if (done_) done_(saved);
}

}  // namespace dptrain::formats
