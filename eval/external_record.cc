#include "eval/external_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/npy.h"
#include "datasets/split_view.h"
#include "eval/data_identity.h"
#include "eval/machine.h"
#include "eval/metric.h"
#include "eval/row_record.h"
#include "eval/run_record.h"
#include "lra/config.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr size_t kMaxNameLength = 64;

// --- Reading ---

absl::Status WrongUse(absl::string_view path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

bool IsFloat(NpyType type) { return type == NpyType::kFloat32 || type == NpyType::kFloat64; }

absl::Status CheckShape(absl::string_view path, const NpyHeader& header, const TaskSpec& spec,
                        absl::string_view split, int64_t examples) {
  const std::string held = absl::StrCat("holds ", NpyDescr(header.type), " of shape (",
                                        absl::StrJoin(header.shape, ", "), ")");
  const bool fits = IsFloat(header.type) ? header.shape.size() == 2 : header.shape.size() == 1;
  if (!fits) {
    return WrongUse(path, absl::StrCat(held, "; expected logits [examples, ", spec.classes(),
                                       "] of float32 or float64, or classes [examples] of an "
                                       "integer type"));
  }
  if (header.shape[0] != examples) {
    return WrongUse(path, absl::StrCat(held, ": ", header.shape[0], " examples; the ", split,
                                       " split of ", spec.name(), " has ", examples));
  }
  if (!IsFloat(header.type) || header.shape[1] == spec.classes()) return absl::OkStatus();
  return WrongUse(path, absl::StrCat(held, ": ", header.shape[1], " logits an example; ",
                                     spec.name(), " has ", spec.classes(), " classes"));
}

template <class T>
absl::Status CopyLogits(absl::string_view path, absl::Span<const T> values, int64_t classes,
                        std::vector<float>* logits) {
  for (size_t i = 0; i < values.size(); ++i) {
    (*logits)[i] = static_cast<float>(values[i]);
    if (std::isfinite((*logits)[i])) continue;
    return WrongUse(path, absl::StrCat("row ", i / classes, ", class ", i % classes, ": the logit ",
                                       values[i], " is not a finite float32"));
  }
  return absl::OkStatus();
}

template <class T>
absl::Status MarkClasses(absl::string_view path, absl::Span<const T> values, int64_t classes,
                         std::vector<float>* logits) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::cmp_less(values[i], 0) || std::cmp_greater_equal(values[i], classes)) {
      return WrongUse(
          path, absl::StrCat("row ", i, ": class ", values[i], " is outside 0 .. ", classes - 1));
    }
    (*logits)[i * classes + static_cast<size_t>(values[i])] = 1;
  }
  return absl::OkStatus();
}

template <class T>
absl::Status ReadAs(absl::string_view path, const MappedNpy& column, int64_t classes,
                    std::vector<float>* logits) {
  if constexpr (std::is_floating_point_v<T>) {
    return CopyLogits(path, column.values<T>(), classes, logits);
  } else {
    return MarkClasses(path, column.values<T>(), classes, logits);
  }
}

absl::Status ReadValues(absl::string_view path, const MappedNpy& column, int64_t classes,
                        std::vector<float>* logits) {
  switch (column.header().type) {
    case NpyType::kFloat32:
      return ReadAs<float>(path, column, classes, logits);
    case NpyType::kFloat64:
      return ReadAs<double>(path, column, classes, logits);
    case NpyType::kInt8:
      return ReadAs<int8_t>(path, column, classes, logits);
    case NpyType::kInt16:
      return ReadAs<int16_t>(path, column, classes, logits);
    case NpyType::kInt32:
      return ReadAs<int32_t>(path, column, classes, logits);
    case NpyType::kInt64:
      return ReadAs<int64_t>(path, column, classes, logits);
    case NpyType::kUint8:
      return ReadAs<uint8_t>(path, column, classes, logits);
    case NpyType::kUint16:
      return ReadAs<uint16_t>(path, column, classes, logits);
    case NpyType::kUint32:
      return ReadAs<uint32_t>(path, column, classes, logits);
    case NpyType::kUint64:
      return ReadAs<uint64_t>(path, column, classes, logits);
  }
  return absl::InternalError(absl::StrCat(path, ": unknown type"));
}

// --- Writing ---

absl::Status CheckName(const std::string& name, const std::vector<std::string>& taken) {
  const bool is_plain = !name.empty() && name.size() <= kMaxNameLength &&
                        absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
                        std::all_of(name.begin(), name.end(), [](unsigned char c) {
                          return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
                        });
  if (!is_plain) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--name \"", name, "\": should be 1 to ", kMaxNameLength,
        " letters, digits, - _ or ., the first a letter or digit: it names a folder and a row"));
  }
  if (std::find(taken.begin(), taken.end(), name) == taken.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--name \"", name,
                   "\" is an attention or a baseline of this program; a row of other code "
                   "needs a name of its own, e.g. my_",
                   name));
}

