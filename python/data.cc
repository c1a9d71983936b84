// Data sets: the mapped columns without a copy, and examples as a view shows them.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datasets/manifest.h"
#include "datasets/mapped_split.h"
#include "datasets/view.h"
#include "lra/check.h"
#include "lra/textproto.h"
#include "python/bindings.h"
#include "python/split.h"
#include "tasks/inventory.h"
#include "tasks/task.h"

namespace lra {
namespace {

namespace nb = nanobind;
using Array = nb::ndarray<nb::numpy, nb::ro>;

nb::dlpack::dtype TypeOf(NpyType type) {
  switch (type) {
    case NpyType::kUint8:
      return nb::dtype<uint8_t>();
    case NpyType::kUint16:
      return nb::dtype<uint16_t>();
    case NpyType::kInt16:
      return nb::dtype<int16_t>();
    case NpyType::kInt32:
      return nb::dtype<int32_t>();
    default:
      LRA_CHECK(type == NpyType::kInt64) << "no column of a data set has type " << NpyDescr(type);
      return nb::dtype<int64_t>();
  }
}

// The mapped file itself; `owner` keeps the map.
Array View(const MappedNpy& column, nb::handle owner) {
  const std::vector<size_t> shape(column.header().shape.begin(), column.header().shape.end());
  void* values = const_cast<char*>(column.bytes().data() + column.header().data_offset_bytes);
  return Array(values, shape.size(), shape.data(), owner, nullptr, TypeOf(column.header().type));
}

// The values as an array that owns them.
template <class T>
nb::object Own(std::vector<T> values) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = kept->data();
  const size_t size = kept->size();
  const nb::capsule owner(kept.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, 1, &size, owner));
}

OpenedSplit OpenSplit(const std::string& directory, const std::string& name, const DataView& view,
                      bool check_hashes, int threads) {
  const OpenOptions options = {
      .splits = {name}, .view = &view, .check_hashes = check_hashes, .threads = threads};
  OpenedSplit opened = {ValueOrThrow(Dataset::Open(directory, options)), view, {}};
  opened.split = ValueOrThrow(SplitView::Create(opened.data, name, view));
  return opened;
}

// One dictionary a shard: "tokens", "offsets", "labels" and whatever else is stored.
nb::list Shards(const OpenedSplit& opened) {
  const nb::handle owner = nb::find(opened);
  const Manifest& manifest = opened.data.manifest();
  nb::list shards;
  for (const auto& shard : opened.data.split(opened.split.stored_split())->shards) {
    nb::dict columns;
    for (size_t i = 0; i < shard.columns.size(); ++i) {
      columns[TokenColumns(manifest.spec())[i].c_str()] = View(shard.columns[i].tokens, owner);
      columns[OffsetColumns(manifest.spec())[i].c_str()] = View(shard.columns[i].offsets, owner);
    }
    columns["labels"] = View(shard.labels, owner);
    for (size_t i = 0; i < shard.extras.size(); ++i)
      columns[manifest.extra_columns(static_cast<int>(i)).name().c_str()] =
          View(shard.extras[i], owner);
    shards.append(columns);
  }
  return shards;
}

void CheckPlace(const OpenedSplit& opened, int64_t example, int column) {
  if (example < 0 || example >= opened.split.size())
    throw nb::index_error("no such example in the split");
  if (column < 0 || column > (opened.split.spec().is_pair() ? 1 : 0))
    throw nb::index_error("the examples have no such column");
}

nb::object Read(const OpenedSplit& opened, int64_t example, int column) {
  CheckPlace(opened, example, column);
  if (opened.split.spec().is_real()) {
    std::vector<float> values;
    opened.split.ReadReal(example, &values);
    return Own(std::move(values));
  }
  std::vector<int32_t> ids;
  opened.split.Read(example, &ids, column);
  return Own(std::move(ids));
}

nb::object Lengths(const OpenedSplit& opened, int column) {
  CheckPlace(opened, 0, column);
  std::vector<int32_t> lengths;
  for (int64_t i = 0; i < opened.split.size(); ++i)
    lengths.push_back(opened.split.length_tokens(i, column));
  return Own(std::move(lengths));
}

int32_t LabelOf(const OpenedSplit& opened, int64_t example) {
  CheckPlace(opened, example, 0);
  return opened.split.label(example);
}

}  // namespace

void BindData(nb::module_& module) {
  module.def("data_directory", &DataDirectoryOf, nb::arg("name"));
  module.def(
      "manifest_json",
      [](const std::string& directory) { return ToJson(ValueOrThrow(ReadManifest(directory))); },
      nb::arg("directory"), ReleasesGil());
  module.def(
      "resolve_view",
      [](const std::string& directory, const DataView& view) {
        return ValueOrThrow(ResolveView(ValueOrThrow(ReadManifest(directory)), view));
      },
      nb::arg("directory"), nb::arg("view"), ReleasesGil());
  module.def(
      "check_data_of_task",
      [](const std::string& directory, const std::string& task) {
        OkOrThrow(CheckDataOfTask(directory, task));
      },
      nb::arg("directory"), nb::arg("task"), ReleasesGil());
  nb::class_<OpenedSplit>(module, "Split")
      .def_static("open", &OpenSplit, nb::arg("directory"), nb::arg("name"), nb::arg("view"),
                  nb::arg("check_hashes"), nb::arg("threads"), ReleasesGil())
      .def("__len__", [](const OpenedSplit& opened) { return opened.split.size(); })
      .def("spec_json", [](const OpenedSplit& opened) { return ToJson(opened.split.spec()); })
      .def("stored_split", [](const OpenedSplit& opened) { return opened.split.stored_split(); })
      .def("shards", &Shards)
      .def("read", &Read, nb::arg("example"), nb::arg("column"))
      .def("label", &LabelOf, nb::arg("example"))
      .def("labels", [](const OpenedSplit& opened) { return Own(Labels(opened.split)); })
      .def("index", [](const OpenedSplit& opened) { return Own(StoredIndices(opened.split)); })
      .def("lengths", &Lengths, nb::arg("column"));
}

}  // namespace lra
