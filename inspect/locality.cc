#include "inspect/locality.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "inspect/attended_examples.h"
#include "lra/experiment.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/attention_weights.h"
#include "models/base/torch_status.h"
#include "models/weight_rows.h"

namespace lra {
namespace {

// Rows in a block of a matrix of weights.
constexpr int64_t kBlockRows = 128;

const double* Values(const at::Tensor& contiguous) { return contiguous.const_data_ptr<double>(); }

// Which queries count: [N] bool, contiguous; undefined = all.
using Counted = at::Tensor;

absl::Span<const bool> SpanOf(const Counted& counted) {
  if (!counted.defined()) return {};
  return absl::MakeConstSpan(counted.const_data_ptr<bool>(), static_cast<size_t>(counted.numel()));
}

std::vector<LocalitySums> SumHeadsLinearly(const WeightFeatures& features,
                                           const std::vector<int64_t>& windows) {
  const at::Tensor query = features.query[0].contiguous(), key = features.key[0].contiguous();
  at::Tensor decay;
  if (features.log_decay.defined())
    decay = features.log_decay[0].expand({query.size(0), query.size(1)}).contiguous();
  std::vector<LocalitySums> heads;
  for (int64_t h = 0; h < query.size(0); ++h) {
    heads.push_back(SumLinearly({.tokens = query.size(1),
                                 .width = query.size(2),
                                 .query = Values(query[h]),
                                 .key = Values(key[h]),
                                 .log_decay = decay.defined() ? Values(decay[h]) : nullptr,
                                 .is_causal = features.is_causal},
                                windows));
  }
  return heads;
}

std::vector<LocalitySums> SumHeadsByRows(const WeightRows& rows,
                                         const std::vector<int64_t>& windows, bool* is_absolute) {
  std::vector<LocalitySums> heads(rows.heads());
  for (int64_t first = 0; first < rows.tokens(); first += kBlockRows) {
    const int64_t count = std::min(kBlockRows, rows.tokens() - first);
    const at::Tensor block = rows.Rows(first, count).contiguous();  // [H, count, N]
    *is_absolute = *is_absolute || (block < 0).any().item<bool>();
    for (int64_t h = 0; h < rows.heads(); ++h) {
      const absl::Span<const double> weights(Values(block[h]), count * rows.tokens());
      const LocalitySums sums = SumRows(weights, rows.tokens(), first, windows);
      heads[h].windows = sums.windows;
      heads[h].values.insert(heads[h].values.end(), sums.values.begin(), sums.values.end());
    }
  }
  return heads;
}

// What one run adds up to.
class Measurement {
 public:
  explicit Measurement(const std::vector<int64_t>& windows) : windows_(windows) {}

  absl::Status Add(int64_t layer, const Attention& attention, const AttentionInput& input) {
    LRA_ASSIGN_OR_RETURN(const WeightRows rows, WeightRows::Create(attention, input));
    const bool is_linear = rows.features() && !rows.features()->has_negative_weights;
    const std::vector<LocalitySums> sums = is_linear
                                               ? SumHeadsLinearly(*rows.features(), windows_)
                                               : SumHeadsByRows(rows, windows_, &is_absolute_);
    std::vector<double> ranks;
    if (rows.has_low_rank() || rows.tokens() <= kMaxRankTokens) {
      LRA_ASSIGN_OR_RETURN(const at::Tensor values, rows.SingularValues());
      for (int64_t h = 0; h < values.size(0); ++h) {
        const at::Tensor own = values[h].contiguous();
        ranks.push_back(EffectiveRank({Values(own), static_cast<size_t>(own.numel())}));
      }
    }
    bool looks_back = false;
    const Counted counted = input.keep.defined() ? input.keep[0].contiguous() : Counted();
    for (size_t h = 0; h < sums.size(); ++h) {
      std::optional<Locality> locality = MeanOverQueries(sums[h], SpanOf(counted));
      if (!locality) continue;
      if (!ranks.empty()) locality->effective_rank = ranks[h];
      looks_back |= locality->mean_distance_tokens > 0;
      heads_[{layer, static_cast<int64_t>(h)}].push_back(*std::move(locality));
    }
    // Tokens that see themselves alone are not kept from what comes after them.
    const bool is_causal =
        input.causal || (looks_back && attention.traits().causality == Causality::kAlways);
    if (layer == 0) AddUniform(rows.tokens(), counted, is_causal);
    return absl::OkStatus();
  }

