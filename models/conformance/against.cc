#include "models/conformance/against.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "models/base/torch_status.h"
#include "models/conformance/comparison.h"
#include "models/interface/attention.h"

namespace lra {
namespace {

using Shape = std::vector<int64_t>;

std::string ShapeText(at::IntArrayRef shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

std::string TypeText(at::ScalarType type) {
  if (type == at::kFloat) return "float32";
  if (type == at::kDouble) return "float64";
  return c10::toString(type);
}

absl::Status Wrong(absl::string_view tensor, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("tensor \"", tensor, "\": ", what));
}

// "3 of 40 values of the file are not finite, the first at [0, 1, 2, 3]"; empty if all are.
std::string DescribeNotFinite(const at::Tensor& values, absl::string_view whose) {
  const at::Tensor bad = values.detach().isfinite().logical_not().flatten();
  const int64_t count = bad.sum().item<int64_t>();
  if (count == 0) return "";
  int64_t rest = bad.to(at::kInt).argmax().item<int64_t>();
  Shape first(values.dim());
  for (int64_t d = values.dim() - 1; d >= 0; --d) {
    first[d] = rest % values.size(d);
    rest /= values.size(d);
  }
  return absl::StrCat(count, " of ", values.numel(), " values of ", whose,
                      " are not finite, the first at ", ShapeText(first));
}

// The tensors of the file. Each is taken once, so those that are left at the end are unknown.
class Tensors {
 public:
  explicit Tensors(const SafetensorsFile& file) : left_(file.tensors.begin(), file.tensors.end()) {}

  bool Has(const std::string& name) const { return left_.count(name) > 0; }
  void SetType(at::ScalarType type) { type_ = type; }
  at::ScalarType type() const { return type_; }

  // `letters` says what the shape means, "[B, H, N, D]", for error messages.
  absl::StatusOr<at::Tensor> Take(const std::string& name, const Shape& shape,
                                  absl::string_view letters) {
    const std::string expected =
        absl::StrCat(TypeText(type_), " ", ShapeText(shape), letters.empty() ? "" : " = ", letters);
    known_.push_back(name);
    auto it = left_.find(name);
    if (it == left_.end()) return Wrong(name, absl::StrCat("is missing; expected: ", expected));
    const at::Tensor tensor = it->second;
    left_.erase(it);
    if (tensor.sizes() == at::IntArrayRef(shape) && tensor.scalar_type() == type_) return tensor;
    return Wrong(name, absl::StrCat("is ", TypeText(tensor.scalar_type()), " ",
                                    ShapeText(tensor.sizes()), ", expected: ", expected));
  }

  // Like Take(), but returns an undefined tensor where the file has none.
  absl::StatusOr<at::Tensor> TakeOptional(const std::string& name, const Shape& shape,
                                          absl::string_view letters) {
    if (Has(name)) return Take(name, shape, letters);
    known_.push_back(name);
    return at::Tensor();
  }

  // Returns the mask [B, Nk] as bool, from BOOL or from U8 that holds 0 and 1. It is undefined
  // where the file has none.
  absl::StatusOr<at::Tensor> TakeKeep(int64_t batch, int64_t keys) {
    known_.push_back("keep");
    auto it = left_.find("keep");
    if (it == left_.end()) return at::Tensor();
    const at::Tensor keep = it->second;
    left_.erase(it);
    const Shape shape = {batch, keys};
    if (keep.sizes() != at::IntArrayRef(shape) ||
        (keep.scalar_type() != at::kBool && keep.scalar_type() != at::kByte)) {
      return Wrong("keep",
                   absl::StrCat("is ", TypeText(keep.scalar_type()), " ", ShapeText(keep.sizes()),
                                ", expected: BOOL or U8 ", ShapeText(shape), " = [B, Nk]"));
    }
    if (keep.scalar_type() == at::kByte && keep.numel() > 0 && keep.max().item<int>() > 1)
      return Wrong("keep", absl::StrCat("holds ", keep.max().item<int>(), ", expected: 0 and 1"));
    return keep.to(at::kBool);
  }

