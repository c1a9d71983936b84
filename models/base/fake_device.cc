#include "models/base/fake_device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <numeric>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "models/base/fake_device_call.h"
#include "models/base/fake_graph.h"
#include "models/base/fake_streams.h"

namespace lra {
namespace {

constexpr at::DeviceType kType = at::kPrivateUse1;
constexpr char kName[] = "fake";

// Operators whose result, or its shape, the host must know before it goes on.
constexpr absl::string_view kHostReads[] = {
    "_local_scalar_dense", "_unique2",    "bincount",   "equal",
    "masked_select",       "multinomial", "nonzero",    "repeat_interleave",
    "unique_consecutive",  "unique_dim",  "is_nonzero", "unique_dim_consecutive"};

// --- What is counted ---

std::mutex mutex;
FakeDeviceWork work;  // guarded by mutex

void Count(CallCounts FakeDeviceWork::*counts, const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex);
  ++(work.*counts)[name];
}

bool IsView(const c10::FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), [](const auto& result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  });
}

bool AllocatesOnly(absl::string_view name) {
  return absl::StartsWith(name, "empty") || absl::StartsWith(name, "new_empty") ||
         name == "resize_" || name == "set_";
}

// An index of truth values is turned into the places where it is true.
bool IndexesByMask(absl::string_view name, const torch::jit::Stack& stack) {
  if (!absl::StrContains(name, "index")) return false;
  for (const c10::IValue& value : stack) {
    if (!value.isOptionalTensorList()) continue;
    for (const std::optional<at::Tensor>& t : value.toOptionalTensorVector()) {
      if (t.has_value() && t->defined() && t->scalar_type() == at::kBool) return true;
    }
  }
  return false;
}

void CountHostRead(const std::string& name) {
  internal::RefuseInCapture(absl::StrCat("reads: ", name));
  internal::SynchronizeFakeStream(internal::CurrentFakeStream());
  Count(&FakeDeviceWork::host_reads, name);
}

// Whether it launches something.
bool IsWork(const c10::FunctionSchema& schema) {
  return !IsView(schema) && !AllocatesOnly(absl::StripPrefix(schema.name(), "aten::"));
}

void CountOperator(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  const std::string name(absl::StripPrefix(schema.name(), "aten::"));
  if (IsWork(schema)) Count(&FakeDeviceWork::operators, name);
  const bool is_read =
      std::find(std::begin(kHostReads), std::end(kHostReads), name) != std::end(kHostReads);
  if (is_read || IndexesByMask(name, arguments)) CountHostRead(name);
}

// --- The device ---

void NoteArguments(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* const alias = schema.arguments()[i].alias_info();
    const bool is_written = alias != nullptr && alias->isWrite();
    for (const at::Tensor& t : internal::TensorsIn(arguments[i]))
      internal::NoteFakeAccess(t, is_written);
  }
}

// Results that are no views of arguments.
void NoteResults(const torch::jit::Stack& arguments, const torch::jit::Stack& results) {
  std::vector<at::Tensor> given;
  for (const c10::IValue& value : arguments) {
    const auto of_value = internal::TensorsIn(value);
    given.insert(given.end(), of_value.begin(), of_value.end());
  }
  for (const c10::IValue& value : results) {
    for (const at::Tensor& t : internal::TensorsIn(value)) {
      const auto shares = [&](const at::Tensor& other) {
        return t.unsafeGetTensorImpl()->storage().unsafeGetStorageImpl() ==
               other.unsafeGetTensorImpl()->storage().unsafeGetStorageImpl();
      };
      if (std::none_of(given.begin(), given.end(), shares)) internal::NoteFakeNew(t);
    }
  }
}

void Fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto count = static_cast<int64_t>(op.schema().arguments().size());
  const torch::jit::Stack arguments(stack->end() - count, stack->end());
  CountOperator(op.schema(), arguments);
  const bool is_work = IsWork(op.schema());
  internal::FakeGraph* const graph = internal::CapturedFakeGraph();
  if (is_work) NoteArguments(op.schema(), arguments);
  if (is_work && graph != nullptr) graph->BeforeCall(op.schema(), arguments);
  const size_t below = stack->size() - arguments.size();
  internal::CallOnHost(op, stack);
  if (IsView(op.schema())) return;
  const torch::jit::Stack results(stack->begin() + static_cast<int64_t>(below), stack->end());
  NoteResults(arguments, results);
  if (graph != nullptr) graph->AfterCall(op, arguments, results, is_work);
}

at::Tensor OnHost(const at::Tensor& t) { return t.is_cpu() ? t : internal::HostTwin(t); }

void CopyInside(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& into) {
  internal::HostTwin(into[0]).copy_(internal::HostTwin(from[0]));
}

