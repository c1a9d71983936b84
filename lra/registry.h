// A registry of named factories: what a configuration can name.
//
// Next to the interface:     using AttentionRegistry = Registry<Attention, const
// AttentionContext&>; At the end of a plug-in:   LRA_REGISTER(AttentionRegistry, "linear",
// MakeLinear); By name:                   AttentionRegistry::Get().Create("linear", context)
//
// A factory returns absl::StatusOr<std::unique_ptr<Interface>>. A name registered twice aborts at
// start, naming both places. Registration happens before main, so afterwards the registry is
// read-only and safe for concurrent use. Libraries that register themselves are linked whole
// (cmake/LraTargets.cmake).
#ifndef LRA_REGISTRY_H_
#define LRA_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/check.h"
#include "lra/suggest.h"

namespace lra {

template <class Interface, class... Args>
class Registry {
 public:
  using Factory = std::function<absl::StatusOr<std::unique_ptr<Interface>>(Args...)>;

  static Registry& Get() {
    static Registry* const registry = new Registry;  // never destroyed: no order-of-exit traps
    return *registry;
  }

  // `where` is "file:line" of the registration.
  bool Register(absl::string_view name, Factory factory, absl::string_view where) {
    auto [it, inserted] =
        entries_.try_emplace(std::string(name), Entry{std::move(factory), std::string(where)});
    LRA_CHECK(inserted) << "\"" << name << "\" is registered at " << it->second.where << " and at "
                        << where;
    return true;
  }

  // Sorted.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

  bool Has(absl::string_view name) const { return entries_.count(std::string(name)) > 0; }

  // `what` ("attention", "task") is for the error, which lists the known names.
  absl::StatusOr<std::unique_ptr<Interface>> Create(absl::string_view what, absl::string_view name,
                                                    Args... args) const {
    auto it = entries_.find(std::string(name));
    if (it == entries_.end()) return UnknownNameError(what, name, Names());
    return it->second.factory(std::forward<Args>(args)...);
  }

 private:
  struct Entry {
    Factory factory;
    std::string where;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace lra

#define LRA_REGISTER_STRING_INNER(x) #x
#define LRA_REGISTER_STRING(x) LRA_REGISTER_STRING_INNER(x)
#define LRA_REGISTER_CONCAT_INNER(a, b) a##b
#define LRA_REGISTER_CONCAT(a, b) LRA_REGISTER_CONCAT_INNER(a, b)
#define LRA_REGISTER(registry, name, factory)                                         \
  [[maybe_unused]] static const bool LRA_REGISTER_CONCAT(lra_registered_, __LINE__) = \
      registry::Get().Register(name, factory, __FILE__ ":" LRA_REGISTER_STRING(__LINE__))

#endif  // LRA_REGISTRY_H_
