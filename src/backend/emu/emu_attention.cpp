// Attention as cuDNN computes it, in plain loops: probabilities and gradients of scores are rounded to the problem's
// type.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/emu/emu_convolution.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/simt.h"

namespace dptrain::backend::emu {
namespace {

namespace number = ::dptrain::kernels::emu;

/// One head of one row of a tensor: [positions, width].
template <class T>
struct Head {
  T* data;
  std::int64_t stride, width;

  /// `tensor` may be null.
  Head(void* tensor, std::int64_t row, std::int64_t positions, std::int64_t stride_, std::int64_t head,
       std::int64_t width_)
      : data(static_cast<T*>(tensor)), stride(stride_), width(width_) {
    if (data != nullptr) data += row * positions * stride + head * width;
  }
  float get(std::int64_t position, std::int64_t d) const { return number::to_float(data[position * stride + d]); }
  void set(std::int64_t position, std::int64_t d, float value) const {
    data[position * stride + d] = number::from_float<T>(value);
  }
};

template <class T>
float dot(const Head<T>& a, std::int64_t i, const Head<T>& b, std::int64_t j) {
  float sum = 0;
  for (std::int64_t d = 0; d < a.width; ++d) sum += a.get(i, d) * b.get(j, d);
  return sum;
}

template <class T>
float rounded_to(float x) {
  return number::to_float(number::from_float<T>(x));
}

/// The tensors of one head.
template <class T>
struct HeadTensors {
  HeadTensors(const gpu::AttentionProblem& p, const gpu::AttentionMemory& m, std::int64_t row, std::int64_t head)
      : s(p.shape),
        q(m.q, row, s.queries, p.q_stride, head, s.key_dim),
        k(m.k, row, s.keys, p.k_stride, head, s.key_dim),
        v(m.v, row, s.keys, p.v_stride, head, s.value_dim),
        y(m.y, row, s.queries, s.heads * s.value_dim, head, s.value_dim),
        dq(m.dq, row, s.queries, p.q_stride, head, s.key_dim),
        dk(m.dk, row, s.keys, p.k_stride, head, s.key_dim),
        dv(m.dv, row, s.keys, p.v_stride, head, s.value_dim),
        dy(m.dy, row, s.queries, s.heads * s.value_dim, head, s.value_dim),
        stats(m.stats + (row * s.heads + head) * s.queries) {}

  std::int64_t visible(std::int64_t query) const { return s.causal ? std::min(query + 1, s.keys) : s.keys; }
  float score(std::int64_t i, std::int64_t j) const { return s.scale * dot(q, i, k, j); }

  void forward(bool writes_stats) const {
    std::vector<float> shares(static_cast<std::size_t>(s.keys));
    for (std::int64_t i = 0; i < s.queries; ++i) {
      const std::int64_t n = visible(i);
      for (std::int64_t j = 0; j < n; ++j) shares[static_cast<std::size_t>(j)] = score(i, j);
      const float largest = *std::max_element(shares.begin(), shares.begin() + n);
      float sum = 0;
      for (std::int64_t j = 0; j < n; ++j)
        sum += shares[static_cast<std::size_t>(j)] = std::exp(shares[static_cast<std::size_t>(j)] - largest);
      for (std::int64_t d = 0; d < s.value_dim; ++d) {
        float value = 0;
        for (std::int64_t j = 0; j < n; ++j)
          value += rounded_to<T>(shares[static_cast<std::size_t>(j)] / sum) * v.get(j, d);
        y.set(i, d, value);
      }
      if (writes_stats) stats[i] = largest + std::log(sum);
    }
  }

  void backward() const {
    std::vector<float> to_q(static_cast<std::size_t>(s.queries * s.key_dim)),
        to_k(static_cast<std::size_t>(s.keys * s.key_dim)), to_v(static_cast<std::size_t>(s.keys * s.value_dim));
    const auto add = [](std::vector<float>& sums, std::int64_t position, const Head<T>& to, float factor,
                        const Head<T>& from, std::int64_t j) {
      for (std::int64_t d = 0; d < to.width; ++d)
        sums[static_cast<std::size_t>(position * to.width + d)] += factor * from.get(j, d);
    };
    for (std::int64_t i = 0; i < s.queries; ++i) {
      const float delta = dot(dy, i, y, i);
      for (std::int64_t j = 0; j < visible(i); ++j) {
        const float share = std::exp(score(i, j) - stats[i]);
        const float gradient = rounded_to<T>(s.scale * share * (dot(dy, i, v, j) - delta));
        add(to_v, j, dv, rounded_to<T>(share), dy, i);
        add(to_k, j, dk, gradient, q, i);
        add(to_q, i, dq, gradient, k, j);
      }
    }
    write(to_q, s.queries, dq);
    write(to_k, s.keys, dk);
    write(to_v, s.keys, dv);
  }
  static void write(const std::vector<float>& sums, std::int64_t positions, const Head<T>& to) {
    for (std::int64_t i = 0; i < positions; ++i)
      for (std::int64_t d = 0; d < to.width; ++d) to.set(i, d, sums[static_cast<std::size_t>(i * to.width + d)]);
  }

  const kernels::AttentionShape& s;
  Head<T> q, k, v, y, dq, dk, dv, dy;
  float* stats;
};

class EmuAttention final : public gpu::AttentionEngine {
 public:
  explicit EmuAttention(const gpu::AttentionProblem& problem) : problem_(problem) {}

  std::uint64_t workspace() const override { return 256 + static_cast<std::uint64_t>(problem_.shape.keys % 97); }
  std::string name() const override { return "emu loops"; }
  void forward(const gpu::AttentionMemory& memory, gpu::StreamHandle stream) override {
    queue("attention forward", memory, stream,
          [backward = problem_.backward](const auto& head) { head.forward(backward); });
  }
  void backward(const gpu::AttentionMemory& memory, gpu::StreamHandle stream) override {
    queue("attention backward", memory, stream, [](const auto& head) { head.backward(); });
  }

 private:
  template <class Work>
  void queue(const char* name, const gpu::AttentionMemory& memory, gpu::StreamHandle stream, Work work) const {
    static_cast<simt::Queue*>(stream)->push(name, [p = problem_, m = memory, bytes = workspace(), work] {
      std::memset(m.workspace, 0xFF, bytes);
      number::dispatch(p.type, [&](auto tag) {
        for (std::int64_t row = 0; row < p.rows; ++row)
          for (std::int64_t head = 0; head < p.shape.heads; ++head)
            work(HeadTensors<typename decltype(tag)::type>(p, m, row, head));
      });
      std::memset(m.workspace, 0xFF, bytes);
    });
  }

  gpu::AttentionProblem problem_;
};

}  // namespace

gpu::PlannedAttention EmuConvolutionMaker::make_attention(const gpu::AttentionProblem& problem) {
  return {.engine = std::make_unique<EmuAttention>(problem), .reason = ""};
}

}  // namespace dptrain::backend::emu
