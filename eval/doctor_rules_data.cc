// Rules about the data: labels, splits, order, view.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/doctor_rules.h"

namespace lra::internal {
namespace {

// Up to this share of wrong labels by the oracle, all are taken for right.
constexpr double kWrongShare = 0.001;
constexpr double kOneRuleShare = 0.95;
// Shuffled labels agree with the true ones as often as independent labels, within this margin.
constexpr double kIndependence = 0.1;
constexpr double kLeakedShare = 0.05;
constexpr char kVerify[] = "`lra data verify DATA` names the examples; prepare the data anew";

// Counts of stored labels by true label.
struct LabelTable {
  const std::vector<int64_t>& counts;
  int64_t classes;

  int64_t at(int64_t stored, int64_t truth) const { return counts[stored * classes + truth]; }
  double total() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }

  // The share of examples with (stored - true) mod C = shift.
  double ShareOfShift(int64_t shift) const {
    int64_t sum = 0;
    for (int64_t truth = 0; truth < classes; ++truth) sum += at((truth + shift) % classes, truth);
    return static_cast<double>(sum) / total();
  }
  // The share of examples whose stored label is the commonest of their true label.
  double ShareOfRenaming() const {
    int64_t sum = 0;
    for (int64_t truth = 0; truth < classes; ++truth) {
      int64_t most = 0;
      for (int64_t stored = 0; stored < classes; ++stored) most = std::max(most, at(stored, truth));
      sum += most;
    }
    return static_cast<double>(sum) / total();
  }
  // How often labels would agree if they were independent.
  double IndependentAgreement() const {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      double stored = 0, truth = 0;
      for (int64_t other = 0; other < classes; ++other) {
        stored += static_cast<double>(at(c, other));
        truth += static_cast<double>(at(other, c));
      }
      sum += stored / total() * (truth / total());
    }
    return sum;
  }
};

Finding LabelFinding(const char* cause, std::string observed, std::string expected) {
  return {.cause = cause,
          .strength = Finding::kProven,
          .observed = std::move(observed),
          .expected = std::move(expected),
          .landmark = "the task's oracle, which evaluates labels anew",
          .fix = kVerify};
}

// The sum of (deviation squared / expected) of counts drawn with these shares.
double ChiSquare(const google::protobuf::RepeatedField<int64_t>& counts,
                 const std::vector<int64_t>& labels) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double all = std::accumulate(labels.begin(), labels.end(), 0.0);
  double sum = 0;
  for (int i = 0; i < counts.size(); ++i) {
    // At least half an example, so that a class that should not occur counts.
    const double expected = std::max(0.5, total * static_cast<double>(labels[i]) / all);
    sum += std::pow(static_cast<double>(counts[i]) - expected, 2) / expected;
  }
  return sum;
}

// Far above what chance gives (mean df, variance 2 df), because batches of equal lengths are not a
// random draw.
double ChiSquareLimit(size_t classes) {
  const double df = static_cast<double>(classes) - 1;
  return df + 12 * std::sqrt(2 * df);
}

}  // namespace

void CheckLabels(const Symptoms& s, Findings* findings) {
  if (!s.facts->data || s.facts->data->label_table.empty()) return;
  const int64_t classes = s.facts->run.spec().classes();
  const LabelTable table{s.facts->data->label_table, classes};
  const double agreement = table.ShareOfShift(0);
  if (agreement >= 1 - kWrongShare) return;
  const std::string checked =
      absl::StrCat(" of ", static_cast<int64_t>(table.total()), " training labels");
  for (int64_t shift = 1; shift < classes; ++shift) {
    if (table.ShareOfShift(shift) < kOneRuleShare) continue;
    findings->push_back(LabelFinding(kLabelShift,
                                     absl::StrCat(Percent(table.ShareOfShift(shift)), checked,
                                                  " are (true label + ", shift, ") mod ", classes),
                                     "every label is the true one"));
    return;
  }
  const std::string observed = absl::StrCat(Percent(agreement), checked, " are the true ones");
  // Random noise leaves each class's commonest label as it was, and a renaming does not explain it.
  const double renamed = table.ShareOfRenaming();
  if (renamed >= kOneRuleShare && renamed - agreement > (1 - agreement) / 2) {
    findings->push_back(LabelFinding(
        kLabelShift, absl::StrCat(observed, "; the others follow one renaming of the classes"),
        "every label is the true one"));
    return;
  }
  const double chance = table.IndependentAgreement();
  const std::string expected = absl::StrCat(
      "100 %; labels that know nothing of their examples would agree in ", Percent(chance));
  const bool is_shuffled = std::abs(agreement - chance) < kIndependence;
  findings->push_back(LabelFinding(is_shuffled ? kShuffledLabels : kWrongData, observed, expected));
}