void CopyOnDevice(const at::Tensor& from, const at::Tensor& to) {
  Count(&FakeDeviceWork::operators, "copy_");
  internal::FakeGraph* const graph = internal::CapturedFakeGraph();
  if (graph != nullptr) graph->BeforeWrite(to);
  CopyInside({from}, {to});
  if (graph != nullptr) graph->AfterWork({from}, {to}, &CopyInside);
}

at::Tensor CopyFrom(const at::Tensor& from, const at::Tensor& to, bool is_asynchronous) {
  std::ostringstream what;
  what << from.scalar_type() << " " << from.sizes();
  internal::NoteFakeAccess(from, /*is_write=*/false);
  internal::NoteFakeAccess(to, /*is_write=*/true);
  if (!from.is_cpu() && !to.is_cpu()) {
    CopyOnDevice(from, to);
    return to;
  }
  if (from.is_cpu()) {
    internal::RefuseInCapture("copies to the device: " + what.str());
    Count(&FakeDeviceWork::uploads, what.str());
    if (is_asynchronous) internal::NoteFakeUpload(from);
  } else {
    CountHostRead("copy of " + what.str());
  }
  OnHost(to).copy_(OnHost(from));
  return to;
}

// Parameters may move between the host and the device in place.
bool HasCompatibleType(const at::Tensor& /*from*/, const at::Tensor& /*to*/) { return true; }

// Work that LibTorch asks for by a name of its own: from these tensors, some undefined, to others.
std::vector<at::Tensor> RunWork(
    const char* name, const std::vector<at::Tensor>& from,
    const std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>& on_host) {
  Count(&FakeDeviceWork::operators, name);
  const auto compute = [on_host](const std::vector<at::Tensor>& given) {
    std::vector<at::Tensor> host;
    for (const at::Tensor& t : given) host.push_back(t.defined() ? internal::HostTwin(t) : t);
    return on_host(host);
  };
  for (const at::Tensor& t : from) internal::NoteFakeAccess(t, /*is_write=*/false);
  std::vector<at::Tensor> results;
  for (const at::Tensor& t : compute(from)) {
    results.push_back(t.defined() ? internal::DeviceTwin(t) : t);
    internal::NoteFakeNew(results.back());
  }
  if (internal::FakeGraph* const graph = internal::CapturedFakeGraph()) {
    graph->AfterWork(from, results, [compute](const auto& given, const auto& into) {
      const std::vector<at::Tensor> again = compute(given);
      for (size_t i = 0; i < into.size(); ++i) {
        if (into[i].defined()) internal::HostTwin(into[i]).copy_(again[i]);
      }
    });
  }
  return results;
}

