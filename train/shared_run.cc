#include "train/shared_run.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lra/fingerprint.h"
#include "lra/parallel.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "models/classifier.h"
#include "ranks/launch.h"
#include "train/shared_gradient.h"

namespace lra {
namespace {

// Replaces a tensor's values, wherever it is, by rank 0's.
absl::Status ShareTensor(Ranks* ranks, const at::Tensor& tensor) {
  return CatchTorch([&]() -> absl::Status {
    const c10::NoGradGuard no_grad;
    const at::Tensor host = tensor.detach().cpu().contiguous().clone();
    LRA_RETURN_IF_ERROR(ranks->Share(host));
    tensor.detach().copy_(host);
    return absl::OkStatus();
  });
}

// What must be equal everywhere for the ranks to train one model on one data set.
std::string Identity(const CheckpointState& state) {
  std::vector<std::string> splits;
  for (const auto& [name, fingerprint] : state.data().split_fingerprint())
    splits.push_back(absl::StrCat(name, "=", fingerprint));
  std::sort(splits.begin(), splits.end());
  return absl::StrCat("configuration ", Fingerprint(state.config()), ", data ",
                      absl::StrJoin(splits, " "));
}

absl::Status CheckSameRun(const CheckpointState& mine, const CheckpointState& first, int rank) {
  const std::string here = Identity(mine), there = Identity(first);
  if (here == there) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rank ", rank, " has ", here, "; rank 0 has ", there,
                   "; all processes of a run need the same flags and the same data"));
}

absl::Status ShareTensors(Ranks* ranks, const std::vector<Parameter>& values) {
  for (const Parameter& parameter : values)
    LRA_RETURN_IF_ERROR(ShareTensor(ranks, parameter.value));
  return absl::OkStatus();
}

Sha256Digest DigestOf(const ParameterStore& parameters) {
  Sha256 hash;
  for (const std::vector<Parameter>* values : {&parameters.parameters(), &parameters.buffers()}) {
    for (const Parameter& parameter : *values) {
      const at::Tensor host = parameter.value.detach().cpu().contiguous();
      hash.Update(host.const_data_ptr(), host.nbytes());
    }
  }
  return hash.Finish();
}

// Adds up what the ranks computed. Each number is zero everywhere but on one rank; as whole numbers
// their bits survive a sum, which floats' need not (-0 + 0 is 0).
template <class T>
absl::Status JoinNumbers(Ranks* ranks, std::vector<T>* numbers) {
  constexpr at::ScalarType kWhole = sizeof(T) == sizeof(int32_t) ? at::kInt : at::kLong;
  static_assert(sizeof(T) == sizeof(int32_t) || sizeof(T) == sizeof(int64_t));
  if (numbers->empty()) return absl::OkStatus();
  return ranks->Sum(
      {at::from_blob(numbers->data(), {static_cast<int64_t>(numbers->size())}, kWhole)});
}

absl::Status JoinLogits(Ranks* ranks, const absl::Status& mine, std::vector<float>* logits) {
  LRA_RETURN_IF_ERROR(ranks->Agree(mine));
  return JoinNumbers(ranks, logits);
}

// The names are those that rank 0 has: it computes the first batch, and each batch has all.
template <class T>
absl::Status JoinNamed(Ranks* ranks, int64_t examples,
                       std::map<std::string, std::vector<T>>* of_name) {
  std::vector<std::string> names;
  for (const auto& [name, numbers] : *of_name) names.push_back(name);
  LRA_ASSIGN_OR_RETURN(const std::string first, ranks->Share(absl::StrJoin(names, "\n")));
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(first, '\n'))) {
    std::vector<T>& numbers = (*of_name)[name];
    numbers.resize(examples);
    LRA_RETURN_IF_ERROR(JoinNumbers(ranks, &numbers));
  }
  return absl::OkStatus();
}

absl::Status JoinSums(Ranks* ranks, const absl::Status& mine, int64_t examples, ExampleSums* sums) {
  LRA_RETURN_IF_ERROR(ranks->Agree(mine));
  if (examples == 0) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(JoinNamed(ranks, examples, &sums->counts));
  return JoinNamed(ranks, examples, &sums->totals);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Ranks>> JoinRanks(TrainChoice* choice) {
  LRA_ASSIGN_OR_RETURN(const Launch launch, ReadLaunch());
  LRA_ASSIGN_OR_RETURN(std::shared_ptr<Ranks> ranks, Ranks::Join(launch));
  if (ranks->is_alone()) return ranks;
  if (!ranks->is_first()) choice->runtime.set_quiet(true);
  if (choice->runtime.threads() == 0)
    choice->runtime.set_threads(ThreadsOfRank(launch, AvailableCores()));
  return ranks;
}

absl::Status CheckAlone(absl::string_view what) {
  LRA_ASSIGN_OR_RETURN(const Launch launch, ReadLaunch());
  if (launch.size == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      launch.starter, " started ", launch.size, " processes, but ", what,
      " are the work of one: start it without ", launch.starter,
      launch.starter == "Slurm" ? "'s srun (--executor slurm starts jobs by itself)" : ""));
}

