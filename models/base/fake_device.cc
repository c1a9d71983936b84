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

void CountOperator(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  const std::string name(absl::StripPrefix(schema.name(), "aten::"));
  if (!IsView(schema) && !AllocatesOnly(name)) Count(&FakeDeviceWork::operators, name);
  const bool is_read =
      std::find(std::begin(kHostReads), std::end(kHostReads), name) != std::end(kHostReads);
  if (is_read || IndexesByMask(name, arguments)) Count(&FakeDeviceWork::host_reads, name);
}

// --- The device ---

void Fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t arguments = op.schema().arguments().size();
  CountOperator(op.schema(), {stack->end() - static_cast<int64_t>(arguments), stack->end()});
  internal::CallOnHost(op, stack);
}

at::Tensor CopyFrom(const at::Tensor& from, const at::Tensor& to, bool /*is_asynchronous*/) {
  std::ostringstream what;
  what << from.scalar_type() << " " << from.sizes();
  if (from.is_cpu()) {
    Count(&FakeDeviceWork::uploads, what.str());
  } else if (to.is_cpu()) {
    Count(&FakeDeviceWork::host_reads, "copy of " + what.str());
  } else {
    Count(&FakeDeviceWork::operators, "copy_");
  }
  const auto host = [](const at::Tensor& t) { return t.is_cpu() ? t : internal::HostTwin(t); };
  host(to).copy_(host(from));
  return to;
}

// Parameters may move between the host and the device in place.
bool HasCompatibleType(const at::Tensor& /*from*/, const at::Tensor& /*to*/) { return true; }

at::Tensor Convolution(const at::Tensor& x, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool is_transposed,
                       at::IntArrayRef output_padding, int64_t groups) {
  Count(&FakeDeviceWork::operators, "convolution");
  const std::optional<at::Tensor> host_bias =
      bias.has_value() && bias->defined() ? std::optional(internal::HostTwin(*bias)) : std::nullopt;
  return internal::DeviceTwin(at::convolution(internal::HostTwin(x), internal::HostTwin(weight),
                                              host_bias, stride, padding, dilation, is_transposed,
                                              output_padding, groups));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> ConvolutionBackward(
    const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool is_transposed,
    at::IntArrayRef output_padding, int64_t groups, std::array<bool, 3> wanted) {
  Count(&FakeDeviceWork::operators, "convolution_backward");
  const std::vector<int64_t> bias = {gradient.size(1)};
  const auto [dx, dweight, dbias] =
      at::convolution_backward(internal::HostTwin(gradient), internal::HostTwin(x),
                               internal::HostTwin(weight), at::OptionalIntArrayRef(bias), stride,
                               padding, dilation, is_transposed, output_padding, groups, wanted);
  const auto device = [](const at::Tensor& t) { return t.defined() ? internal::DeviceTwin(t) : t; };
  return {device(dx), device(dweight), device(dbias)};
}

struct Guard final : c10::impl::NoOpDeviceGuardImpl<kType> {
  static at::Device Only() { return {kType, 0}; }
  at::Device exchangeDevice(at::Device /*next*/) const override { return Only(); }
  at::Device getDevice() const override { return Only(); }
  c10::Stream getStream(at::Device /*device*/) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, Only());
  }
  c10::Stream exchangeStream(c10::Stream /*next*/) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, Only());
  }
  void synchronizeDevice(at::DeviceIndex /*index*/) const override {}  // nothing waits
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(at::DeviceIndex /*index*/) const override { return true; }
  at::DeviceIndex deviceCount() const override { return 1; }
  const at::Generator& getDefaultGenerator(at::DeviceIndex /*index*/) const override {
    return at::detail::getDefaultCPUGenerator();
  }
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

int64_t Total(const CallCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0},
                         [](int64_t sum, const auto& count) { return sum + count.second; });
}

FakeDeviceWork TakeFakeDeviceWork() {
  const std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(work, {});
}

}  // namespace lra
