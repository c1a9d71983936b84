#include "models/base/shapes_only.h"

#include <utility>

namespace lra {
namespace {

thread_local bool is_shapes_only = false;

}  // namespace

ShapesOnlyScope::ShapesOnlyScope() : was_on_(std::exchange(is_shapes_only, true)) {}
ShapesOnlyScope::~ShapesOnlyScope() { is_shapes_only = was_on_; }

bool IsShapesOnly() { return is_shapes_only; }

}  // namespace lra
