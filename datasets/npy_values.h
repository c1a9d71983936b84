// The values of an .npy array, whatever their type.
#ifndef LRA_DATASETS_NPY_VALUES_H_
#define LRA_DATASETS_NPY_VALUES_H_

#include <cstdint>

#include "datasets/half.h"
#include "datasets/npy.h"

namespace lra {

inline bool IsFloat(NpyType type) {
  return type == NpyType::kFloat16 || type == NpyType::kFloat32 || type == NpyType::kFloat64;
}

// Calls visit(values) with the array's values as a span of their type.
template <class Visit>
auto VisitValues(const MappedNpy& array, Visit visit) {
  switch (array.header().type) {
    case NpyType::kFloat16:
      return visit(array.values<Half>());
    case NpyType::kFloat32:
      return visit(array.values<float>());
    case NpyType::kFloat64:
      return visit(array.values<double>());
    case NpyType::kInt8:
      return visit(array.values<int8_t>());
    case NpyType::kInt16:
      return visit(array.values<int16_t>());
    case NpyType::kInt32:
      return visit(array.values<int32_t>());
    case NpyType::kUint8:
      return visit(array.values<uint8_t>());
    case NpyType::kUint16:
      return visit(array.values<uint16_t>());
    case NpyType::kUint32:
      return visit(array.values<uint32_t>());
    case NpyType::kUint64:
      return visit(array.values<uint64_t>());
    case NpyType::kInt64:
      break;
  }
  return visit(array.values<int64_t>());
}

}  // namespace lra

#endif  // LRA_DATASETS_NPY_VALUES_H_
