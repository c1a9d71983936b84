#include "train/series.h"

#include <algorithm>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "ranks/ranks.h"
#include "run_folder/divergence.h"
#include "train/trainer.h"
#include "train/turns.h"

namespace lra {
namespace {

std::string Describe(const TrainRequest& request, const absl::Status& failure) {
  return absl::StrCat("seed ", request.resolved.config.seed(), " (", request.runtime.out_dir(),
                      "): ", failure.message());
}

// The runs that diverged, for people.
class Diverged {
 public:
  void Add(const TrainRequest& request, const absl::Status& failure) {
    ++count_;
    absl::StrAppend(&text_, "\n  ", Describe(request, failure));
  }
  absl::Status Of(size_t all) const {
    if (count_ == 0) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(count_, " of ", all, " runs diverged; tables count them:", text_));
  }

 private:
  int count_ = 0;
  std::string text_;
};

// Runs that train in turns, so that one of them at a time is in here.
class AtOnce {
 public:
  AtOnce(const std::vector<TrainRequest>& requests, int at_once, const RunDone& done)
      : requests_(requests), done_(done), outcomes_(requests.size()) {
    turns_.Run(at_once, [this, at_once](int) {
      while (next_ < requests_.size() && !is_over_) {
        const size_t number = next_++;
        outcomes_[number] = Train(number, at_once);
        const absl::Status& outcome = outcomes_[number];
        if (outcome.ok() || HasDiverged(outcome)) continue;
        is_over_ = true;
        if (!absl::IsCancelled(outcome))
          std::cerr << "lra: " << Describe(requests_[number], outcome) << "\n";
      }
    });
  }

  // The first error that is no divergence, else the diverged ones.
  absl::Status Outcome() const {
    Diverged diverged;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (HasDiverged(outcomes_[i])) {
        diverged.Add(requests_[i], outcomes_[i]);
      } else if (!outcomes_[i].ok()) {
        return outcomes_[i];
      }
    }
    return diverged.Of(requests_.size());
  }

 private:
  absl::Status Train(size_t number, int at_once) {
    TrainRequest request = requests_[number];
    request.runs_at_once = at_once;
    request.await_turn = [this] { return turns_.Pass(); };
    if (number > 0) {
      request.runtime.set_quiet(true);
      request.leaves_out_warnings = true;
    }
    LRA_ASSIGN_OR_RETURN(const RunRecord record, TrainRun(request));
    return done_(requests_[number], record);
  }

  const std::vector<TrainRequest>& requests_;
  const RunDone& done_;
  Turns turns_;
  size_t next_ = 0;
  bool is_over_ = false;
  std::vector<absl::Status> outcomes_;
};

}  // namespace

absl::Status TrainSeries(const std::vector<TrainRequest>& requests, const RunDone& done) {
  Diverged diverged;
  for (const TrainRequest& request : requests) {
    const absl::StatusOr<RunRecord> record = TrainRun(request);
    if (record.ok()) {
      LRA_RETURN_IF_ERROR(done(request, *record));
      continue;
    }
    if (!HasDiverged(record.status()) || requests.size() == 1) return record.status();
    diverged.Add(request, record.status());
    if (&request != &requests.back())
      std::cerr << "lra: " << Describe(request, record.status()) << "\nlra: the next run begins\n";
  }
  return diverged.Of(requests.size());
}

absl::Status TrainAtOnce(const std::vector<TrainRequest>& requests, int at_once,
                         const RunDone& done) {
  at_once = std::min(at_once, static_cast<int>(requests.size()));
  if (at_once <= 1) return TrainSeries(requests, done);
  if (requests.front().ranks != nullptr && !requests.front().ranks->is_alone()) {
    return absl::InvalidArgumentError(
        "--at-once: several processes train each run together; leave it out");
  }
  return AtOnce(requests, at_once, done).Outcome();
}

}  // namespace lra
