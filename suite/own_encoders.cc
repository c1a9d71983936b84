#include "suite/own_encoders.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lra/experiment.h"
#include "lra/status_macros.h"
#include "train/encoder_recipe.h"

namespace lra {
namespace {

bool Asks(const SuiteCell& cell) { return cell.config.encoder_weights_sha256() == kInitFrom; }

// Where the run's encoder stands in the suite; the number of encoders where it does not.
int PlaceOf(const SuiteCell& cell, const SuiteFile& suite) {
  const auto& all = suite.encoder();
  const auto is_its = [&](const SuiteEncoder& one) {
    return one.attention() == MethodOf(cell.config) && one.seed() == cell.seed;
  };
  return static_cast<int>(std::find_if(all.begin(), all.end(), is_its) - all.begin());
}

absl::StatusOr<SuiteEncoder> ReadEncoder(const std::string& path, const SuiteCell& cell) {
  LRA_ASSIGN_OR_RETURN(const OwnEncoder own, FindOwnEncoder(path, cell.config));
  SuiteEncoder encoder;
  encoder.set_attention(MethodOf(cell.config));
  encoder.set_seed(cell.seed);
  encoder.set_weights_sha256(own.weights_sha256);
  encoder.set_recipe(own.recipe);
  return encoder;
}

// The error of an encoder that is another one than the suite has for the run.
absl::Status CheckSame(const std::string& path, const SuiteEncoder& there,
                       const SuiteEncoder& here) {
  const std::string what =
      absl::StrCat("--init-from ", path, ", for ", here.attention(), ", seed ", here.seed(), ": ");
  if (there.weights_sha256() != here.weights_sha256()) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, "its weights are ", here.weights_sha256(), ", the suite has ", there.weights_sha256(),
        "; name copies of these, or run the suite's own file into another --out"));
  }
  if (there.recipe() == here.recipe()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, "it was made by recipe ", here.recipe(), ", the suite has ", there.recipe(),
      ", of before or of a run of that attention with other options; such runs need suites of ",
      "their own"));
}

absl::Status ListEncoder(const std::string& path, const SuiteCell& cell, SuiteFile* suite) {
  LRA_ASSIGN_OR_RETURN(SuiteEncoder encoder, ReadEncoder(path, cell));
  const int place = PlaceOf(cell, *suite);
  if (place == suite->encoder_size()) {
    *suite->add_encoder() = std::move(encoder);
    return absl::OkStatus();
  }
  return CheckSame(path, suite->encoder(place), encoder);
}

void StartFrom(const SuiteEncoder& encoder, SuiteCell* cell) {
  ExperimentConfig& config = cell->config;
  config.set_encoder_weights_sha256(encoder.weights_sha256());
  config.set_encoder_recipe(encoder.recipe());
  cell->name = ExperimentName(config);
  for (std::string& set : cell->choice.sets)
    absl::StrReplaceAll({{kInitFrom, encoder.weights_sha256()}}, &set);
  cell->choice.sets.push_back(absl::StrCat("encoder_recipe=", encoder.recipe()));
}

}  // namespace

absl::Status ListOwnEncoders(const std::string& path, SuiteFile* suite) {
  SuiteFile asking = *suite;
  asking.clear_encoder();
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(asking));
  int asked = 0;
  for (const SuiteCell& cell : cells) {
    if (!Asks(cell)) continue;
    ++asked;
    LRA_RETURN_IF_ERROR(ListEncoder(path, cell, suite));
  }
  if (asked > 0) {
    suite->set_init_from(std::filesystem::absolute(path).lexically_normal().string());
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--init-from ", path, ": no run of the suite sets encoder_weights_sha256=", kInitFrom));
}

absl::Status StartFromOwnEncoders(const SuiteFile& suite, std::vector<SuiteCell>* cells) {
  if (suite.encoder_size() == 0) return absl::OkStatus();
  for (SuiteCell& cell : *cells) {
    if (!Asks(cell)) continue;
    const int place = PlaceOf(cell, suite);
    if (place == suite.encoder_size()) {
      return absl::InvalidArgumentError(absl::StrCat("the suite lists encoders, and none for ",
                                                     MethodOf(cell.config), ", seed ", cell.seed));
    }
    StartFrom(suite.encoder(place), &cell);
  }
  return absl::OkStatus();
}

}  // namespace lra