absl::Status CheckRunDirectories(const std::vector<TrainRequest>& requests, Ranks* ranks) {
  absl::Status status;
  for (const TrainRequest& request : requests) {
    if (ranks->is_first()) status.Update(CheckRunDirectory(request));
  }
  return ranks->Agree(status);
}

absl::Status CheckShareable(const TrainRequest& request, const Ranks& ranks) {
  if (ranks.is_alone() && !request.exact_reduction) return absl::OkStatus();
  const ExperimentConfig& config = request.resolved.config;
  const std::string who = absl::StrCat(ranks.size(), ranks.is_alone() ? " process" : " processes",
                                       request.exact_reduction ? " with --exact-reduction" : "");
  if (DependsOnBatch(config)) {
    return absl::InvalidArgumentError(absl::StrCat(
        NormsOverExamples(config), ": statistics are of a whole batch, and ", who,
        " would each see a share of it; train with one process, or with another norm"));
  }
  if (request.exact_reduction && ranks.size() > kExactShards) {
    return absl::InvalidArgumentError(absl::StrCat("--exact-reduction cuts a batch into ",
                                                   kExactShards, " shards, too few for ", who));
  }
  if (ranks.size() > config.train().batch_examples()) {
    return absl::InvalidArgumentError(absl::StrCat(
        who, " share batches of train.batch_examples=", config.train().batch_examples(),
        " examples; start at most that many"));
  }
  if (config.has_search() && !ranks.is_alone()) {
    return absl::InvalidArgumentError(
        absl::StrCat("search.learning_rate: the trials of a search are runs of one process, and ",
                     who, " were started; search with one, then train its choice with many"));
  }
  return absl::OkStatus();
}

absl::Status ShareWeights(Ranks* ranks, const ParameterStore& parameters) {
  if (ranks->is_alone()) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(ShareTensors(ranks, parameters.parameters()));
  return ShareTensors(ranks, parameters.buffers());
}

absl::Status ShareMessage(Ranks* ranks, absl::string_view what,
                          google::protobuf::Message* message) {
  LRA_ASSIGN_OR_RETURN(const std::string bytes, ranks->Share(message->SerializeAsString()));
  if (message->ParseFromString(bytes)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("rank 0's ", what, " is damaged"));
}

absl::Status ShareStart(Ranks* ranks, const ParameterStore& parameters, Optimizer* optimizer,
                        CheckpointState* state) {
  if (ranks->is_alone()) return absl::OkStatus();
  CheckpointState first = *state;
  LRA_RETURN_IF_ERROR(ShareMessage(ranks, "state", &first));
  LRA_RETURN_IF_ERROR(ranks->Agree(CheckSameRun(*state, first, ranks->rank())));
  *state = std::move(first);
  const WeightAverage::Scope judged = optimizer->UseJudgedWeights();
  LRA_RETURN_IF_ERROR(ShareWeights(ranks, parameters));
  for (const auto& [name, tensor] : optimizer->State())
    LRA_RETURN_IF_ERROR(ShareTensor(ranks, tensor));
  optimizer->CountFromSteps();
  return absl::OkStatus();
}

absl::Status CompareWeights(Ranks* ranks, const ParameterStore& parameters, int64_t step) {
  if (ranks->is_alone()) return absl::OkStatus();
  return CatchTorch([&]() -> absl::Status {
    Sha256Digest digest = DigestOf(parameters);
    const at::Tensor mine =
        at::from_blob(digest.data(), {static_cast<int64_t>(digest.size())}, at::kByte);
    LRA_ASSIGN_OR_RETURN(const at::Tensor all, ranks->Gather(mine));  // [ranks, 32]
    const uint8_t* const digests = all.const_data_ptr<uint8_t>();
    std::vector<int> others;
    for (int rank = 1; rank < ranks->size(); ++rank) {
      if (!std::equal(digests, digests + digest.size(), digests + rank * digest.size()))
        others.push_back(rank);
    }
    if (others.empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(
        "after step ", step, " the weights of rank ", absl::StrJoin(others, ", "),
        " are not rank 0's (compared every ", kCompareWeightsSteps, " steps): processors, ",
        "builds or --threads differ, or memory is faulty; --resume on equal machines goes on"));
  });
}

absl::StatusOr<RunRecord> ShareRecord(Ranks* ranks, const absl::StatusOr<RunRecord>& record) {
  if (ranks->is_alone()) return record;
  LRA_RETURN_IF_ERROR(ranks->Agree(record.status()));
  RunRecord shared = *record;
  LRA_RETURN_IF_ERROR(ShareMessage(ranks, "record", &shared));
  return shared;
}

void ShareEvaluation(const std::shared_ptr<Ranks>& ranks, EvaluatorOptions* options) {
  if (ranks->is_alone()) return;
  options->part = {ranks->rank(), ranks->size()};
  options->join = [ranks](const absl::Status& mine, std::vector<float>* logits) {
    return JoinLogits(ranks.get(), mine, logits);
  };
  options->join_sums = [ranks](const absl::Status& mine, int64_t examples, ExampleSums* sums) {
    return JoinSums(ranks.get(), mine, examples, sums);
  };
}

}  // namespace lra
