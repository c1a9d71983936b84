#include "models/base/fake_graph.h"

#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "models/base/fake_device.h"
#include "models/base/fake_device_call.h"
#include "models/base/fake_refusal.h"
#include "models/base/fake_streams.h"

namespace lra::internal {
namespace {

std::atomic<FakeGraph*> captured = nullptr;
std::atomic<int> refusals = 0;

c10::StorageImpl* StorageOf(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl();
}

std::vector<at::Tensor> AllTensors(const torch::jit::Stack& values) {
  std::vector<at::Tensor> all;
  for (const c10::IValue& value : values) {
    const std::vector<at::Tensor> of_value = TensorsIn(value);
    all.insert(all.end(), of_value.begin(), of_value.end());
  }
  return all;
}

void CopyElements(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& to) {
  TORCH_CHECK(from.size() == to.size(),
              "an operator gives another number of tensors when replayed");
  for (size_t i = 0; i < to.size(); ++i) {
    if (StorageOf(from[i]) == StorageOf(to[i])) continue;  // it wrote to an argument
    TORCH_CHECK(from[i].sizes() == to[i].sizes(), "an operator gives another shape when replayed");
    HostTwin(to[i]).copy_(HostTwin(from[i]));
  }
}

class Graphs : public DeviceGraphs {
 public:
  std::unique_ptr<Graph> Capture(absl::FunctionRef<void()> work) override {
    TORCH_CHECK(CurrentFakeStream().id() != 0, "a graph is captured on the default stream");
    auto graph = std::make_unique<FakeGraph>();
    FakeGraph* nothing = nullptr;
    TORCH_CHECK(captured.compare_exchange_strong(nothing, graph.get()), "two captures at once");
    try {
      work();
    } catch (...) {
      captured = nullptr;
      graph->EndCapture();
      throw;
    }
    captured = nullptr;
    graph->EndCapture();
    TORCH_CHECK(refusals == 0, "the fake device refuses the graph");
    return graph;
  }
};

}  // namespace

FakeGraph* CapturedFakeGraph() { return captured; }

void RefuseInCapture(const std::string& what) {
  TORCH_CHECK(captured == nullptr, "while a graph is captured, the host ", what);
}

std::unique_ptr<DeviceGraphs> FakeGraphs() { return std::make_unique<Graphs>(); }

bool FakeGraph::IsInside(const at::Tensor& tensor) const {
  return inside_.count(StorageOf(tensor)) > 0;
}

void FakeGraph::Own(const at::Tensor& result) {
  if (outside_.count(StorageOf(result)) > 0) return;  // a view
  inside_.insert(StorageOf(result));
  kept_.push_back(result);
}

FakeGraph::Outside& FakeGraph::Find(const at::Tensor& tensor) {
  const auto known = outside_.find(StorageOf(tensor));
  if (known != outside_.end()) return known->second;
  const c10::Storage borrowed = BorrowedStorage(tensor.storage());
  return outside_
      .emplace(StorageOf(tensor),
               Outside{tensor.storage().getWeakStorageImpl(), borrowed, TensorIn(borrowed, tensor)})
      .first->second;
}

at::Tensor FakeGraph::Borrow(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_privateuseone() || IsInside(tensor)) return tensor;
  return TensorIn(Find(tensor).borrowed, tensor);
}

std::vector<at::Tensor> FakeGraph::Borrow(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& t : tensors) all.push_back(Borrow(t));
  return all;
}

c10::IValue FakeGraph::BorrowIn(const c10::IValue& value) {
  if (value.isTensor()) return Borrow(value.toTensor());
  if (value.isTensorList()) return c10::List<at::Tensor>(Borrow(value.toTensorVector()));
  if (!value.isOptionalTensorList()) return value;
  c10::List<std::optional<at::Tensor>> list;
  for (const std::optional<at::Tensor>& t : value.toOptionalTensorVector())
    list.push_back(t.has_value() ? std::optional(Borrow(*t)) : std::nullopt);
  return list;
}

void FakeGraph::BeforeWrite(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_privateuseone() || IsInside(tensor)) return;
  Outside& outside = Find(tensor);
  if (outside.is_written) return;
  outside.is_written = true;
  outside.before.assign(static_cast<const char*>(MemoryIn(outside.borrowed)),
                        outside.borrowed.nbytes());
}

void FakeGraph::BeforeCall(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* const alias = schema.arguments()[i].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    for (const at::Tensor& t : TensorsIn(arguments[i])) BeforeWrite(t);
  }
}

void FakeGraph::AfterCall(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                          const torch::jit::Stack& results, bool is_work) {
  torch::jit::Stack given;
  for (const c10::IValue& value : arguments) given.push_back(BorrowIn(value));
  const std::vector<at::Tensor> written = AllTensors(results);
  for (const at::Tensor& t : written) Own(t);
  if (!is_work) return;  // memory alone
  calls_.push_back([op, given, into = Borrow(written)] {
    torch::jit::Stack stack = given;
    CallOnHost(op, &stack);
    CopyElements(AllTensors(stack), into);
  });
}

void FakeGraph::AfterWork(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& into,
                          const Work& work) {
  const std::vector<at::Tensor> given = Borrow(from);
  for (const at::Tensor& t : into) {
    if (t.defined()) Own(t);
  }
  calls_.push_back([work, given, to = Borrow(into)] { work(given, to); });
}

void FakeGraph::EndCapture() {
  for (auto& [storage, outside] : outside_) {
    if (!outside.is_written) continue;
    if (!outside.storage.expired())
      std::memcpy(MemoryIn(outside.borrowed), outside.before.data(), outside.before.size());
    outside.before.clear();
  }
}

void FakeGraph::Replay() {
  RefuseInCapture("replays another one");
  CountFakeOperator("graph");
  for (const auto& [storage, outside] : outside_) {
    const auto there = outside.storage.lock();
    TORCH_CHECK(there.defined(), "a graph is replayed whose tensor (", outside.first.scalar_type(),
                " ", outside.first.sizes(), ") is gone, which was made before the capture");
    NoteFakeAccess(TensorIn(c10::Storage(there), outside.first), outside.is_written);
  }
  for (const auto& call : calls_) call();
}

}  // namespace lra::internal

namespace lra {

FakeGraphRefusal::FakeGraphRefusal() { ++internal::refusals; }
FakeGraphRefusal::~FakeGraphRefusal() { --internal::refusals; }

}  // namespace lra
