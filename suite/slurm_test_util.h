// An executor against an sbatch, a squeue and a sacct that are shell scripts.
#ifndef LRA_SUITE_SLURM_TEST_UTIL_H_
#define LRA_SUITE_SLURM_TEST_UTIL_H_

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "suite/executor.h"
#include "suite/suite_folder.h"

namespace lra {

class SlurmStandIns : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH");
    setenv("PATH", absl::StrCat(folder_.File("bin"), ":", path_).c_str(), 1);
    ASSERT_EQ(MakeDirectories(folder_.File("bin")), absl::OkStatus());
    // Jobs are numbered from 11; arguments are written down.
    Client("sbatch", absl::StrCat("cd ", folder_.path(),
                                  "; [ ! -e refuses ] || { cat refuses >&2; exit 1; }; "
                                  "echo \"$@\" >>submitted; echo $((10 + $(wc -l <submitted)))"));
    Client("squeue", absl::StrCat("cat ", folder_.File("queue"), " 2>/dev/null; true"));
    Client("sacct", "exit 1");
    options_.out = folder_.File("out");
    options_.program = "/shared/lra";
    options_.is_quiet = true;
    ASSERT_EQ(ClaimSuiteFolder(options_.out, SuiteFile()), absl::OkStatus());
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    for (const std::string& name : set_) unsetenv(name.c_str());
  }

  // A variable of the user's environment.
  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

  void Client(const std::string& name, const std::string& script) {
    const std::string file = folder_.File(absl::StrCat("bin/", name));
    ASSERT_EQ(WriteFileAtomically(file, absl::StrCat("#!/bin/sh\n", script, "\n")),
              absl::OkStatus());
    chmod(file.c_str(), 0755);
  }

  // A run that takes so long, and so much memory, as predicted; unknown if negative.
  void Add(const std::string& name, double seconds, int64_t memory_bytes = 1000) {
    SuiteCell cell;
    cell.name = name;
    planned_.cells.push_back(cell);
    RunPlan run;
    run.is_left = true;
    run.left_share = 1;
    if (seconds >= 0) run.cost = RunCost{.wall_seconds = seconds, .memory_bytes = memory_bytes};
    planned_.plan.runs.push_back(run);
  }

  absl::Status Train(const ClusterOptions& cluster = {}) {
    return SlurmExecutor(options_, {cluster, {{"LRA_DATA", "/shared/data"}}, {}})->Train(planned_);
  }
  std::string Script(int number) const {
    return ReadFile(absl::StrCat(options_.out, "/slurm/", number, ".sh")).value_or("");
  }
  std::string Submitted() const { return ReadFile(folder_.File("submitted")).value_or(""); }
  // What a queue says from now on of elements of a submission: "0 RUNNING|None".
  void Queue(int number, const std::vector<std::string>& elements,
             const std::string& queue = "queue") {
    const std::string script = Script(number);
    const size_t begin = script.find("--job-name=") + 11;
    const std::string name = script.substr(begin, script.find('\n', begin) - begin);
    std::string text = ReadFile(folder_.File(queue)).value_or("");
    for (const std::string& element : elements) {
      const size_t space = element.find(' ');
      absl::StrAppend(&text, name, "|", element.substr(0, space), "|", 10 + number, "|",
                      element.substr(space + 1), "\n");
    }
    ASSERT_EQ(WriteFileAtomically(folder_.File(queue), text), absl::OkStatus());
  }

  const TestFolder folder_;
  std::string path_;
  std::vector<std::string> set_;
  SuiteRunOptions options_;
  PlannedSuite planned_;
};

}  // namespace lra

#endif  // LRA_SUITE_SLURM_TEST_UTIL_H_