  absl::Status CheckNothingLeft(absl::string_view attention) const {
    if (left_.empty()) return absl::OkStatus();
    const auto& [name, tensor] = *left_.begin();
    const std::string nearest = Nearest(name, known_);
    return Wrong(
        name,
        absl::StrCat("is ", TypeText(tensor.scalar_type()), " ", ShapeText(tensor.sizes()),
                     ", which \"", attention, "\" does not read",
                     nearest.empty() ? "." : absl::StrCat("; did you mean \"", nearest, "\"?"),
                     " Known: ", absl::StrJoin(known_, ", ")));
  }

 private:
  std::map<std::string, at::Tensor> left_;
  std::vector<std::string> known_;
  at::ScalarType type_ = at::kFloat;
};

struct Sizes {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0, value_width = 0, model_width = 0;
};

// Reads the sizes from the shapes of q, k, v and x. Tensors that are missing or do not fit one
// another are refused later, by Take().
absl::StatusOr<Sizes> ReadSizes(const SafetensorsFile& file, Tensors* tensors) {
  std::map<std::string, at::Tensor> all(file.tensors.begin(), file.tensors.end());
  const auto check = [&](const char* name, int64_t axes, absl::string_view letters) {
    const auto it = all.find(name);
    if (it == all.end())
      return Wrong(name, absl::StrCat("is missing; expected: float32 or float64 ", letters));
    const bool is_float =
        it->second.scalar_type() == at::kFloat || it->second.scalar_type() == at::kDouble;
    if (is_float && it->second.dim() == axes && it->second.numel() > 0) return absl::OkStatus();
    return Wrong(name, absl::StrCat("is ", TypeText(it->second.scalar_type()), " ",
                                    ShapeText(it->second.sizes()),
                                    ", expected: float32 or float64 ", letters));
  };
  LRA_RETURN_IF_ERROR(check("q", 4, "[B, H, N, D]"));
  const at::Tensor q = all["q"];
  tensors->SetType(q.scalar_type());
  Sizes sizes = {q.size(0), q.size(1), q.size(2), q.size(2), q.size(3), q.size(3), 0};
  if (all.count("k") > 0) {
    LRA_RETURN_IF_ERROR(check("k", 4, "[B, H, Nk, D]"));
    sizes.keys = all["k"].size(2);
  }
  if (all.count("v") > 0) {
    LRA_RETURN_IF_ERROR(check("v", 4, "[B, H, Nk, Dv]"));
    sizes.value_width = all["v"].size(3);
  }
  sizes.model_width = sizes.heads * sizes.width;
  if (all.count("x") > 0) {
    LRA_RETURN_IF_ERROR(check("x", 3, "[B, N, E]"));
    sizes.model_width = all["x"].size(2);
  }
  return sizes;
}

absl::StatusOr<bool> ReadCausal(const SafetensorsFile& file) {
  const std::vector<std::string> known = {"causal", "format"};  // libraries write the second one
  for (const auto& [name, value] : file.metadata) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return UnknownNameError("metadata", name, known);
  }
  const auto it = file.metadata.find("causal");
  if (it == file.metadata.end() || it->second == "false") return false;
  if (it->second == "true") return true;
  return absl::InvalidArgumentError(absl::StrCat("metadata \"causal\": is \"", it->second,
                                                 "\", expected: \"true\" or \"false\""));
}

// One comparison while it is put together. Run() calls the steps in order.
class Comparison {
 public:
  Comparison(const SafetensorsFile& file, const AgainstRequest& request)
      : file_(file), request_(request), tensors_(file) {}

  absl::StatusOr<AgainstReport> Run() {
    LRA_ASSIGN_OR_RETURN(sizes_, ReadSizes(file_, &tensors_));
    LRA_ASSIGN_OR_RETURN(report_.is_causal, ReadCausal(file_));
    LRA_RETURN_IF_ERROR(MakeAttention());
    LRA_RETURN_IF_ERROR(TakeInputs());
    LRA_RETURN_IF_ERROR(TakeOwned());
    LRA_RETURN_IF_ERROR(TakeGradients());
    LRA_RETURN_IF_ERROR(tensors_.CheckNothingLeft(request_.attention));
    Compare();
    return report_;
  }

