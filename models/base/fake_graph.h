// What a CUDA graph does, on the fake device: operators are recorded with the tensors that they
// were given, numbers of the host included as they were, and done again from the same memory into
// the same memory. As with CUDA, capturing changes nothing, and while it lasts the host may
// neither read from the device, nor copy to it, nor wait for it; what was made before the capture
// is not kept alive by the graph, and a replay without it throws.
//
// Private to this folder.
#ifndef LRA_MODELS_BASE_FAKE_GRAPH_H_
#define LRA_MODELS_BASE_FAKE_GRAPH_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Storage.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "models/base/device_graph.h"

namespace lra::internal {

class FakeGraph : public DeviceGraphs::Graph {
 public:
  ~FakeGraph() override = default;
  void Replay() override;

  // --- For the device, while this graph is captured ---

  // An operator, before it writes to what its schema names, and when it has; one that is no work
  // makes memory alone.
  void BeforeCall(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments);
  void AfterCall(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                 const torch::jit::Stack& results, bool is_work);
  // The same of work that is no operator of the fallback: from these tensors into others.
  using Work =
      std::function<void(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& into)>;
  void BeforeWrite(const at::Tensor& tensor);
  void AfterWork(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& into,
                 const Work& work);
  void EndCapture();

 private:
  // Memory that was there before the capture.
  struct Outside {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    c10::Storage borrowed;    // the same memory, not kept alive
    at::Tensor first;         // borrowed: says in errors what is gone
    std::string before = {};  // its bytes, where the capture wrote to it
    bool is_written = false;
  };
  Outside& Find(const at::Tensor& tensor);
  bool IsInside(const at::Tensor& tensor) const;
  at::Tensor Borrow(const at::Tensor& tensor);
  std::vector<at::Tensor> Borrow(const std::vector<at::Tensor>& tensors);
  c10::IValue BorrowIn(const c10::IValue& value);
  void Own(const at::Tensor& result);

  std::vector<std::function<void()>> calls_;
  std::map<const c10::StorageImpl*, Outside> outside_;
  std::set<const c10::StorageImpl*> inside_;
  std::vector<at::Tensor> kept_;  // what is inside lives as long as the graph
};

// The one that is captured now, whichever thread asks; null outside a capture.
FakeGraph* CapturedFakeGraph();
// Throws c10::Error if a graph is captured: `what` ends "while a graph is captured, the host ...".
void RefuseInCapture(const std::string& what);

std::unique_ptr<DeviceGraphs> FakeGraphs();

}  // namespace lra::internal

#endif  // LRA_MODELS_BASE_FAKE_GRAPH_H_
