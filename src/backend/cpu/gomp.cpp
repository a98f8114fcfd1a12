// Runs oneDNN's parallel regions on the thread pool of kernels/cpu/thread_pool.h. oneDNN is built on GNU OpenMP; this
// file defines all functions of libgomp that it calls, and the executable's definitions precede the library's. A region
// is as many pieces as it has OpenMP threads, numbered by piece; one thread may run several of them in sequence.
//
// With libgomp's own threads next to the pool, fit takes 1.03 (ResNet-50) to 1.81 times as long
// (configs/bench/fashion_cnn.yaml).

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "backend/cpu/dnnl_support.h"
#include "kernels/cpu/thread_pool.h"

namespace {

thread_local bool alone = false;  // OneDnnlThread

/// Shared by the pieces of a region.
struct Region {
  void (*function)(void*);
  void* data;
  int threads;
  std::atomic<int> arrived{0};     // at the barrier
  std::atomic<unsigned> round{0};  // barriers passed
};

/// The piece that the calling thread is running.
struct Current {
  Region* region = nullptr;
  int number = 0;
};
thread_local Current current;

void run_piece(const void* work, std::int64_t piece, int) {
  auto* const region = static_cast<Region*>(const_cast<void*>(work));
  const Current outer = current;
  current = {region, static_cast<int>(piece)};
  region->function(region->data);
  current = outer;
}

}  // namespace

namespace dptrain::backend::cpu {

OneDnnlThread::OneDnnlThread(bool on) : before_(alone) { alone = alone || on; }
OneDnnlThread::~OneDnnlThread() { alone = before_; }

}  // namespace dptrain::backend::cpu

extern "C" {

int omp_get_max_threads() { return alone ? 1 : dptrain::kernels::cpu::thread_count(); }
int omp_get_num_threads() { return current.region ? current.region->threads : 1; }
int omp_get_thread_num() { return current.number; }
int omp_in_parallel() { return current.region != nullptr && current.region->threads > 1; }

/// `#pragma omp parallel num_threads(threads)`; 0: all threads.
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned) {
  namespace pool = dptrain::kernels::cpu;
  const int most = alone || pool::inside_piece() ? 1 : pool::thread_count();
  Region region{function, data, threads == 0 ? most : std::min(static_cast<int>(threads), most)};
  pool::run_pieces(region.threads, run_piece, &region);
}

/// Barrier of all pieces of the region; each has its own thread (run_pieces).
void GOMP_barrier() {
  Region* const region = current.region;
  if (region == nullptr || region->threads == 1) return;
  const unsigned round = region->round.load();
  if (++region->arrived == region->threads) {
    region->arrived = 0;
    ++region->round;
    region->round.notify_all();
  } else {
    while (region->round == round) region->round.wait(round);
  }
}

}  // extern "C"
