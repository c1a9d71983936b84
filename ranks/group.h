// What is behind Ranks: a c10d process group and the store that its members met at. Internal.
#ifndef LRA_RANKS_GROUP_H_
#define LRA_RANKS_GROUP_H_

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ranks/heartbeat.h"
#include "ranks/launch.h"
#include "ranks/ranks.h"

namespace c10d {
class Backend;
class Store;
class Work;
}  // namespace c10d

namespace lra {

class Ranks::Group {
 public:
  static absl::StatusOr<std::unique_ptr<Group>> Join(const Launch& launch,
                                                     std::chrono::milliseconds patience);
  ~Group();

  absl::Status Sum(const std::vector<at::Tensor>& values);
  absl::StatusOr<at::Tensor> Gather(const at::Tensor& values);
  absl::Status Share(at::Tensor values);

 private:
  using Works = c10::intrusive_ptr<c10d::Work>;

  Group();
  void Meet(const Launch& launch, std::chrono::milliseconds patience);
  template <class Begin>
  absl::Status Run(Begin begin);
  absl::Status Await(const Works& work);
  absl::Status Lost(const std::string& detail);

  int size_ = 0;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  std::unique_ptr<Heartbeat> heartbeat_;
  bool is_broken_ = false;
};

}  // namespace lra

#endif  // LRA_RANKS_GROUP_H_
