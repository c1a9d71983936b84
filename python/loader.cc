// Batches: those that training takes, in its order, and those of an evaluation.
#include "datasets/loader.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/real_tokens.h"
#include "lra/config.h"
#include "python/bindings.h"
#include "python/split.h"

namespace lra {
namespace {

namespace nb = nanobind;
using Examples = std::vector<int64_t>;

struct Mask {
  std::unique_ptr<bool[]> values;  // [B, N]
};

// A host batch and what of it is real.
struct BatchWithMasks {
  HostBatch host;
  Mask keep, keep_b;
};

Mask MakeMask(int64_t batch, int64_t length, const std::vector<int32_t>& ids,
              const std::vector<int32_t>& lengths, bool zero_is_padding) {
  Mask mask = {std::make_unique<bool[]>(batch * length)};
  for (int64_t b = 0; b < batch; ++b) {
    const auto row = zero_is_padding ? absl::MakeConstSpan(ids).subspan(b * length, length)
                                     : absl::Span<const int32_t>();
    MarkRealTokens(row, lengths[b], zero_is_padding,
                   absl::MakeSpan(mask.values.get() + b * length, length));
  }
  return mask;
}

BatchWithMasks AddMasks(HostBatch host, bool zero_is_padding) {
  BatchWithMasks batch;
  batch.keep = MakeMask(host.batch, host.length, host.tokens, host.lengths, zero_is_padding);
  if (!host.lengths_b.empty())
    batch.keep_b =
        MakeMask(host.batch, host.length_b, host.tokens_b, host.lengths_b, zero_is_padding);
  batch.host = std::move(host);
  return batch;
}

// An array of the batch's own memory, which it keeps alive; None if there is none.
template <class T>
nb::object Field(const BatchWithMasks& batch, const T* values, std::vector<size_t> shape,
                 bool is_there = true) {
  if (!is_there) return nb::none();
  return nb::cast(nb::ndarray<nb::numpy, T>(const_cast<T*>(values), shape.size(), shape.data(),
                                            nb::find(batch)));
}

template <class T>
nb::object Vector(const BatchWithMasks& batch, const std::vector<T>& values) {
  return Field(batch, values.data(), {values.size()}, !values.empty());
}

template <class T>
nb::object Matrix(const BatchWithMasks& batch, const std::vector<T>& values) {
  const auto rows = static_cast<size_t>(std::max<int64_t>(batch.host.batch, 1));
  return Field(batch, values.data(), {rows, values.size() / rows}, !values.empty());
}

nb::object MaskArray(const BatchWithMasks& batch, const Mask& mask, int64_t length) {
  return Field(batch, mask.values.get(),
               {static_cast<size_t>(batch.host.batch), static_cast<size_t>(length)},
               mask.values != nullptr);
}

BatchWithMasks BatchOf(const OpenedSplit& opened, const Examples& examples) {
  for (int64_t example : examples) {
    if (example < 0 || example >= opened.split.size())
      throw nb::index_error("no such example in the split");
  }
  if (examples.empty()) throw nb::value_error("a batch has at least one example");
  return AddMasks(MakeBatch(opened.split, examples), opened.view.zero_is_padding());
}

TrainLoader::Position CheckedPosition(int64_t epoch, int64_t batch = 0) {
  if (epoch >= 0 && batch >= 0) return {.epoch = epoch, .batch = batch};
  throw nb::value_error(
      absl::StrCat("epoch is ", epoch, " and batch ", batch, "; both must be at least 0").c_str());
}

// Training's batches from a position on, made in advance by a thread of their own.
class Batches {
 public:
  Batches(const OpenedSplit& opened, const ResolvedConfig& resolved, int64_t epoch, int64_t batch)
      : zero_is_padding_(opened.view.zero_is_padding()),
        loader_(opened.split, MakeLoaderOptions(resolved.config.train(), resolved.config.seed()),
                CheckedPosition(epoch, batch)) {}

  BatchWithMasks Next() { return AddMasks(loader_.Next(), zero_is_padding_); }
  std::pair<int64_t, int64_t> position() const {
    return {loader_.position().epoch, loader_.position().batch};
  }

 private:
  const bool zero_is_padding_;
  TrainLoader loader_;
};

std::vector<Examples> Plan(const OpenedSplit& opened, const ResolvedConfig& resolved,
                           int64_t epoch) {
  return PlanEpoch(opened.split, MakeLoaderOptions(resolved.config.train(), resolved.config.seed()),
                   CheckedPosition(epoch).epoch);
}

std::vector<Examples> EvaluationPlan(const OpenedSplit& opened, const ResolvedConfig& resolved) {
  return PlanEvaluation(opened.split, resolved.config.train().batch_examples(),
                        opened.split.size());
}

}  // namespace

void BindLoader(nb::module_& module) {
  using B = BatchWithMasks;
  nb::class_<B>(module, "Batch")
      .def_prop_ro("ids", [](const B& b) { return Matrix(b, b.host.tokens); })
      .def_prop_ro("values", [](const B& b) { return Matrix(b, b.host.values); })
      .def_prop_ro("keep", [](const B& b) { return MaskArray(b, b.keep, b.host.length); })
      .def_prop_ro("ids_b", [](const B& b) { return Matrix(b, b.host.tokens_b); })
      .def_prop_ro("keep_b", [](const B& b) { return MaskArray(b, b.keep_b, b.host.length_b); })
      .def_prop_ro("labels", [](const B& b) { return Vector(b, b.host.labels); })
      .def_prop_ro("prompts", [](const B& b) { return Vector(b, b.host.prompts); })
      .def_prop_ro("hidden", [](const B& b) { return Matrix(b, b.host.hidden); })
      .def_prop_ro("example_ids", [](const B& b) { return Vector(b, b.host.example_ids); });
  nb::class_<Batches>(module, "Batches")
      .def(nb::init<const OpenedSplit&, const ResolvedConfig&, int64_t, int64_t>(),
           nb::arg("split"), nb::arg("config"), nb::arg("epoch"), nb::arg("batch"),
           nb::keep_alive<1, 2>())
      .def("next", &Batches::Next, ReleasesGil())
      .def("position", &Batches::position);
  module.def("batch_of", &BatchOf, nb::arg("split"), nb::arg("examples"), ReleasesGil());
  module.def("plan_epoch", &Plan, nb::arg("split"), nb::arg("config"), nb::arg("epoch"),
             ReleasesGil());
  module.def("plan_evaluation", &EvaluationPlan, nb::arg("split"), nb::arg("config"),
             ReleasesGil());
}

}  // namespace lra