  // Fills what was measured; FailedPrecondition if nothing was.
  absl::Status Fill(ModelLocality* model) const {
    if (heads_.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(model->run, ": no query of these examples gives any key a weight"));
    }
    std::vector<Locality> means;
    for (const auto& [place, localities] : heads_) {
      means.push_back(MeanLocality(localities));
      model->heads.push_back({place.first, place.second, means.back()});
    }
    model->windows = windows_;
    model->is_absolute = is_absolute_;
    model->mean = MeanLocality(means);
    model->uniform = MeanLocality(uniform_);
    model->mean_tokens = tokens_sum_ / static_cast<double>(uniform_.size());
    return absl::OkStatus();
  }

 private:
  // The same of equal weights on all real tokens that a query may see.
  void AddUniform(int64_t tokens, const Counted& counted, bool is_causal) {
    const at::Tensor ones = at::ones({tokens}, at::kDouble);
    const at::Tensor key = counted.defined() ? counted.to(at::kDouble) : ones;
    const HeadFeatures equal = {.tokens = tokens,
                                .width = 1,
                                .query = Values(ones),
                                .key = Values(key),
                                .is_causal = is_causal};
    std::optional<Locality> locality =
        MeanOverQueries(SumLinearly(equal, windows_), SpanOf(counted));
    if (!locality) return;
    if (!is_causal) locality->effective_rank = 1;
    uniform_.push_back(*std::move(locality));
    tokens_sum_ += key.sum().item<double>();
  }

  const std::vector<int64_t> windows_;
  std::map<std::pair<int64_t, int64_t>, std::vector<Locality>> heads_;  // by layer and head
  std::vector<Locality> uniform_;
  double tokens_sum_ = 0;
  bool is_absolute_ = false;
};

// Whether the model's attentions give their weights row by row, so that no length is too long. The
// error of CheckHasWeights.
absl::StatusOr<bool> AreByRows(const OpenedCheckpoint& opened) {
  const c10::NoGradGuard no_grad;
  bool are_by_rows = true;
  absl::Status status;
  VisitExample(opened, 0, [&](int64_t, const Attention& attention, const AttentionInput& input) {
    status.Update(CheckHasWeights(attention));
    are_by_rows = are_by_rows && WeightRows::IsByRows(attention, input);
  });
  LRA_RETURN_IF_ERROR(status);
  return are_by_rows;
}

absl::Status AddExamples(const LocalityRequest& request, const OpenedCheckpoint& opened,
                         const std::vector<int64_t>& examples, Measurement* measurement) {
  const c10::NoGradGuard no_grad;
  Progress progress({.label = "locality",
                     .unit = "examples",
                     .total = static_cast<int64_t>(examples.size()),
                     .quiet = request.quiet});
  int64_t done = 0;
  for (const int64_t example : examples) {
    absl::Status status;
    VisitExample(opened, example,
                 [&](int64_t layer, const Attention& attention, const AttentionInput& input) {
                   if (status.ok()) status = measurement->Add(layer, attention, input);
                 });
    LRA_RETURN_IF_ERROR(status);
    progress.Update(++done);
  }
  progress.Finish();
  return absl::OkStatus();
}

absl::Status CheckWindows(const std::vector<int64_t>& windows) {
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i] < 0 || (i > 0 && windows[i] <= windows[i - 1])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--within: has ", windows[i], "; distances must be at least 0 and rise, e.g. 1 4 16"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelLocality> MeasureLocality(const LocalityRequest& request) {
  LRA_RETURN_IF_ERROR(CheckWindows(request.windows));
  LRA_ASSIGN_OR_RETURN(const Look look, OpenLook(request));
  const OpenedCheckpoint& opened = look.opened;
  LRA_RETURN_IF_ERROR(CheckHasWeights(opened.state.config()));
  bool are_by_rows = false;
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    LRA_ASSIGN_OR_RETURN(are_by_rows, AreByRows(opened));
    return absl::OkStatus();
  }));
  const int64_t max_tokens = request.max_tokens.value_or(are_by_rows ? 0 : kMaxDenseTokens);
  LRA_ASSIGN_OR_RETURN(const ChosenExamples chosen,
                       ChooseExamples({request.examples, std::nullopt, max_tokens}, opened));
  LRA_RETURN_IF_ERROR(LogLook(request, look));
  Measurement measurement(request.windows);
  LRA_RETURN_IF_ERROR(
      CatchTorch([&] { return AddExamples(request, opened, chosen.examples, &measurement); }));
  ModelLocality model;
  model.run = request.checkpoint;
  model.method = MethodOf(opened.state.config());
  model.examples = static_cast<int64_t>(chosen.examples.size());
  model.passed_over = chosen.passed_over;
  LRA_RETURN_IF_ERROR(measurement.Fill(&model));
  return model;
}

}  // namespace lra
