// A registry holds the factories of one interface by name, so that a configuration can name a
// plug-in. For attentions it is used in three places:
//
//   using AttentionRegistry = Registry<Attention, const AttentionContext&>;  // with the interface
//   LRA_REGISTER(AttentionRegistry, "linear", MakeLinear);                   // in the plug-in
//   AttentionRegistry::Get().Create("attention", "linear", context)          // wherever it is made
//
// A factory returns absl::StatusOr<std::unique_ptr<Interface>>. If a name is registered twice, the
// program aborts at start and names both places. Plug-ins are registered before main begins;
// afterwards the registry is read-only and safe for concurrent use. A library that registers
// plug-ins must be linked whole, or the linker drops them (cmake/LraTargets.cmake does this).
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
#include "lra/unregistered.h"

namespace lra {

template <class Interface, class... Args>
class Registry {
 public:
  using Factory = std::function<absl::StatusOr<std::unique_ptr<Interface>>(Args...)>;

  static Registry& Get() {
    // never destroyed, so destruction order at exit does not matter
    static Registry* const registry = new Registry;
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

  // The registered names in alphabetical order.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

  bool Has(absl::string_view name) const { return entries_.count(std::string(name)) > 0; }

  // `what` ("attention", "task") is used in the error, which lists the known names, or says that
  // only a configuration has the name.
  absl::StatusOr<std::unique_ptr<Interface>> Create(absl::string_view what, absl::string_view name,
                                                    Args... args) const {
    auto it = entries_.find(std::string(name));
    if (it == entries_.end()) return UnregisteredError(what, name, Names());
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
