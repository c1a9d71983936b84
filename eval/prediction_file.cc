#include "eval/prediction_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/npy.h"
#include "datasets/npy_values.h"
#include "datasets/npz.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr char kPredictionsArray[] = "predictions";
constexpr char kIndexArray[] = "index";
// Room for headers, and for rows beyond the split's, whose number is then refused by name.
constexpr int64_t kSpareBytes = 64 << 20;

absl::Status WrongUse(absl::string_view path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

std::string DescribeArray(const NpyHeader& header) {
  return absl::StrCat("holds ", NpyDescr(header.type), " of shape (",
                      absl::StrJoin(header.shape, ", "), ")");
}

// An array, and its name in messages.
struct NamedArray {
  std::string name;
  MappedNpy array;
};

// --- Predictions ---

// `rows` is what the first dimension must be; `of` says of what.
absl::Status CheckShape(const NamedArray& file, const TaskSpec& spec, int64_t rows,
                        absl::string_view of) {
  const NpyHeader& header = file.array.header();
  const std::string held = DescribeArray(header);
  const bool fits = IsFloat(header.type) ? header.shape.size() == 2 : header.shape.size() == 1;
  if (!fits) {
    return WrongUse(file.name, absl::StrCat(held, "; expected logits [examples, ", spec.classes(),
                                            "] of float16, float32 or float64, or classes "
                                            "[examples] of an integer type"));
  }
  if (header.shape[0] != rows) {
    return WrongUse(file.name,
                    absl::StrCat(held, ": ", header.shape[0], " examples; ", of, " has ", rows));
  }
  if (!IsFloat(header.type) || header.shape[1] == spec.classes()) return absl::OkStatus();
  return WrongUse(file.name, absl::StrCat(held, ": ", header.shape[1], " logits an example; ",
                                          spec.name(), " has ", spec.classes(), " classes"));
}

template <class T>
absl::Status CopyLogits(absl::string_view path, absl::Span<const T> values, int64_t classes,
                        std::vector<float>* logits) {
  for (size_t i = 0; i < values.size(); ++i) {
    (*logits)[i] = static_cast<float>(values[i]);
    if (std::isfinite((*logits)[i])) continue;
    return WrongUse(path, absl::StrCat("row ", i / classes, ", class ", i % classes, ": the logit ",
                                       static_cast<double>(values[i]), " is not a finite float32"));
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

// The logits in the order of the file.
absl::StatusOr<std::vector<float>> ReadLogits(const NamedArray& file, int64_t classes) {
  std::vector<float> logits(file.array.header().shape[0] * classes);
  const absl::Status read = VisitValues(file.array, [&]<class T>(absl::Span<const T> values) {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half>) {
      return CopyLogits(file.name, values, classes, &logits);
    } else {
      return MarkClasses(file.name, values, classes, &logits);
    }
  });
  LRA_RETURN_IF_ERROR(read);
  return logits;
}

// --- Index ---

absl::StatusOr<std::vector<int64_t>> ReadIndex(const NamedArray& file) {
  const NpyHeader& header = file.array.header();
  if (IsFloat(header.type) || header.shape.size() != 1) {
    return WrongUse(file.name, absl::StrCat(DescribeArray(header),
                                            "; expected the original index of each row, [examples] "
                                            "of an integer type"));
  }
  std::vector<int64_t> index;
  VisitValues(file.array, [&](auto values) { index.assign(values.begin(), values.end()); });
  return index;
}

// Where each row of the file stands in the split. Every example must have one row.
absl::StatusOr<std::vector<int64_t>> PlaceRows(const NamedArray& file, const PredictedSplit& split,
                                               const std::vector<int64_t>& index) {
  std::unordered_map<int64_t, int64_t> places;  // original index -> place in the split
  for (int64_t i = 0; i < split.examples; ++i) places[split.indices[i]] = i;
  std::vector<int64_t> rows_of(split.examples, -1), place_of;
  for (size_t row = 0; row < index.size(); ++row) {
    const auto place = places.find(index[row]);
    if (place == places.end()) {
      return WrongUse(file.name, absl::StrCat("row ", row, ": ", index[row],
                                              " is not the original index of an example of the ",
                                              split.name, " split (`lra data export` lists them)"));
    }
    int64_t& earlier = rows_of[place->second];
    if (earlier >= 0) {
      return WrongUse(file.name, absl::StrCat("row ", row, ": the index ", index[row],
                                              " stands in row ", earlier, " already"));
    }
    earlier = static_cast<int64_t>(row);
    place_of.push_back(place->second);
  }
  for (int64_t i = 0; i < split.examples; ++i) {
    if (rows_of[i] >= 0) continue;
    return WrongUse(file.name, absl::StrCat("the index ", split.indices[i], " is missing: ",
                                            index.size(), " of the ", split.examples,
                                            " examples of the ", split.name, " split have a row"));
  }
  return place_of;
}

std::vector<float> Reorder(const std::vector<float>& logits, const std::vector<int64_t>& place_of,
                           int64_t classes) {
  std::vector<float> ordered(logits.size());
  for (size_t row = 0; row < place_of.size(); ++row) {
    const auto from = logits.begin() + static_cast<int64_t>(row) * classes;
    std::copy(from, from + classes, ordered.begin() + place_of[row] * classes);
  }
  return ordered;
}

// --- Files ---

struct OpenedFiles {
  NamedArray predictions;
  std::optional<NamedArray> index;
};

absl::StatusOr<NamedArray> OpenArray(const std::string& path) {
  absl::StatusOr<MappedNpy> opened = MappedNpy::Open(path);
  if (absl::IsDataLoss(opened.status())) {
    return absl::InvalidArgumentError(absl::StrCat(
        opened.status().message(),
        "; numpy.save(path, numpy.ascontiguousarray(x, dtype=\"<f4\")) writes logits that are read "
        "here, with dtype=\"<i4\" classes and indices"));
  }
  LRA_RETURN_IF_ERROR(opened.status());
  return NamedArray{path, *std::move(opened)};
}

absl::StatusOr<OpenedFiles> OpenNpz(const std::string& path, const PredictedSplit& split) {
  const int64_t row_bytes = 8 * (int64_t{split.spec.classes()} + 1);
  LRA_ASSIGN_OR_RETURN(auto arrays, ReadNpz(path, {kPredictionsArray, kIndexArray},
                                            split.examples * row_bytes + kSpareBytes));
  const auto named = [&](const char* name) {
    return NamedArray{absl::StrCat(path, ", array \"", name, "\""), std::move(arrays[name])};
  };
  if (!arrays.contains(kPredictionsArray)) {
    return WrongUse(path, absl::StrCat("has no array \"", kPredictionsArray,
                                       "\"; numpy.savez(path, predictions=..., index=...) writes "
                                       "what is read here"));
  }
  OpenedFiles opened;
  if (arrays.contains(kIndexArray)) opened.index = named(kIndexArray);
  opened.predictions = named(kPredictionsArray);
  return opened;
}

absl::StatusOr<OpenedFiles> OpenFiles(const PredictionFiles& files, const PredictedSplit& split) {
  OpenedFiles opened;
  if (IsNpzPath(files.predictions)) {
    LRA_ASSIGN_OR_RETURN(opened, OpenNpz(files.predictions, split));
  } else {
    LRA_ASSIGN_OR_RETURN(opened.predictions, OpenArray(files.predictions));
  }
  if (files.index.empty()) return opened;
  if (opened.index) {
    return WrongUse(files.predictions,
                    absl::StrCat("holds an index, and --index gives another; leave out one"));
  }
  LRA_ASSIGN_OR_RETURN(opened.index, OpenArray(files.index));
  return opened;
}

}  // namespace

absl::StatusOr<ExternalPredictions> ReadPredictions(const PredictionFiles& files,
                                                    const PredictedSplit& split) {
  LRA_ASSIGN_OR_RETURN(const OpenedFiles opened, OpenFiles(files, split));
  const TaskSpec& spec = split.spec;
  ExternalPredictions predictions;
  predictions.only_labels = !IsFloat(opened.predictions.array.header().type);
  if (!opened.index) {
    LRA_RETURN_IF_ERROR(CheckShape(opened.predictions, spec, split.examples,
                                   absl::StrCat("the ", split.name, " split of ", spec.name())));
    LRA_ASSIGN_OR_RETURN(predictions.logits, ReadLogits(opened.predictions, spec.classes()));
    return predictions;
  }
  predictions.has_index = true;
  LRA_ASSIGN_OR_RETURN(const std::vector<int64_t> index, ReadIndex(*opened.index));
  LRA_RETURN_IF_ERROR(CheckShape(opened.predictions, spec, static_cast<int64_t>(index.size()),
                                 absl::StrCat("the index ", opened.index->name)));
  LRA_ASSIGN_OR_RETURN(const std::vector<int64_t> place_of, PlaceRows(*opened.index, split, index));
  LRA_ASSIGN_OR_RETURN(const std::vector<float> logits,
                       ReadLogits(opened.predictions, spec.classes()));
  predictions.logits = Reorder(logits, place_of, spec.classes());
  return predictions;
}

}  // namespace lra
