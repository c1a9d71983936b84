#include "models/base/device_graph.h"

#include <c10/util/Exception.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "models/base/cuda_graph.h"
#include "models/base/cuda_library.h"
#include "models/base/fake_graph.h"

namespace lra {
namespace {

template <class Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(CudaFunction(name));
}

struct CudaFunctions {
  CudaNewPoolFunction* new_pool = Find<CudaNewPoolFunction>("LraGraphNewPool");
  CudaBeginFunction* begin = Find<CudaBeginFunction>("LraGraphBegin");
  CudaGraphFunction* end = Find<CudaGraphFunction>("LraGraphEnd");
  CudaGraphFunction* replay = Find<CudaGraphFunction>("LraGraphReplay");
  CudaGraphFunction* remove = Find<CudaGraphFunction>("LraGraphDelete");
  bool are_there() const {
    return new_pool != nullptr && begin != nullptr && end != nullptr && replay != nullptr &&
           remove != nullptr;
  }
};

void CheckGraph(const char* error, const char* what) {
  TORCH_CHECK(error == nullptr, what, ": ", error);
}

class CudaGraph : public DeviceGraphs::Graph {
 public:
  explicit CudaGraph(const CudaFunctions& functions) : functions_(functions) {}
  ~CudaGraph() override {
    if (graph_ != nullptr) functions_.remove(graph_);
  }
  void Capture(const CudaGraphPool& pool, absl::FunctionRef<void()> work) {
    CheckGraph(functions_.begin(&pool, &graph_), "a CUDA graph cannot be begun");
    try {
      work();
    } catch (...) {
      functions_.end(graph_);  // what it says of the failed capture is no news
      throw;
    }
    CheckGraph(functions_.end(graph_), "the step cannot be captured as a CUDA graph");
  }
  void Replay() override { CheckGraph(functions_.replay(graph_), "a CUDA graph"); }

 private:
  const CudaFunctions functions_;
  void* graph_ = nullptr;
};

class CudaGraphs : public DeviceGraphs {
 public:
  absl::Status Init() {
    if (!functions_.are_there()) {
      return absl::UnavailableError(absl::StrCat(
          "CUDA graphs need the library that -DLRA_CUDA=ON builds (", DescribeCudaLibrary(), ")"));
    }
    const char* const error = functions_.new_pool(&pool_);
    return error == nullptr ? absl::OkStatus() : absl::UnavailableError(error);
  }
  std::unique_ptr<Graph> Capture(absl::FunctionRef<void()> work) override {
    auto graph = std::make_unique<CudaGraph>(functions_);
    graph->Capture(pool_, work);
    return graph;
  }

 private:
  const CudaFunctions functions_ = {};
  CudaGraphPool pool_ = {};
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceGraphs>> DeviceGraphs::Create(at::Device device) {
  if (device.is_privateuseone()) return internal::FakeGraphs();
  if (!device.is_cuda()) return absl::UnavailableError("the CPU has no graphs");
  auto graphs = std::make_unique<CudaGraphs>();
  const absl::Status status = graphs->Init();
  if (!status.ok()) return status;
  return graphs;
}

}  // namespace lra
