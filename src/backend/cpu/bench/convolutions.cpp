#include <algorithm>
#include <set>

#include "backend/cpu/bench/conv_error.h"
#include "backend/cpu/bench/naive_convolution.h"
#include "backend/cpu/bench/suite.h"
#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/conv/conv_key.h"
#include "backend/cpu/conv/conv_trial.h"
#include "backend/cpu/dnnl_support.h"
#include "core/format.h"

namespace dptrain::backend::cpu {
namespace {

constexpr double kFlopsOfRun = 4e9;       // rows of a batch are cut to about this
constexpr double kFlopsOfNaiveRun = 2e8;  // so are rows and lines of the reference's

/// "conv/28x28x1/3x3/32/pool/forward": input, kernel (and stride), filters.
std::string name_of(const ConvChoices::Pass& pass) {
  const ConvShape& s = pass.shape;
  const std::string strides = s.strided() ? fmt::format("s{}", s.stride_h) : "";
  const std::string groups = s.groups == 1 ? "" : fmt::format("/groups{}", s.groups);
  return fmt::format("conv/{}x{}x{}/{}x{}{}{}/{}{}{}/{}", s.in_h, s.in_w, s.in_channels, s.kernel_h, s.kernel_w,
                     strides, s.pad_top > 0 ? "" : "v", s.out_channels, groups, s.pool ? "/pool" : "",
                     name_of(pass.kind));
}

std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// One way to compute a pass, with its tensors.
struct Candidate {
  Dnnl dnnl;
  ConvTrial trial;
  std::unique_ptr<ConvPass> pass;

  Candidate(const ConvChoices::Pass& asked, const std::string& way)
      : trial(asked.kind, with_rows_for(asked.shape, kFlopsOfRun)) {
    for (ChosenConv& one : conv_candidates(asked.kind, trial.shape(), ConvChoice::kAuto, dnnl))
      if (one.name == way) pass = std::move(one.pass);
    trial.make_room(*pass);
  }
};

std::function<double()> error_of(ConvPassKind kind, std::shared_ptr<ConvTrial> trial) {
  return [kind, trial = std::move(trial)] { return conv_error(kind, trial->shape(), trial->tensors()); };
}

Kernel make_candidate(const ConvChoices::Pass& asked, const std::string& way) {
  const auto candidate = std::make_shared<Candidate>(asked, way);
  return {.run = [candidate] { candidate->trial.run(*candidate->pass); },
          .flops = candidate->trial.flops(),
          .error = error_of(asked.kind, std::shared_ptr<ConvTrial>(candidate, &candidate->trial))};
}

Kernel make_naive(const ConvChoices::Pass& asked) {
  const ConvShape shape = few_lines(asked.shape, kFlopsOfNaiveRun);
  const auto trial = std::make_shared<ConvTrial>(asked.kind, shape);
  const std::shared_ptr<ConvPass> pass = make_naive_conv(asked.kind, shape);
  trial->make_room(*pass);
  return {.run = [=] { trial->run(*pass); }, .flops = trial->flops(), .error = error_of(asked.kind, trial)};
}

}  // namespace

void add_convolutions(Suite& suite, const ConvChoices& asked) {
  Dnnl dnnl;
  std::set<std::string> names;  // passes that differ in bias or ReLU alone are one
  for (const ConvChoices::Pass& pass : asked.passes()) {
    const std::string name = name_of(pass);
    if (!names.insert(name).second) continue;
    ConvChoices::Pass one = pass;
    one.shape = with_rows_for(pass.shape, kFlopsOfRun);
    for (const ChosenConv& way : conv_candidates(one.kind, one.shape, ConvChoice::kAuto, dnnl))
      suite.push_back({name + "/" + underscored(way.name),
                       [pass, way = std::string(way.name)] { return make_candidate(pass, way); }});
    suite.push_back({name + "/naive", [pass] { return make_naive(pass); }});
  }
}

}  // namespace dptrain::backend::cpu
