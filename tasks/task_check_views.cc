#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/id_content.h"
#include "datasets/loader.h"
#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "datasets/split_rule.h"
#include "datasets/split_view.h"
#include "lra/status_macros.h"
#include "tasks/task_check.h"

namespace lra::internal {
namespace {

constexpr int64_t kExamples = 64;  // how many examples of a split are compared one by one
constexpr const char* kSplits[] = {"train", "validation", "test"};

absl::Status Wrong(absl::string_view what) { return absl::DataLossError(what); }

bool IsIn(const std::vector<std::string>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether ids, lengths and labels of a view are what its spec promises.
absl::Status CheckRange(const SplitView& view) {
  std::vector<int32_t> ids;
  std::vector<float> values;
  const TaskSpec& spec = view.spec();
  for (int64_t i = 0; i < std::min(view.size(), kExamples); ++i) {
    if (view.label(i) < 0 || view.label(i) >= spec.classes()) {
      return Wrong(absl::StrCat(view.name(), " ", i, " has label ", view.label(i)));
    }
    for (int column = 0; column < (spec.is_pair() ? 2 : 1); ++column) {
      if (view.length_tokens(i, column) > spec.max_length_tokens()) {
        return Wrong(absl::StrCat(view.name(), " ", i, " has ", view.length_tokens(i, column),
                                  " tokens, more than ", spec.max_length_tokens()));
      }
      if (spec.is_real()) {
        view.ReadReal(i, &values);
        continue;
      }
      view.Read(i, &ids, column);
      for (int32_t id : ids) {
        if (id >= FirstId(spec) && id < spec.vocabulary_size()) continue;
        return Wrong(
            absl::StrCat(view.name(), " ", i, " has id ", id, " of ", spec.vocabulary_size()));
      }
    }
  }
  return absl::OkStatus();
}

// One example under two views.
struct Compared {
  std::vector<int32_t> before, after;
};
using Expectation = std::function<bool(const Compared&)>;

// Expects that sizes and labels are equal and that every example is as expected.
absl::Status Compare(const Dataset& data, const DataView& base, const DataView& changed,
                     absl::string_view what, const Expectation& expected) {
  for (const char* split : kSplits) {
    LRA_ASSIGN_OR_RETURN(const SplitView before, SplitView::Create(data, split, base));
    LRA_ASSIGN_OR_RETURN(const SplitView after, SplitView::Create(data, split, changed));
    LRA_RETURN_IF_ERROR(CheckRange(after));
    if (before.size() != after.size()) return Wrong(absl::StrCat(what, " changes a split's size"));
    Compared example;
    for (int64_t i = 0; i < std::min(before.size(), kExamples); ++i) {
      if (before.label(i) != after.label(i)) return Wrong(absl::StrCat(what, " changes a label"));
      for (int column = 0; column < (data.spec().is_pair() ? 2 : 1); ++column) {
        before.Read(i, &example.before, column);
        after.Read(i, &example.after, column);
        if (expected(example)) continue;
        return Wrong(absl::StrCat(what, ": ", split, " ", i, " is not as it should be"));
      }
    }
  }
  return absl::OkStatus();
}

bool IsPrefix(const std::vector<int32_t>& part, const std::vector<int32_t>& whole, size_t cut) {
  return part.size() == std::min(whole.size(), cut) &&
         std::equal(part.begin(), part.end(), whole.begin());
}

absl::Status CheckCut(const Dataset& data, const DataView& base) {
  DataView cut = base;
  cut.set_max_length_tokens(7);
  return Compare(data, base, cut, "max_length_tokens=7",
                 [](const Compared& x) { return IsPrefix(x.after, x.before, 7); });
}

absl::Status CheckEndMark(const Dataset& data, const DataView& base) {
  DataView marked = base;
  marked.set_end_mark(true);
  marked.set_max_length_tokens(base.max_length_tokens() + 1);
  return Compare(data, base, marked, "end_mark", [](const Compared& x) {
    return x.after.size() == x.before.size() + 1 && IsPrefix(x.before, x.after, x.before.size()) &&
           std::count(x.after.begin(), x.after.end(), x.after.back()) == 1;
  });
}

absl::Status CheckBrackets(const Dataset& data, const DataView& base) {
  DataView none = base;
  none.set_brackets(DataView::NONE);
  const int32_t close = data.spec().close_bracket_id();
  return Compare(data, base, none, "brackets=NONE", [close](Compared x) {
    std::erase(x.before, close);
    return x.before == x.after;
  });
}

absl::Status CheckLiterals(const Dataset& data, const DataView& base) {
  DataView decoded = base;
  decoded.set_literals(DataView::DECODED);
  // Ids of bytes: 'b' has id 99, the quotes have 40 and 35.
  return Compare(data, base, decoded, "literals=DECODED", [](const Compared& x) {
    const bool literal = x.before.size() > 2 && x.before[0] == 'b' + 1 &&
                         (x.before[1] == '\'' + 1 || x.before[1] == '"' + 1);
    return literal ? x.after.size() + 2 <= x.before.size() : x.after == x.before;
  });
}

absl::Status CheckUnit(const Dataset& data, const DataView& base) {
  DataView points = base;
  points.set_unit(DataView::CODE_POINT);
  points.set_min_code_point_count(1);
  return Compare(data, base, points, "unit=CODE_POINT",
                 [](const Compared& x) { return x.after.size() <= x.before.size(); });
}

absl::Status CheckReal(const Dataset& data, const DataView& base) {
  DataView real = base;
  real.set_pixels(DataView::REAL);
  real.set_real_mean(0.25f);
  real.set_real_stddev(0.5f);
  LRA_ASSIGN_OR_RETURN(const SplitView ids, SplitView::Create(data, "train", base));
  LRA_ASSIGN_OR_RETURN(const SplitView values, SplitView::Create(data, "train", real));
  std::vector<int32_t> id;
  std::vector<float> value;
  for (int64_t i = 0; i < std::min(ids.size(), kExamples); ++i) {
    ids.Read(i, &id);
    values.ReadReal(i, &value);
    for (size_t j = 0; j < id.size(); ++j) {
      if (std::abs(value[j] - (id[j] / 255.0 - 0.25) / 0.5) < 1e-6) continue;
      return Wrong(absl::StrCat("pixels=REAL: train ", i, ", pixel ", j, " is ", value[j]));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPixels(const Dataset& data, const DataView& base) {
  DataView plus_one = base;
  plus_one.set_pixels(DataView::IDS_PLUS_ONE);
  LRA_RETURN_IF_ERROR(Compare(data, base, plus_one, "pixels=IDS_PLUS_ONE", [](Compared x) {
    for (int32_t& id : x.before) ++id;
    return x.before == x.after;
  }));
  return CheckReal(data, base);
}

// The two rules round differently, so they differ by at most one.
absl::Status CheckGrey(const Dataset& data, const DataView& base) {
  DataView pillow = base;
  pillow.set_grey(DataView::PILLOW);
  return Compare(data, base, pillow, "grey=PILLOW", [](const Compared& x) {
    return std::equal(x.before.begin(), x.before.end(), x.after.begin(), x.after.end(),
                      [](int32_t a, int32_t b) { return std::abs(a - b) <= 1; });
  });
}

// Whether what is hidden of the example is the same in evaluation beside the next one.
bool HidesTheSame(const SplitView& split, int64_t example, const HostBatch& alone) {
  const HostBatch both = MakeBatch(split, {example, (example + 1) % split.size()});
  return std::equal(alone.hidden.begin(), alone.hidden.end(), both.hidden.begin());
}

// Whether the view asks for the tokens that the data does not give, as its target says.
absl::Status CheckAskedFor(const Dataset& data, const SplitView& split) {
  const int64_t place = PromptPlace(data.manifest().extra_columns());
  const MappedSplit& stored = *data.split(split.stored_split());
  const bool hides = split.spec().hides_tokens();
  Guessable example;
  for (int64_t i = 0; i < std::min(split.size(), kExamples); ++i) {
    split.Read(i, &example.ids);
    if (place >= 0) example.given = stored.Extra(split.stored_index(i))[place];
    const HostBatch batch = MakeBatch(split, {i});
    const bool is_right = hides ? AsksForTheHidden(batch, example, MaskId(split.spec())) &&
                                      HidesTheSame(split, i, batch)
                                : AsksForTheNext(batch, example);
    if (is_right) continue;
    return Wrong(absl::StrCat("target=", hides ? "MASKED" : "NEXT", ": ", split.name(), " ", i,
                              " (", example.ids.size(), " tokens, ", example.given,
                              " given) shows or asks for other tokens than it should"));
  }
  return absl::OkStatus();
}

absl::Status CheckTargetKinds(const Dataset& data, const DataView& base) {
  for (const DataView::Target target : {DataView::NEXT, DataView::MASKED}) {
    DataView asked = base;
    asked.set_target(target);
    LRA_RETURN_IF_ERROR(Compare(data, base, asked,
                                absl::StrCat("target=", DataView::Target_Name(target)),
                                [](const Compared& x) { return x.before == x.after; }));
    for (const char* split : kSplits) {
      LRA_ASSIGN_OR_RETURN(const SplitView view, SplitView::Create(data, split, asked));
      LRA_RETURN_IF_ERROR(CheckAskedFor(data, view));
    }
  }
  return absl::OkStatus();
}

// Whether as many tokens are given. Other extra columns say how an example was generated, which no
// raw form need tell.
bool GiveTheSame(const EncodedExample& a, const EncodedExample& b, int64_t prompt_place) {
  return prompt_place < 0 || (static_cast<int64_t>(b.extra.size()) > prompt_place &&
                              a.extra[prompt_place] == b.extra[prompt_place]);
}

}  // namespace

bool AsksForTheNext(const HostBatch& batch, const Guessable& example) {
  const auto& [ids, given] = example;
  return batch.tokens == ids && batch.hidden.empty() &&
         batch.prompts == std::vector<int32_t>{static_cast<int32_t>(given)} &&
         std::equal(batch.labels.begin(), batch.labels.end(), ids.begin() + given, ids.end());
}

bool AsksForTheHidden(const HostBatch& batch, const Guessable& example, int32_t mask) {
  const auto& [ids, given] = example;
  if (batch.hidden.size() != ids.size() || !batch.prompts.empty()) return false;
  std::vector<int32_t> shown = ids, targets;
  for (size_t n = 0; n < ids.size(); ++n) {
    if (batch.hidden[n] == 0) continue;
    if (n < given) return false;
    targets.push_back(ids[n]);
    shown[n] = mask;
  }
  const bool has_some = !targets.empty() || given == ids.size();
  return has_some && batch.tokens == shown && batch.labels == targets;
}

absl::Status CheckRoundTrips(const Task& task, const Dataset& data) {
  const int64_t prompt_place = PromptPlace(data.manifest().extra_columns());
  for (const ManifestSplit& claimed : data.manifest().splits()) {
    const MappedSplit& split = *data.split(claimed.name());
    for (int64_t i = 0; i < std::min(split.examples, kExamples); ++i) {
      const EncodedExample example = split.Read(i);
      LRA_ASSIGN_OR_RETURN(const RawExample raw, task.ToRaw(example));
      LRA_ASSIGN_OR_RETURN(const EncodedExample again, task.Encode(raw));
      if (again.tokens == example.tokens && again.tokens_b == example.tokens_b &&
          again.label == example.label && GiveTheSame(example, again, prompt_place)) {
        continue;
      }
      return Wrong(absl::StrCat(split.name, " ", i, " changes on its way through the raw form"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSplits(const Dataset& data) {
  for (DataView::Split rule : PossibleSplitRules(data.manifest())) {
    DataView view;
    view.set_split(rule);
    std::set<std::pair<std::string, int64_t>> seen;
    int64_t taken = 0;
    for (const char* split : kSplits) {
      const bool repeats = rule == DataView::TEST_AS_VALIDATION && split == kSplits[1];
      if (FindSplit(data.manifest(), StoredSplit(data.manifest(), rule, split)) == nullptr)
        continue;
      LRA_ASSIGN_OR_RETURN(const SplitView part, SplitView::Create(data, split, view));
      LRA_RETURN_IF_ERROR(CheckRange(part));
      for (int64_t i = 0; i < part.size() && !repeats; ++i) {
        ++taken;
        if (seen.emplace(part.stored_split(), part.stored_index(i)).second) continue;
        return Wrong(absl::StrCat("split=", DataView::Split_Name(rule), ": example ",
                                  part.stored_index(i), " of ", part.stored_split(),
                                  " is in two splits"));
      }
    }
    int64_t stored = 0;
    for (const ManifestSplit& split : data.manifest().splits()) stored += split.examples();
    if (taken == stored) continue;
    return Wrong(absl::StrCat("split=", DataView::Split_Name(rule), " takes ", taken, " of ",
                              stored, " examples"));
  }
  return absl::OkStatus();
}

absl::Status CheckViews(const Dataset& data) {
  LRA_ASSIGN_OR_RETURN(const DataView base, ResolveView(data.manifest(), DataView()));
  const std::vector<std::string> fields = ViewFields(data.spec(), base);
  struct FieldCheck {
    absl::string_view field;
    absl::Status (*check)(const Dataset&, const DataView&);
  };
  constexpr FieldCheck kChecks[] = {{"end_mark", CheckEndMark},  {"brackets", CheckBrackets},
                                    {"literals", CheckLiterals}, {"unit", CheckUnit},
                                    {"pixels", CheckPixels},     {"grey", CheckGrey}};
  if (!IsImage(data.spec())) LRA_RETURN_IF_ERROR(CheckCut(data, base));
  // Pairs have no order in which to guess their tokens.
  if (!data.spec().is_pair()) LRA_RETURN_IF_ERROR(CheckTargetKinds(data, base));
  for (const FieldCheck& check : kChecks) {
    if (IsIn(fields, check.field)) LRA_RETURN_IF_ERROR(check.check(data, base));
  }
  return absl::OkStatus();
}

}  // namespace lra::internal
