// A training run on the random data of a task (tests/random_task_data.h).
#ifndef LRA_TESTS_RANDOM_TASK_REQUEST_H_
#define LRA_TESTS_RANDOM_TASK_REQUEST_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lra/folder_test_util.h"
#include "tests/random_task_data.h"
#include "train/request.h"

namespace lra {

// One thread, quiet, with the data of `folder`/data and the run in `folder`/`name`. Fails the test
// where the configuration is refused.
inline TrainRequest RandomTaskRequest(const std::string& task, const std::string& protocol,
                                      const std::vector<std::string>& sets,
                                      const TestFolder& folder, const std::string& name,
                                      const std::string& attention = "transformer") {
  const auto resolved = ResolveRandomTask(task, protocol, sets, attention);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  TrainRequest request;
  request.resolved = resolved.value_or(ResolvedConfig());
  request.runtime.set_quiet(true);
  request.runtime.set_threads(1);
  request.runtime.set_data_dir(folder.File("data"));
  request.runtime.set_out_dir(folder.File(name));
  return request;
}

}  // namespace lra

#endif  // LRA_TESTS_RANDOM_TASK_REQUEST_H_
