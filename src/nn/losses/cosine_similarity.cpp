#include "nn/losses/cosine_similarity.h"

#include "core/format.h"
#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kCosineSimilarity =
    loss<CosineSimilaritySpec>("CosineSimilarity", "cosine_similarity")
        .key(key("axis", &CosineSimilaritySpec::axis))
        .misfit([](const CosineSimilaritySpec& spec, const LossFit& fit) -> std::string {
          if (spec.axis == -1 || spec.axis == fit.output.rank()) return "";  // counted with the batch's axis
          return fmt::format("axis {} is not supported, only the last axis is: -1 or {}", spec.axis, fit.output.rank());
        });

}  // namespace
}  // namespace dptrain::nn