void CheckSplits(const Symptoms& s, Findings* findings) {
  if (s.facts->data && s.facts->data->held_out_examples > 0) {
    const DataFacts& data = *s.facts->data;
    const double share =
        static_cast<double>(data.leaked_examples) / static_cast<double>(data.held_out_examples);
    if (share >= kLeakedShare) {
      findings->push_back(
          {.cause = kWrongSplit,
           .strength = Finding::kProven,
           .observed = absl::StrCat(data.leaked_examples, " of ", data.held_out_examples,
                                    " validation and test examples (", Percent(share),
                                    ") stand in the training split too"),
           .expected = "none, or a handful",
           .landmark = "the examples' digests",
           .fix = "prepare the data anew, or choose another view.split; scores of this run say "
                  "nothing"});
    }
  }
  if (!s.rules || s.config().view().split() == s.rules->view().split()) return;
  if (s.config().view().split() != DataView::TEST_AS_VALIDATION) return;
  findings->push_back(
      {.cause = kWrongSplit,
       .strength = Finding::kLikely,
       .observed = "view.split is TEST_AS_VALIDATION: the checkpoint is selected "
                   "on the test split",
       .expected = DataView::Split_Name(s.rules->view().split()),
       .landmark = s.config().protocol(),
       .fix = SetFlag("view.split", DataView::Split_Name(s.rules->view().split()))});
}

void CheckLabelBalance(const Symptoms& s, Findings* findings) {
  if (!s.facts->data || !s.facts->data->is_same) return;  // other data has other labels
  const auto& curve = s.facts->run.curve();
  const size_t classes = s.labels.size();
  std::vector<double> distances;
  google::protobuf::RepeatedField<int64_t> sums;
  sums.Resize(static_cast<int>(classes), 0);
  for (const CurvePoint& point : curve) {
    if (static_cast<size_t>(point.label_examples_size()) != classes) continue;
    distances.push_back(ChiSquare(point.label_examples(), s.labels));
    for (size_t i = 0; i < classes; ++i) {
      sums[static_cast<int>(i)] += point.label_examples(static_cast<int>(i));
    }
  }
  if (distances.empty()) return;
  std::nth_element(distances.begin(), distances.begin() + distances.size() / 2, distances.end());
  const double median = distances[distances.size() / 2], limit = ChiSquareLimit(classes);
  const double total = ChiSquare(sums, s.labels);
  if (median <= limit && total <= limit) return;
  // Points that deviate but add up to the data mean that the data is in a bad order.
  const bool is_order = total <= limit;
  findings->push_back(
      {.cause = is_order ? kDataOrder : kWrongData,
       .strength = Finding::kLikely,
       .observed = absl::StrFormat(
           "labels met in training: chi-square %.0f of all points together, %.0f of the median "
           "point",
           total, median),
       .expected = absl::StrFormat("about %d (at most %.0f) where batches are drawn from the "
                                   "training split",
                                   static_cast<int>(classes) - 1, limit),
       .landmark = "label counts of the manifest",
       .fix = is_order
                  ? absl::StrCat(SetFlag("train.shuffle", "EXAMPLES"),
                                 "; a smaller train.bucket_window_batches")
                  : "labels that reach the loss are not those of the data: look at the loader"});
}

void CheckBrackets(const Symptoms& s, Findings* findings) {
  const bool by_view = s.config().view().brackets() == DataView::NONE;
  const bool by_data = s.facts->data && s.facts->data->bracket_share < 0.5;
  if (!by_view && !by_data) return;
  const bool is_rule = s.rules && s.rules->view().brackets() == DataView::NONE;
  // Like that of pixels, a protocol's own rule explains only a run that learns nothing.
  if (is_rule && by_view && (!s.is_stuck || s.is_early)) return;
  std::string observed = by_view ? "view.brackets is NONE" : "the stored data has no brackets";
  if (by_data) {
    absl::StrAppendFormat(&observed,
                          "; %s of the training examples show a closing bracket; %.0f of %.0f "
                          "stored tokens are left",
                          Percent(s.facts->data->bracket_share), s.facts->data->tokens_per_example,
                          s.facts->data->stored_tokens_per_example);
  }
  findings->push_back({.cause = kDroppedBrackets,
                       .strength = is_rule   ? Finding::kHint
                                   : by_data ? Finding::kProven
                                             : Finding::kLikely,
                       .observed = observed,
                       .expected = "CLOSE_ONLY: without brackets trees are ambiguous",
                       .landmark = "google-research/long-range-arena, issues 6 and 20",
                       .fix = SetFlag("view.brackets", "CLOSE_ONLY")});
}

void CheckPixels(const Symptoms& s, Findings* findings) {
  if (!s.config().view().zero_is_padding()) return;
  const bool is_rule = s.rules && s.rules->view().zero_is_padding();
  // If the protocol has this rule, it explains only a run that learns nothing.
  if (is_rule && (!s.is_stuck || s.is_early)) return;
  std::string observed = "view.zero_is_padding is on: attention and pooling skip black pixels";
  if (s.facts->data) {
    absl::StrAppend(&observed, "; they are ", Percent(s.facts->data->zero_share),
                    " of the training images");
  }
  findings->push_back(
      {.cause = kMaskedPixels,
       .strength = is_rule ? Finding::kHint : Finding::kLikely,
       .observed = observed,
       .expected = "every pixel is an input",
       .landmark = s.config().protocol(),
       .fix = absl::StrCat(SetFlag("view.zero_is_padding", "false"), ", or ",
                           SetFlag("view.pixels", "IDS_PLUS_ONE"), " as fair has it")});
}

}  // namespace lra::internal
