#include "kernels/cpu/recurrent.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/recurrent.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/recurrent-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

int64_t packed_kernel(int64_t units, int64_t gates) { return packed_weights(gates, units); }

/// Forward each gate by itself; backward the gates one behind the other, along K.
void pack_kernel(const float* kernel, int64_t units, int64_t gates, bool backward, float* to) {
  if (backward) return pack_weights(kernel, gates, units, units, 1, gates * units, to);
  for (int64_t gate = 0; gate < gates; ++gate)
    pack_weights(kernel + gate * units, 1, units, 0, gates * units, 1, to + gate * packed_weights(1, units));
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(packed_kernel);
HWY_EXPORT(pack_kernel);

void run_recurrent(std::span<const RecurrentWork> works, float* workspace) {
  int64_t pieces = 0, room = 0;
  for (const RecurrentWork& work : works) {
    pieces += work.pieces;
    room = std::max(room, odd_lines(work.room));
  }
  float* const slots = Room(workspace).take(0);
  parallel_slots(pieces, [&](int64_t piece, int slot) {
    const RecurrentWork* work = works.data();
    while (piece >= work->pieces) piece -= work++->pieces;
    work->run(work->pass, piece, slots + slot * room);
  });
}

int64_t recurrent_workspace(int64_t room, int threads) {
  Room all(nullptr);
  all.take(odd_lines(room) * threads);
  return all.taken();
}

int64_t packed_recurrent_kernel(int64_t units, int64_t gates) {
  return HWY_DYNAMIC_DISPATCH(packed_kernel)(units, gates);
}

void pack_recurrent_kernel(const float* kernel, int64_t units, int64_t gates, bool backward, float* to) {
  HWY_DYNAMIC_DISPATCH(pack_kernel)(kernel, units, gates, backward, to);
}

}  // namespace dptrain::kernels::cpu
#endif
