// An attention against numbers that other code computed: `lra check NAME --against FILE`.
//
// FILE is a safetensors file; all of its tensors but `keep` are float32, or all are float64:
//   q [B, H, N, D]   k [B, H, Nk, D]   v [B, H, Nk, Dv]   out [B, H, N, Dv]
//   keep [B, Nk]: BOOL or U8, 1 = real token; without it all are
//   grad_out [B, H, N, Dv], and any of grad_q grad_k grad_v: gradients of sum(out * grad_out)
//   x [B, N, E], and grad_x: the layer input, of attentions that read it
//   NAME, for each parameter and buffer that the attention owns, as `lra list attentions` prints
//   it; grad_NAME of parameters
// and metadata {"causal": "true"} where each token sees itself and earlier ones only; of other
// metadata, only "format" is allowed.
// An attention whose key is the query needs no k; one without projections neither k nor v: grad_q
// is then the gradient of all that q stands for.
// With keep and N = Nk, rows of padded queries are unspecified: their out is not compared, and
// grad_out must be 0 there.
#ifndef LRA_MODELS_CONFORMANCE_AGAINST_H_
#define LRA_MODELS_CONFORMANCE_AGAINST_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "models/base/safetensors.h"

namespace lra {

struct AgainstRequest {
  std::string attention;
  google::protobuf::Any options;
  // The longest sequence that the attention is made for; 0 = the longer of N and Nk.
  int64_t max_length_tokens = 0;
  // Largest admissible relative error; without it 1e-5 for float32, 1e-9 for float64.
  std::optional<double> tolerance;
  at::Device device = at::kCPU;  // of the attention
};

struct ComparedTensor {
  std::string name;
  std::vector<int64_t> shape;
  double largest = 0;   // |value| in the file
  double absolute = 0;  // largest |difference|; infinite where either is not finite
  double relative = 0;  // absolute / largest; where that is 0, absolute
  bool passed = false;
  // Set where the difference is infinite because of it: which side has numbers that are not finite,
  // how many, and where the first one stands.
  std::string not_finite;
};

struct AgainstReport {
  std::string dtype;  // "float32"
  bool is_causal = false;
  int64_t max_length_tokens = 0;
  double tolerance = 0;
  std::vector<ComparedTensor> tensors;  // out, then gradients
  bool passed() const;
};

// Runs the fast form in the file's type. InvalidArgument, naming the tensor, what was found and
// what is expected, for a damaged file and for tensors that are unknown, missing or do not fit.
absl::StatusOr<AgainstReport> CompareWithFile(absl::string_view path,
                                              const AgainstRequest& request);
// The same of a file that was read.
absl::StatusOr<AgainstReport> CompareWithTensors(const SafetensorsFile& file,
                                                 const AgainstRequest& request);

}  // namespace lra

#endif  // LRA_MODELS_CONFORMANCE_AGAINST_H_