at::Tensor Convolution(const at::Tensor& x, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool is_transposed,
                       at::IntArrayRef output_padding, int64_t groups) {
  return RunWork(
      "convolution", {x, weight, bias.value_or(at::Tensor())},
      [=, stride = stride.vec(), padding = padding.vec(), dilation = dilation.vec(),
       output_padding = output_padding.vec()](const std::vector<at::Tensor>& t) {
        const auto maybe = t[2].defined() ? std::optional(t[2]) : std::nullopt;
        return std::vector<at::Tensor>{at::convolution(t[0], t[1], maybe, stride, padding, dilation,
                                                       is_transposed, output_padding, groups)};
      })[0];
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> ConvolutionBackward(
    const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool is_transposed,
    at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> wanted) {
  const auto all =
      RunWork("convolution_backward", {gradient, x, weight},
              [=, stride = stride.vec(), padding = padding.vec(), dilation = dilation.vec(),
               output_padding = output_padding.vec()](const std::vector<at::Tensor>& t) {
                const std::vector<int64_t> bias = {t[0].size(1)};
                auto [dx, dweight, dbias] = at::convolution_backward(
                    t[0], t[1], t[2], at::OptionalIntArrayRef(bias), stride, padding, dilation,
                    is_transposed, output_padding, groups, wanted);
                return std::vector<at::Tensor>{dx, dweight, dbias};
              });
  return {all[0], all[1], all[2]};
}

struct Guard final : c10::impl::NoOpDeviceGuardImpl<kType> {
  static at::Device Only() { return {kType, 0}; }
  at::Device exchangeDevice(at::Device /*next*/) const override { return Only(); }
  at::Device getDevice() const override { return Only(); }
  c10::Stream getStream(at::Device /*device*/) const noexcept override {
    return internal::CurrentFakeStream();
  }
  c10::Stream exchangeStream(c10::Stream next) const noexcept override {
    return internal::ExchangeFakeStream(next);
  }
  c10::Stream getStreamFromGlobalPool(at::Device /*device*/, bool /*is_first*/) const override {
    return internal::NewFakeStream();
  }
  void record(void** event, const c10::Stream& stream, at::DeviceIndex /*index*/,
              c10::EventFlag /*flag*/) const override {
    internal::RecordFakeEvent(event, stream);
  }
  void block(void* event, const c10::Stream& stream) const override {
    internal::BlockOnFakeEvent(event, stream);
  }
  bool queryEvent(void* event) const override { return internal::QueryFakeEvent(event); }
  void destroyEvent(void* event, at::DeviceIndex /*index*/) const noexcept override {
    internal::DestroyFakeEvent(event);
  }
  void synchronizeEvent(void* event) const override {
    internal::RefuseInCapture("waits for an event");
    internal::SynchronizeFakeEvent(event);
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    internal::RefuseInCapture("waits for a stream");
    internal::SynchronizeFakeStream(stream);
  }
  void synchronizeDevice(at::DeviceIndex /*index*/) const override {
    internal::RefuseInCapture("waits for the device");
    internal::SynchronizeFakeDevice();
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(at::DeviceIndex /*index*/) const override { return true; }
  at::DeviceIndex deviceCount() const override { return 1; }
  const at::Generator& getDefaultGenerator(at::DeviceIndex /*index*/) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  at::Allocator* getPinnedMemoryAllocator() const override {
    return internal::FakePinnedAllocator();
  }
  bool isPinnedPtr(const void* data) const override { return internal::IsFakePinned(data); }
};

// Under autocast, the products that CUDA computes in a lower precision.
void RegisterAutocast(torch::Library& m){
    KERNEL_PRIVATEUSEONE(addmm, lower_precision_fp)
        KERNEL_PRIVATEUSEONE(baddbmm, lower_precision_fp)
            KERNEL_PRIVATEUSEONE(bmm, lower_precision_fp)
                KERNEL_PRIVATEUSEONE(conv1d, lower_precision_fp)
                    KERNEL_PRIVATEUSEONE(conv2d, lower_precision_fp)
                        KERNEL_PRIVATEUSEONE(convolution, lower_precision_fp)
                            KERNEL_PRIVATEUSEONE(linear, lower_precision_fp)
                                KERNEL_PRIVATEUSEONE(matmul, lower_precision_fp)
                                    KERNEL_PRIVATEUSEONE(mm, lower_precision_fp)}

// What is registered stays so until the process ends: it is never destroyed.
torch::Library& NewLibrary(const char* space, c10::DispatchKey key) {
  return *new torch::Library(torch::Library::IMPL, space, key, __FILE__, __LINE__);
}

// An operator that has a form for the CPU gets one here, as on a GPU, and so do those on lists of
// tensors, which a GPU has forms for. LibTorch would otherwise compose some of others, and read
// pointers on the way.
void RegisterOperators(torch::Library& m) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findOp(name);
    if (!absl::StartsWith(name.name, "aten::") || !op.has_value()) continue;
    if (!op->hasKernelForDispatchKey(c10::DispatchKey::CPU) &&
        !absl::StartsWith(name.name, "aten::_foreach_")) {
      continue;
    }
    const std::string full =
        absl::StrCat(name.name, name.overload_name.empty() ? "" : ".", name.overload_name);
    m.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&Fallback>());
  }
}

// Copies and convolutions, which LibTorch asks a device for by names of their own.
void RegisterCopies(torch::Library& m) {
  m.impl("_copy_from", &CopyFrom)
      .impl("_has_compatible_shallow_copy_type", &HasCompatibleType)
      .impl("convolution_overrideable", &Convolution)
      .impl("convolution_backward_overrideable", &ConvolutionBackward);
  // A copy resolves what is lazily conjugate or negative; doing so by another copy never ends.
  for (const c10::DispatchKey key : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative})
    NewLibrary("aten", key).impl("_copy_from", torch::CppFunction::makeFallthrough());
}

at::Device Register() {
  c10::register_privateuse1_backend(kName);
  c10::impl::registerDeviceGuard(kType, new Guard);
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  NewLibrary("_", c10::DispatchKey::PrivateUse1)
      .fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
  torch::Library& operators = NewLibrary("aten", c10::DispatchKey::PrivateUse1);
  RegisterOperators(operators);
  RegisterCopies(operators);
  NewLibrary("_", c10::DispatchKey::AutocastPrivateUse1)
      .fallback(torch::CppFunction::makeFallthrough());
  RegisterAutocast(NewLibrary("aten", c10::DispatchKey::AutocastPrivateUse1));
  return {kType, 0};
}

}  // namespace

at::Device FakeDevice() {
  static const at::Device device = Register();
  return device;
}

void internal::CountFakeOperator(const std::string& name) {
  Count(&FakeDeviceWork::operators, name);
}

int64_t Total(const CallCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0},
                         [](int64_t sum, const auto& count) { return sum + count.second; });
}

FakeDeviceWork TakeFakeDeviceWork() {
  const std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(work, {});
}

}  // namespace lra
