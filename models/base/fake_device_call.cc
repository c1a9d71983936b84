#include "models/base/fake_device_call.h"

#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/Exception.h>

#include <string>

namespace lra::internal {
namespace {

const at::Device kHost = at::kCPU;
const at::Device kFake(at::kPrivateUse1, 0);

void ReleaseStorage(void* storage) { delete static_cast<c10::Storage*>(storage); }

// The memory of a storage, as that of another device; keeps the storage alive.
at::DataPtr MemoryOf(const c10::Storage& storage, at::Device device) {
  return {MemoryIn(storage), new c10::Storage(storage), &ReleaseStorage, device};
}

// Makes every access by pointer throw.
void Hide(const c10::Storage& storage) {
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "the host reads or writes a tensor of the device by its pointer");
}

c10::Storage StorageOf(at::DataPtr memory, size_t bytes) {
  const bool is_on_host = memory.device() == kHost;
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, std::move(memory), c10::GetCPUAllocator(),
      /*resizable=*/true));
  if (!is_on_host) Hide(storage);
  return storage;
}

c10::Storage StorageOn(const c10::Storage& other, at::Device device) {
  return StorageOf(MemoryOf(other, device), other.nbytes());
}

class HostCall {
 public:
  explicit HostCall(const c10::OperatorHandle& op) : op_(op) {}

  void Run(torch::jit::Stack* stack) {
    const size_t count = op_.schema().arguments().size(), first = stack->size() - count;
    for (size_t i = 0; i < count; ++i) {
      (*stack)[first + i] = ArgumentToHost((*stack)[first + i], op_.schema().arguments()[i].name());
    }
    op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
    for (const Pair& pair : pairs_) WriteBack(pair);
    for (size_t i = first; i < stack->size(); ++i) (*stack)[i] = ResultToDevice((*stack)[i]);
  }

 private:
  struct Pair {
    at::Tensor on_device, on_host;
  };

  at::Tensor ToHost(const at::Tensor& t, const std::string& argument) {
    if (!t.defined() || (t.device().is_cpu() && t.dim() == 0)) return t;
    TORCH_CHECK(t.is_privateuseone(), op_.schema().operator_name(), ": argument \"", argument,
                "\", ", t.scalar_type(), " ", t.sizes(), ", is on ", t.device(),
                ", others are on the device ", kFake);
    // Arguments that share memory share it on the host as well.
    auto [place, is_new] = storages_.try_emplace(t.storage().unsafeGetStorageImpl());
    if (is_new) place->second = {t.storage(), StorageOn(t.storage(), kHost)};
    pairs_.push_back({t, TensorIn(place->second.second, t)});
    return pairs_.back().on_host;
  }

  c10::IValue ArgumentToHost(const c10::IValue& value, const std::string& name) {
    if (value.isTensor()) return ToHost(value.toTensor(), name);
    if (value.isDevice()) return value.toDevice() == kHost ? value : c10::IValue(kHost);
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : value.toTensorVector()) list.push_back(ToHost(t, name));
      return list;
    }
    if (!value.isOptionalTensorList()) return value;
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& t : value.toOptionalTensorVector())
      list.push_back(t.has_value() ? std::optional(ToHost(*t, name)) : std::nullopt);
    return list;
  }

  // Repeats on the device what the operator did to the argument's shape and storage.
  void WriteBack(const Pair& pair) const {
    const c10::Storage &host = pair.on_host.storage(), &device = pair.on_device.storage();
    if (MemoryIn(host) != MemoryIn(device)) {
      c10::StorageImpl* const changed = device.unsafeGetStorageImpl();
      changed->set_data_ptr_noswap(MemoryOf(host, kFake));
      changed->set_nbytes(host.nbytes());
    }
    if (pair.on_host.sizes() == pair.on_device.sizes() &&
        pair.on_host.strides() == pair.on_device.strides() &&
        pair.on_host.storage_offset() == pair.on_device.storage_offset()) {
      return;
    }
    pair.on_device.unsafeGetTensorImpl()->set_sizes_and_strides(
        pair.on_host.sizes(), pair.on_host.strides(), pair.on_host.storage_offset());
  }

  at::Tensor ToDevice(const at::Tensor& t) const {
    if (!t.defined()) return t;
    for (const Pair& pair : pairs_) {
      if (t.is_same(pair.on_host)) return pair.on_device;
    }
    for (const auto& [key, storages] : storages_) {
      if (t.storage().is_alias_of(storages.second)) return TensorIn(storages.first, t);
    }
    return DeviceTwin(t);
  }

  c10::IValue ResultToDevice(const c10::IValue& value) const {
    if (value.isTensor()) return ToDevice(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<at::Tensor> list;
    for (const at::Tensor& t : value.toTensorVector()) list.push_back(ToDevice(t));
    return list;
  }

  const c10::OperatorHandle& op_;
  std::vector<Pair> pairs_;
  // By the storage on the device: itself, and its twin on the host.
  std::map<const c10::StorageImpl*, std::pair<c10::Storage, c10::Storage>> storages_;
};

}  // namespace

std::vector<at::Tensor> TensorsIn(const c10::IValue& value) {
  std::vector<at::Tensor> all;
  if (value.isTensor()) {
    all.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    all = value.toTensorVector();
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& t : value.toOptionalTensorVector())
      all.push_back(t.value_or(at::Tensor()));
  }
  std::erase_if(all, [](const at::Tensor& t) { return !t.defined(); });
  return all;
}

void* MemoryIn(const c10::Storage& storage) {
  return storage.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get();
}

c10::Storage BorrowedStorage(const c10::Storage& other) {
  return StorageOf(at::DataPtr(MemoryIn(other), kFake), other.nbytes());
}

at::Tensor TensorIn(c10::Storage storage, const at::Tensor& like) {
  const auto key =
      storage.device() == kHost ? c10::DispatchKey::CPU : c10::DispatchKey::PrivateUse1;
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(key), like.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(),
                                                      like.storage_offset());
  if (like.is_conj()) tensor._set_conj(true);
  if (like.is_neg()) tensor._set_neg(true);
  return tensor;
}

at::Tensor HostTwin(const at::Tensor& on_device) {
  return TensorIn(StorageOn(on_device.storage(), kHost), on_device);
}

at::Tensor DeviceTwin(const at::Tensor& on_host) {
  return TensorIn(StorageOn(on_host.storage(), kFake), on_host);
}

void CallOnHost(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  HostCall(op).Run(stack);
}

}  // namespace lra::internal