std::string Describe(const ExternalRun& run, bool only_labels) {
  return absl::StrCat(run.description.empty() ? "predictions of other code" : run.description,
                      only_labels ? " (classes only: no loss)" : "");
}

// Classes without probabilities have no loss, nor has any example.
void ForgetTotals(SplitResult* result) {
  for (auto& [name, total] : *result->mutable_sums()->mutable_totals())
    total = std::numeric_limits<double>::quiet_NaN();
  auto* scores = result->mutable_example_scores();
  for (int i = scores->size() - 1; i >= 0; --i) {
    const auto metric = FindMetric(scores->Get(i).metric());
    if (!metric.ok() || !std::isfinite((*metric)->Value(result->sums())))
      scores->erase(scores->begin() + i);
  }
}

absl::Status CheckSameRow(absl::string_view directory, const RunRecord& previous,
                          const RunRecord& record) {
  if (previous.method() == record.method() && previous.seed() == record.seed())
    return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(directory, ": holds the external row ",
                                               previous.method(), ", seed ", previous.seed(),
                                               "; choose another --out"));
}

}  // namespace

absl::StatusOr<ExternalPredictions> ReadPredictions(absl::string_view path, const TaskSpec& spec,
                                                    absl::string_view split, int64_t examples) {
  const absl::StatusOr<MappedNpy> opened = MappedNpy::Open(path);
  if (absl::IsDataLoss(opened.status())) {
    return absl::InvalidArgumentError(absl::StrCat(
        opened.status().message(),
        "; numpy.save(path, numpy.ascontiguousarray(x, dtype=\"<f4\")) writes what is read here"));
  }
  LRA_RETURN_IF_ERROR(opened.status());
  const MappedNpy& column = *opened;
  LRA_RETURN_IF_ERROR(CheckShape(path, column.header(), spec, split, examples));
  ExternalPredictions predictions;
  predictions.logits.resize(examples * spec.classes());
  predictions.only_labels = !IsFloat(column.header().type);
  LRA_RETURN_IF_ERROR(ReadValues(path, column, spec.classes(), &predictions.logits));
  return predictions;
}

absl::StatusOr<ExternalRun> OpenExternalRun(const ExternalRequest& request) {
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(request.data_dir));
  ExternalRun run;
  LRA_ASSIGN_OR_RETURN(run.view, LoadView(manifest.spec().name(), request.view.protocol,
                                          request.view.preset, request.view.sets));
  LRA_ASSIGN_OR_RETURN(
      const Dataset data,
      Dataset::Open(request.data_dir,
                    {.splits = {request.split}, .view = &run.view, .threads = request.threads}));
  LRA_ASSIGN_OR_RETURN(const SplitView split, SplitView::Create(data, request.split, run.view));
  run.data = IdentifyData(data.manifest(), run.view);
  run.spec = split.spec();
  run.split = request.split;
  run.labels = Labels(split);
  run.unix_seconds = UnixSeconds();
  return run;
}

std::string ExternalDirectory(absl::string_view runs, absl::string_view task,
                              absl::string_view name, uint32_t seed) {
  return absl::StrCat(runs, "/external-", name, "-", task,
                      seed == 0 ? "" : absl::StrCat("-s", seed));
}

absl::StatusOr<RunRecord> WriteExternalRecord(absl::string_view directory, const ExternalRun& run) {
  LRA_RETURN_IF_ERROR(CheckName(run.name, run.taken_names));
  LRA_ASSIGN_OR_RETURN(const ExternalPredictions predictions,
                       ReadPredictions(run.predictions_path, run.spec, run.split,
                                       static_cast<int64_t>(run.labels.size())));
  const RowIdentity row{RunRecord::EXTERNAL,
                        run.name,
                        Describe(run, predictions.only_labels),
                        run.data,
                        run.spec,
                        run.command_line,
                        run.unix_seconds};
  LRA_ASSIGN_OR_RETURN(const std::optional<RunRecord> previous, ReplaceableRecord(directory, row));
  ExperimentConfig config;
  config.set_task(run.data.task());
  *config.mutable_view() = run.view;
  config.set_seed(run.seed);
  RunRecord record = MakeRowRecord(row, std::move(config));
  record.set_seed(run.seed);
  if (previous) LRA_RETURN_IF_ERROR(CheckSameRow(directory, *previous, record));
  LRA_ASSIGN_OR_RETURN(
      SplitResult result,
      StoreRowSplit(directory, {run.split, predictions.logits, run.labels}, run.spec));
  if (predictions.only_labels) ForgetTotals(&result);
  *record.add_results() = result;
  bool is_known = false;
  if (previous) {
    *record.mutable_test_looks() = previous->test_looks();
    for (const SplitResult& other : previous->results()) {
      if (other.split() != run.split) *record.add_results() = other;
      is_known |=
          other.split() == run.split && other.predictions_sha256() == result.predictions_sha256();
    }
  }
  if (run.split == "test" && !is_known) AddTestLook(row, &record);
  LRA_RETURN_IF_ERROR(WriteRunRecord(directory, record));
  return ReadRunRecord(directory);
}

}  // namespace lra
