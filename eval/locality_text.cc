// Tables of locality.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/locality.h"
#include "eval/locality_json.h"
#include "lra/json_text.h"
#include "lra/text_table.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

bool AreEqual(const Locality& a, const Locality& b) {
  return a.mean_distance_tokens == b.mean_distance_tokens && a.mass_within == b.mass_within &&
         a.effective_rank == b.effective_rank;
}

std::vector<std::string> Row(const ModelLocality& model, const std::string& method,
                             const std::string& part, const Locality& locality, int digits) {
  std::vector<std::string> row = {model.run, method, part,
                                  absl::StrFormat("%.*g", digits, model.mean_tokens)};
  const std::vector<std::string> cells = LocalityCells(locality, model.windows.size(), digits);
  row.insert(row.end(), cells.begin(), cells.end());
  return row;
}

// Equal weights stand once behind models that saw the same examples.
TextTable MakeTable(const std::vector<ModelLocality>& models, bool by_head, int digits) {
  TextTable table;
  table.header = {"run", "method", "part", "tokens"};
  if (models.empty()) return table;
  const std::vector<std::string> columns = LocalityColumns(models.front().windows);
  table.header.insert(table.header.end(), columns.begin(), columns.end());
  for (size_t i = 0; i < models.size(); ++i) {
    const ModelLocality& model = models[i];
    table.rows.push_back(Row(model, model.method, "all", model.mean, digits));
    for (const HeadLocality& head : model.heads) {
      if (!by_head) break;
      const std::string part = absl::StrCat("layer ", head.layer, " head ", head.head);
      table.rows.push_back(Row(model, model.method, part, head.locality, digits));
    }
    if (i + 1 == models.size() || !AreEqual(model.uniform, models[i + 1].uniform))
      table.rows.push_back(Row(model, "equal weights", "all", model.uniform, digits));
  }
  return table;
}

std::string Notes(const std::vector<ModelLocality>& models) {
  std::vector<std::string> with_signs;
  std::string notes;
  for (const ModelLocality& model : models) {
    if (model.is_absolute) with_signs.push_back(model.run);
    if (model.passed_over > 0) {
      absl::StrAppend(&notes, "\n", model.run, ": ", model.passed_over,
                      " longer examples were passed over.\n");
    }
  }
  if (!with_signs.empty()) {
    absl::StrAppend(&notes, "\nWeights of both signs count by their absolute values: ",
                    absl::StrJoin(with_signs, ", "), ".\n");
  }
  return notes;
}

}  // namespace

std::vector<std::string> LocalityColumns(absl::Span<const int64_t> windows) {
  std::vector<std::string> columns = {"mean distance"};
  for (const int64_t window : windows) columns.push_back(absl::StrCat("within ", window));
  columns.emplace_back("effective rank");
  return columns;
}

std::vector<std::string> LocalityCells(const std::optional<Locality>& locality, size_t windows,
                                       int digits) {
  if (!locality) return std::vector<std::string>(2 + windows, "-");
  const auto number = [digits](double value) { return absl::StrFormat("%.*g", digits, value); };
  std::vector<std::string> cells = {number(locality->mean_distance_tokens)};
  for (const double mass : locality->mass_within) cells.push_back(number(mass));
  cells.push_back(locality->effective_rank ? number(*locality->effective_rank) : "-");
  return cells;
}

nlohmann::ordered_json LocalityAsJson(const Locality& locality) {
  Json json = {{"mean_distance_tokens", locality.mean_distance_tokens},
               {"mass_within", locality.mass_within}};
  if (locality.effective_rank) json["effective_rank"] = *locality.effective_rank;
  return json;
}

std::string LocalityText(const std::vector<ModelLocality>& models, bool by_head) {
  return ToMarkdown(MakeTable(models, by_head, 4)) + Notes(models);
}

std::string LocalityCsv(const std::vector<ModelLocality>& models, bool by_head) {
  TextTable table = MakeTable(models, by_head, 10);
  table.title = "locality";
  return ToCsv(table);
}

std::string LocalityJson(const std::vector<ModelLocality>& models) {
  Json json = Json::array();
  for (const ModelLocality& model : models) {
    Json one = {{"run", model.run},
                {"method", model.method},
                {"examples", model.examples},
                {"passed_over", model.passed_over},
                {"mean_tokens", model.mean_tokens},
                {"windows", model.windows},
                {"absolute_weights", model.is_absolute},
                {"mean", LocalityAsJson(model.mean)},
                {"equal_weights", LocalityAsJson(model.uniform)},
                {"heads", Json::array()}};
    for (const HeadLocality& head : model.heads) {
      Json entry = {{"layer", head.layer}, {"head", head.head}};
      entry.update(LocalityAsJson(head.locality));
      one["heads"].push_back(std::move(entry));
    }
    json.push_back(std::move(one));
  }
  return JsonText(json) + "\n";
}

}  // namespace lra
