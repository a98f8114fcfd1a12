#include "formats/checkpoint/writer.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/threads.h"
#include "core/trace.h"
#include "formats/exporter.h"

namespace dptrain::formats {

struct CheckpointWriter::Impl {
  explicit Impl(std::function<void(const WrittenFile&)> on_done)
      : done(std::move(on_done)), thread([this] { run(); }) {}
  ~Impl() {
    jobs.close();
    thread.join();
  }

  void run() {
    trace::name_thread("writer of checkpoints");
    while (std::optional<WriteJob> job = jobs.pop()) {
      for (const std::string& path : job->paths) finish(write(*job, path));
      job.reset();  // the snapshot's memory goes before anybody is told that we are idle
      const std::lock_guard lock(mutex);
      --pending;
      idle.notify_all();
    }
  }

  static WrittenFile write(const WriteJob& job, const std::string& path) {
    WrittenFile saved{.path = path, .bytes = 0, .seconds = 0, .error = std::nullopt};
    const Stopwatch watch;
    const trace::Span span("save", "writing", &path);
    try {
      const Exported handed_on{.model = *job.model,
                               .compiled = job.compiled,
                               .class_names = job.state->class_names,
                               .learned = job.state->learned};
      saved.bytes = job.private_state ? save_checkpoint(path, *job.model, job.compiled, *job.state)
                                      : exporter_of(path).write(path, handed_on);
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

  void finish(const WrittenFile& saved) {
    {
      const std::lock_guard lock(mutex);
      last_error = saved.error;
    }
    if (done) done(saved);
  }

  const std::function<void(const WrittenFile&)> done;
  Queue<WriteJob> jobs{1};
  mutable std::mutex mutex;
  std::condition_variable idle;
  int pending = 0;                  ///< jobs submitted and not finished
  std::optional<Error> last_error;  ///< of the last save
  std::thread thread;               ///< last: it uses all of the above
};

CheckpointWriter::CheckpointWriter(std::function<void(const WrittenFile&)> done)
    : impl_(std::make_unique<Impl>(std::move(done))) {}

CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::submit(WriteJob job) {
  {
    const std::lock_guard lock(impl_->mutex);
    ++impl_->pending;
  }
  impl_->jobs.push(std::move(job));
}

void CheckpointWriter::drain() {
  std::unique_lock lock(impl_->mutex);
  impl_->idle.wait(lock, [&] { return impl_->pending == 0; });
}

std::optional<Error> CheckpointWriter::last_error() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->last_error;
}

}  // namespace dptrain::formats
