// Models without memory: what a configuration needs is counted before any of it is allocated.
#ifndef LRA_MODELS_BASE_SHAPES_ONLY_H_
#define LRA_MODELS_BASE_SHAPES_ONLY_H_

namespace lra {

// While it lives, the parameters that are created on this thread have a shape and no values (they
// are on LibTorch's meta device), so that a model of any size is made at once. Such a model can be
// asked for its sizes and for nothing else. Scopes nest.
class ShapesOnlyScope {
 public:
  ShapesOnlyScope();
  ~ShapesOnlyScope();
  ShapesOnlyScope(const ShapesOnlyScope&) = delete;
  ShapesOnlyScope& operator=(const ShapesOnlyScope&) = delete;

 private:
  const bool was_on_;
};

// Whether such a scope lives on this thread. Whoever fills tensors of his own asks it.
bool IsShapesOnly();

}  // namespace lra

#endif  // LRA_MODELS_BASE_SHAPES_ONLY_H_
