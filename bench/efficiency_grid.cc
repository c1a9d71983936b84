#include "bench/efficiency_grid.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/choices.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

using Words = google::protobuf::RepeatedPtrField<std::string>;

std::vector<std::string> ToList(const Words& words) { return {words.begin(), words.end()}; }

absl::StatusOr<std::vector<int64_t>> ParseNumbers(const Words& words) {
  std::vector<int64_t> numbers;
  for (const std::string& word : SplitAtCommas(ToList(words))) {
    LRA_ASSIGN_OR_RETURN(const std::vector<int64_t> parsed, ParseLengths(word));
    numbers.insert(numbers.end(), parsed.begin(), parsed.end());
  }
  return numbers;
}

// Tables would call a batch of other tokens by this number.
absl::Status CheckTokensInBatch(const GridPlan& plan) {
  for (const int64_t in_batch : plan.tokens_in_batch) {
    for (const int64_t tokens : plan.tokens) {
      if (in_batch % tokens == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "--batch-tokens: is ", in_batch, ", must be a multiple of every length, and N = ", tokens,
          " is one; change it, or --tokens"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

EfficiencyGrid DefaultGrid() {
  EfficiencyGrid grid;
  for (const char* attention : {"transformer", "linear", "cosformer"})
    grid.add_attention(attention);
  grid.set_tokens("512..65536");
  grid.set_size("small");
  grid.add_scope("operator");
  grid.add_mode("training");
  grid.add_dtype("float32");
  grid.add_padding("none");
  grid.set_passes(5);
  grid.set_warm_ups(2);
  grid.set_cell_seconds(60);
  grid.add_published("cosformer2022");
  return grid;
}

absl::StatusOr<EfficiencyGrid> LoadEfficiencyGrid(const std::string& name) {
  LRA_ASSIGN_OR_RETURN(const std::string path, ConfigPath("efficiency", "grid", name));
  EfficiencyGrid grid;
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &grid));
  if (grid.base().empty()) return grid;
  const std::string base_name = grid.base();
  const absl::StatusOr<std::string> base_path = ConfigPath("efficiency", "grid", base_name);
  if (!base_path.ok()) return Annotate(base_path.status(), absl::StrCat(path, ": base"));
  EfficiencyGrid base;
  LRA_RETURN_IF_ERROR(ReadTextProto(*base_path, &base));
  if (!base.base().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": base: \"", base_name,
                     "\" has a base itself; a base must be a grid that stands alone"));
  }
  grid.clear_base();
  grid.set_note(grid.note().empty() ? base.note() : absl::StrCat(base.note(), ". ", grid.note()));
  OverrideGrid(grid, &base);
  return base;
}

void OverrideGrid(const EfficiencyGrid& given, EfficiencyGrid* grid) {
  if (given.batch_size() + given.batch_tokens_size() > 0) {
    grid->clear_batch();
    grid->clear_batch_tokens();
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  given.GetReflection()->ListFields(given, &fields);
  for (const auto* field : fields) grid->GetReflection()->ClearField(grid, field);
  grid->MergeFrom(given);
}

absl::StatusOr<GridPlan> PlanOfGrid(const EfficiencyGrid& grid) {
  GridPlan plan;
  LRA_ASSIGN_OR_RETURN(plan.methods, ParseMethods(ToList(grid.attention())));
  LRA_ASSIGN_OR_RETURN(plan.tokens, ParseLengths(grid.tokens()));
  LRA_ASSIGN_OR_RETURN(plan.base, SizedRequest(grid.size()));
  LRA_ASSIGN_OR_RETURN(plan.precisions, ParsePrecisions(ToList(grid.dtype())));
  LRA_ASSIGN_OR_RETURN(plan.scopes, ParseScopes(ToList(grid.scope())));
  LRA_ASSIGN_OR_RETURN(plan.modes, ParseModes(ToList(grid.mode())));
  LRA_ASSIGN_OR_RETURN(plan.paddings, ParsePaddings(ToList(grid.padding())));
  LRA_ASSIGN_OR_RETURN(plan.batches, ParseNumbers(grid.batch()));
  LRA_ASSIGN_OR_RETURN(plan.tokens_in_batch, ParseNumbers(grid.batch_tokens()));
  LRA_RETURN_IF_ERROR(CheckTokensInBatch(plan));
  LRA_ASSIGN_OR_RETURN(const std::vector<int64_t> widths, ParseNumbers(grid.head_widths()));
  plan.head_widths.assign(widths.begin(), widths.end());
  if (plan.head_widths.empty()) plan.head_widths.push_back(plan.base.head_width());
  if (plan.batches.empty() && plan.tokens_in_batch.empty()) plan.batches = {1};
  if (grid.heads() > 0) plan.base.set_heads(grid.heads());
  if (grid.layers() > 0) plan.base.set_layers(grid.layers());
  if (grid.mlp_width() > 0) plan.base.set_mlp_width(grid.mlp_width());
  plan.base.set_passes(grid.passes());
  plan.base.set_warm_ups(grid.warm_ups());
  return plan;
}

}  // namespace lra