 private:
  absl::Status MakeAttention() {
    const int64_t longest = std::max(sizes_.queries, sizes_.keys);
    if (request_.max_length_tokens > 0 && request_.max_length_tokens < longest) {
      return absl::InvalidArgumentError(absl::StrCat("max_length: is ", request_.max_length_tokens,
                                                     ", below the file's ", longest, " tokens"));
    }
    AttentionContext context;
    context.heads = sizes_.heads;
    context.head_width = sizes_.width;
    context.model_width = sizes_.model_width;
    context.max_length_tokens =
        request_.max_length_tokens > 0 ? request_.max_length_tokens : longest;
    context.parameters = &parameters_;
    context.options = request_.options;
    LRA_ASSIGN_OR_RETURN(attention_,
                         AttentionRegistry::Get().Create("attention", request_.attention, context));
    report_.max_length_tokens = context.max_length_tokens;
    report_.dtype = TypeText(tensors_.type());
    report_.tolerance = request_.tolerance.value_or(tensors_.type() == at::kFloat ? 1e-5 : 1e-9);
    const Traits& traits = attention_->traits();
    if (report_.is_causal && traits.causality == Causality::kNever) {
      return absl::InvalidArgumentError(absl::StrCat("metadata \"causal\": is \"true\", but \"",
                                                     request_.attention, "\" has ",
                                                     NoCausalForm(traits)));
    }
    if (sizes_.queries != sizes_.keys && !traits.supports_cross) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensors \"q\" and \"k\": ", sizes_.queries, " queries and ", sizes_.keys,
                       " keys, but \"", request_.attention, "\" takes as many of both"));
    }
    return absl::OkStatus();
  }

  absl::Status TakeInputs() {
    const Sizes& s = sizes_;
    const Traits& traits = attention_->traits();
    AttentionInput& input = case_.input;
    input.causal = report_.is_causal;
    LRA_ASSIGN_OR_RETURN(
        input.q, tensors_.Take("q", {s.batch, s.heads, s.queries, s.width}, "[B, H, N, D]"));
    key_is_query_ = traits.projections != Projections::kQueryKeyValue && !tensors_.Has("k");
    value_is_query_ = traits.projections == Projections::kNone && !tensors_.Has("v");
    input.k = input.v = input.q;
    input.x = at::Tensor();
    if (!key_is_query_) {
      LRA_ASSIGN_OR_RETURN(
          input.k, tensors_.Take("k", {s.batch, s.heads, s.keys, s.width}, "[B, H, Nk, D]"));
    }
    if (!value_is_query_) {
      LRA_ASSIGN_OR_RETURN(
          input.v, tensors_.Take("v", {s.batch, s.heads, s.keys, s.value_width}, "[B, H, Nk, Dv]"));
    }
    LRA_ASSIGN_OR_RETURN(input.keep, tensors_.TakeKeep(s.batch, s.keys));
    if (traits.uses_layer_input) {
      LRA_ASSIGN_OR_RETURN(input.x,
                           tensors_.Take("x", {s.batch, s.queries, s.model_width}, "[B, N, E]"));
    }
    LRA_ASSIGN_OR_RETURN(expected_.output, tensors_.Take("out", OutputShape(), "[B, H, N, Dv]"));
    return absl::OkStatus();
  }

  Shape OutputShape() const {
    return {sizes_.batch, sizes_.heads, sizes_.queries, sizes_.value_width};
  }

  // Takes what the attention owns in the file's type, because float32 would round float64 values.
  absl::Status TakeOwned() {
    for (const std::vector<Parameter>* owned :
         {&parameters_.parameters(), &parameters_.buffers()}) {
      for (const Parameter& parameter : *owned) {
        LRA_ASSIGN_OR_RETURN(const at::Tensor value,
                             tensors_.Take(parameter.name, parameter.value.sizes().vec(), ""));
        at::Tensor(parameter.value).set_data(value.clone());
      }
    }
    return absl::OkStatus();
  }

  absl::Status TakeGradients() {
    const auto take = [&](const std::string& name, const at::Tensor& of) -> absl::Status {
      LRA_ASSIGN_OR_RETURN(const at::Tensor gradient,
                           tensors_.TakeOptional("grad_" + name, of.sizes().vec(),
                                                 absl::StrCat("the shape of ", name)));
      if (gradient.defined()) gradients_["grad_" + name] = gradient;
      return absl::OkStatus();
    };
    LRA_ASSIGN_OR_RETURN(case_.upstream,
                         tensors_.TakeOptional("grad_out", OutputShape(), "[B, H, N, Dv]"));
    LRA_RETURN_IF_ERROR(take("q", case_.input.q));
    if (!key_is_query_) LRA_RETURN_IF_ERROR(take("k", case_.input.k));
    if (!value_is_query_) LRA_RETURN_IF_ERROR(take("v", case_.input.v));
    if (case_.input.x.defined()) LRA_RETURN_IF_ERROR(take("x", case_.input.x));
    for (const Parameter& parameter : parameters_.parameters())
      LRA_RETURN_IF_ERROR(take(parameter.name, parameter.value));
    if (!case_.upstream.defined()) {
      if (!gradients_.empty()) {
        return Wrong("grad_out",
                     absl::StrCat("is missing, though there is \"", gradients_.begin()->first,
                                  "\"; expected: ", ShapeText(OutputShape()), " = [B, H, N, Dv]"));
      }
      case_.upstream = at::zeros_like(expected_.output);
    }
    if (at::equal(RealRows(case_.upstream, case_), case_.upstream)) return absl::OkStatus();
    return Wrong("grad_out",
                 "is not 0 in rows of padded queries, whose output is unspecified; write 0 there");
  }

  void Compare() {
    parameters_.MoveTo(request_.device);
    const AttentionOutcome actual = RunAttention(*attention_, Form::kFast, case_, request_.device);
    Add("out", RealRows(actual.output, case_), RealRows(expected_.output, case_));
    std::map<std::string, at::Tensor> found = {
        {"grad_q", actual.dq}, {"grad_k", actual.dk}, {"grad_v", actual.dv}, {"grad_x", actual.dx}};
    if (key_is_query_) found["grad_q"] = found["grad_q"] + actual.dk;
    if (value_is_query_) found["grad_q"] = found["grad_q"] + actual.dv;
    for (const Parameter& parameter : parameters_.parameters()) {
      const at::Tensor& gradient = parameter.value.grad();
      found["grad_" + parameter.name] =
          gradient.defined() ? gradient.cpu() : at::zeros_like(parameter.value, at::kCPU);
    }
    for (const auto& [name, gradient] : gradients_) Add(name, found.at(name), gradient);
  }

  void Add(const std::string& name, const at::Tensor& actual, const at::Tensor& expected) {
    ComparedTensor compared;
    compared.name = name;
    compared.shape = expected.sizes().vec();
    compared.largest = expected.abs().max().item<double>();
    compared.absolute = MaxDifference(actual, expected);
    compared.relative =
        compared.largest > 0 ? compared.absolute / compared.largest : compared.absolute;
    compared.passed = compared.relative <= report_.tolerance;
    compared.not_finite = DescribeNotFinite(expected, "the file");
    if (compared.not_finite.empty())
      compared.not_finite = DescribeNotFinite(actual, "the attention");
    report_.tensors.push_back(std::move(compared));
  }

  const SafetensorsFile& file_;
  const AgainstRequest& request_;
  Tensors tensors_;
  Sizes sizes_;
  ParameterStore parameters_{0};
  std::unique_ptr<Attention> attention_;
  AttentionCase case_{0, 1, 1, 1, 1, 1};
  AttentionOutcome expected_;
  bool key_is_query_ = false, value_is_query_ = false;
  std::map<std::string, at::Tensor> gradients_;
  AgainstReport report_;
};

}  // namespace

bool AgainstReport::passed() const {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const ComparedTensor& tensor) { return tensor.passed; });
}

absl::StatusOr<AgainstReport> CompareWithTensors(const SafetensorsFile& file,
                                                 const AgainstRequest& request) {
  AgainstReport report;
  LRA_RETURN_IF_ERROR(CatchTorch([&]() -> absl::Status {
    LRA_ASSIGN_OR_RETURN(report, Comparison(file, request).Run());
    return absl::OkStatus();
  }));
  return report;
}

absl::StatusOr<AgainstReport> CompareWithFile(absl::string_view path,
                                              const AgainstRequest& request) {
  const absl::StatusOr<SafetensorsFile> file = ReadSafetensors(path);
  // A damaged file is no answer about the attention.
  if (absl::IsDataLoss(file.status())) return absl::InvalidArgumentError(file.status().message());
  LRA_RETURN_IF_ERROR(file.status());
  absl::StatusOr<AgainstReport> report = CompareWithTensors(*file, request);
  if (report.ok()) return report;
  return absl::Status(report.status().code(), absl::StrCat(path, ": ", report.status().message()));
}

}  // namespace lra
