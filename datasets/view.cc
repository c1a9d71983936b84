#include "datasets/view.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "datasets/byte_literal.h"
#include "datasets/code_points.h"
#include "datasets/grey.h"
#include "datasets/id_content.h"
#include "datasets/manifest.h"
#include "datasets/split_rule.h"
#include "lra/check.h"
#include "lra/config.h"
#include "lra/config_check.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr int32_t kUnknownId = 1;
constexpr int kByteIds = 257;  // padding and 256 bytes
constexpr int32_t kCodePoints = 0x110000;
constexpr char kTokenMetric[] = "bits_per_token";

absl::string_view AsText(absl::Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Decodes b'...' or b"...", or the beginning of one that was cut off when it was stored. nullopt
// for a text that only looks like a literal.
std::optional<std::string> DecodeLiteral(absl::string_view text, int32_t stored_limit) {
  const bool may_be_cut = static_cast<int64_t>(text.size()) == stored_limit;
  if (text.size() < 2 || (!may_be_cut && !LooksLikeByteLiteral(text))) return std::nullopt;
  absl::StatusOr<std::string> bytes =
      may_be_cut ? DecodeByteLiteralPrefix(text) : DecodeByteLiteral(text);
  // A literal of nothing, b'', is kept as it is, because no text may be empty.
  if (!bytes.ok() || bytes->empty()) return std::nullopt;
  return *std::move(bytes);
}

std::vector<std::string> SetFields(const DataView& view) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  view.GetReflection()->ListFields(view, &fields);
  std::vector<std::string> names;
  for (const auto* field : fields) names.push_back(field->name());
  return names;
}

void SetDefaults(const TaskSpec& spec, DataView* view) {
  FillDefaultsBeside(view);
  const std::vector<std::string> fields = ViewFields(spec, *view);
  const auto unset = [&](absl::string_view name) {
    const std::vector<std::string> set = SetFields(*view);
    return std::find(fields.begin(), fields.end(), name) != fields.end() &&
           std::find(set.begin(), set.end(), name) == set.end();
  };
  if (unset("max_length_tokens")) {
    const bool is_made_grey =
        spec.content() == TaskSpec::RGB_IMAGE && view->grey() != DataView::COLOURS;
    const int32_t stored = is_made_grey ? spec.max_length_tokens() / 3 : spec.max_length_tokens();
    view->set_max_length_tokens(stored + (view->end_mark() ? 1 : 0));
  }
  if (unset("brackets")) view->set_brackets(DataView::CLOSE_ONLY);
  if (unset("unit")) view->set_unit(DataView::BYTE);
  if (unset("end_mark")) view->set_end_mark(false);
  if (unset("literals")) view->set_literals(DataView::RAW);
  if (unset("grey")) view->set_grey(DataView::TENSORFLOW);
  if (unset("pixels")) view->set_pixels(DataView::IDS);
  if (unset("unknown_id")) view->set_unknown_id(false);
  if (unset("pad_to")) view->set_pad_to(DataView::LONGEST);
}

int TokensOfPixel(const TaskSpec& spec, const DataView& view) {
  return spec.content() == TaskSpec::RGB_IMAGE && view.grey() == DataView::COLOURS ? 3 : 1;
}

absl::Status CheckImageCut(const TaskSpec& spec, const DataView& view) {
  const int64_t pixels = static_cast<int64_t>(spec.image_side_pixels()) * spec.image_side_pixels();
  const int64_t tokens = pixels * TokensOfPixel(spec, view);
  if (!IsImage(spec) || view.max_length_tokens() >= tokens) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "view.max_length_tokens is ", view.max_length_tokens(), ", but an image of task \"",
      spec.name(), "\" has ", pixels, " pixels",
      tokens > pixels ? absl::StrCat(" of 3 tokens (view.grey=COLOURS), ", tokens) : "",
      "; images are not cut"));
}

// Whether there are tokens to guess, all of which a model may see.
absl::Status CheckTarget(const TaskSpec& spec, const DataView& view) {
  if (!GuessesTokens(view)) return absl::OkStatus();
  const auto refuse = [&](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("view.target=", DataView::Target_Name(view.target()), " on data of task \"",
                     spec.name(), "\": ", why));
  };
  if (spec.is_pair()) return refuse("pairs of texts have no order in which to guess them");
  if (view.pixels() == DataView::REAL)
    return refuse("view.pixels=REAL gives numbers; use IDS, which gives ids to guess");
  if (view.zero_is_padding())
    return refuse("view.zero_is_padding=true hides black pixels; use false");
  return absl::OkStatus();
}

// " (it needs view.pixels=IDS)": the value of another field of the view under which this one says
// something; empty if there is none.
std::string NeedOf(const TaskSpec& spec, const DataView& view, const std::string& name) {
  for (const std::string& other : ViewFields(spec, view)) {
    const auto* field = DataView::descriptor()->FindFieldByName(other);
    if (field->enum_type() == nullptr) continue;
    for (int i = 0; i < field->enum_type()->value_count(); ++i) {
      DataView changed = view;
      changed.GetReflection()->SetEnum(&changed, field, field->enum_type()->value(i));
      const std::vector<std::string> fields = ViewFields(spec, changed);
      if (std::find(fields.begin(), fields.end(), name) != fields.end())
        return absl::StrCat(" (it needs view.", other, "=", field->enum_type()->value(i)->name(),
                            ")");
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> ViewFields(const TaskSpec& spec, const DataView& view) {
  std::vector<std::string> fields = {"max_length_tokens"};
  if (view.has_target()) fields.push_back("target");
  if (view.target() == DataView::MASKED) fields.push_back("masked_fraction");
  if (spec.close_bracket_id() > 0) fields.push_back("brackets");
  fields.push_back("split");
  const bool text = spec.content() == TaskSpec::TEXT;
  if (text) fields.push_back("unit");
  if (!IsImage(spec)) fields.push_back("end_mark");
  if (spec.content() == TaskSpec::IDS && view.end_mark()) fields.push_back("unknown_id");
  if (text && view.unit() == DataView::CODE_POINT) fields.push_back("min_code_point_count");
  if (text && spec.is_pair()) fields.push_back("literals");
  if (spec.content() == TaskSpec::RGB_IMAGE) fields.push_back("grey");
  if (!IsImage(spec)) {
    fields.push_back("pad_to");
    return fields;
  }
  fields.push_back("pixels");
  if (view.pixels() == DataView::IDS) fields.push_back("zero_is_padding");
  if (view.pixels() != DataView::REAL) return fields;
  fields.push_back("real_mean");
  fields.push_back("real_stddev");
  return fields;
}

absl::StatusOr<DataView> ResolveView(const Manifest& manifest, const DataView& view) {
  const TaskSpec& spec = manifest.spec();
  const std::vector<std::string> fields = ViewFields(spec, view);
  for (const std::string& name : SetFields(view)) {
    if (std::find(fields.begin(), fields.end(), name) != fields.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("view.", name, " is set, but says nothing about data of task \"", spec.name(),
                     "\" under this view", NeedOf(spec, view, name), "; its fields are ",
                     absl::StrJoin(fields, ", ")));
  }
  DataView resolved = view;
  SetDefaults(spec, &resolved);
  LRA_ASSIGN_OR_RETURN(const DataView::Split rule, ResolveSplitRule(manifest, view));
  resolved.set_split(rule);
  if (resolved.end_mark() && resolved.max_length_tokens() < 2) {
    return absl::InvalidArgumentError(
        "view.max_length_tokens is 1: view.end_mark=true would leave nothing but the mark");
  }
  LRA_RETURN_IF_ERROR(CheckImageCut(spec, resolved));
  LRA_RETURN_IF_ERROR(CheckTarget(spec, resolved));
  return resolved;
}

struct ViewTransform::Vocabulary {
  std::unordered_map<int32_t, int32_t> ids;  // from code point to id
  std::vector<int32_t> code_points;          // in the order of their ids
};

TaskSpec SpecWithoutData(const TaskSpec& spec, DataView view) {
  if (view.unit() == DataView::CODE_POINT) view.set_unit(DataView::BYTE);
  return ViewTransform(spec, view).spec();
}

ViewTransform::ViewTransform(const TaskSpec& spec, const DataView& view)
    : stored_(spec), view_(view) {
  if (view_.end_mark()) end_mark_id_ = EndMarkId(NeedsVocabulary() ? stored_ : this->spec(), view_);
}

int64_t ViewTransform::CutTokens() const {
  return view_.max_length_tokens() - (view_.end_mark() ? 1 : 0);
}

void ViewTransform::AddVocabulary(int64_t examples, const TextSource& text) {
  std::vector<int64_t> counts(kCodePoints, 0);
  std::vector<int32_t> units;
  for (int64_t i = 0; i < examples; ++i) {
    for (int column = 0; column < (stored_.is_pair() ? 2 : 1); ++column) {
      Units(text(i, column), &units);
      for (int32_t unit : units) ++counts[unit];
    }
  }
  auto vocabulary = std::make_shared<Vocabulary>();
  for (int32_t c = 0; c < kCodePoints; ++c) {
    if (counts[c] >= view_.min_code_point_count()) vocabulary->code_points.push_back(c);
  }
  std::stable_sort(vocabulary->code_points.begin(), vocabulary->code_points.end(),
                   [&](int32_t a, int32_t b) { return counts[a] > counts[b]; });
  int32_t id = kUnknownId + (view_.end_mark() ? 2 : 1);
  for (int32_t c : vocabulary->code_points) vocabulary->ids[c] = id++;
  vocabulary_ = std::move(vocabulary);
}

TaskSpec ViewTransform::spec() const {
  TaskSpec spec = InputSpec();
  if (!GuessesTokens(view_)) return spec;
  spec.set_guesses_tokens(true);
  spec.set_classes(spec.vocabulary_size());
  if (view_.target() == DataView::MASKED) {
    spec.set_hides_tokens(true);
    spec.set_vocabulary_size(spec.vocabulary_size() + 1);
    if (spec.token_names_size() > 0) spec.add_token_names("<mask>");
  }
  // A task with labels says how these are judged, not its tokens.
  if (stored_.classes() > 1) spec.set_metric_name(kTokenMetric);
  return spec;
}

TaskSpec ViewTransform::InputSpec() const {
  TaskSpec spec = stored_;
  spec.set_max_length_tokens(view_.max_length_tokens());
  if (IsImage(stored_)) {
    const int of_pixel = TokensOfPixel(stored_, view_);
    spec.set_max_length_tokens(stored_.image_side_pixels() * stored_.image_side_pixels() *
                               of_pixel);
    if (of_pixel > 1) spec.set_pixel_tokens(of_pixel);
    spec.set_vocabulary_size(view_.pixels() == DataView::IDS_PLUS_ONE ? 257 : 256);
    spec.set_zero_is_token(view_.pixels() == DataView::IDS);
    spec.set_is_real(view_.pixels() == DataView::REAL);
    return spec;
  }
  if (view_.unit() == DataView::CODE_POINT) {
    LRA_CHECK(vocabulary_ != nullptr);
    spec.add_token_names("<pad>");
    spec.add_token_names("<unk>");
    if (view_.end_mark()) spec.add_token_names("<eos>");
    for (int32_t c : vocabulary_->code_points) spec.add_token_names(absl::StrFormat("U+%04X", c));
    spec.set_vocabulary_size(spec.token_names_size());
    return spec;
  }
  const int32_t ids = stored_.content() == TaskSpec::TEXT ? kByteIds : stored_.vocabulary_size();
  spec.set_vocabulary_size(ids + (view_.end_mark() ? 1 : 0) + (view_.unknown_id() ? 1 : 0));
  if (spec.token_names_size() == 0) return spec;
  if (view_.end_mark()) spec.add_token_names("<eos>");
  if (view_.unknown_id()) spec.add_token_names("<unk>");
  return spec;
}

void ViewTransform::Units(absl::Span<const uint8_t> stored, std::vector<int32_t>* units) const {
  units->clear();
  absl::string_view text = AsText(stored);
  std::optional<std::string> decoded;
  if (view_.literals() == DataView::DECODED) {
    decoded = DecodeLiteral(text, stored_.max_length_tokens());
  }
  if (decoded.has_value()) text = *decoded;
  const size_t cut = static_cast<size_t>(CutTokens());
  if (view_.unit() == DataView::CODE_POINT) {
    for (char32_t c : DecodeUtf8(text, cut)) units->push_back(static_cast<int32_t>(c));
    return;
  }
  for (char c : text.substr(0, cut)) units->push_back(static_cast<uint8_t>(c));
}

void ViewTransform::ApplyText(absl::Span<const uint8_t> stored, std::vector<int32_t>* ids) const {
  Units(stored, ids);
  if (view_.unit() == DataView::BYTE) {
    for (int32_t& id : *ids) ++id;
  } else {
    for (int32_t& id : *ids) {
      const auto known = vocabulary_->ids.find(id);
      id = known == vocabulary_->ids.end() ? kUnknownId : known->second;
    }
  }
  if (view_.end_mark()) ids->push_back(end_mark_id_);
}

void ViewTransform::Pixels(absl::Span<const uint8_t> stored, std::vector<uint8_t>* pixels) const {
  if (stored_.content() == TaskSpec::GREY_IMAGE) {
    pixels->assign(stored.begin(), stored.end());
    return;
  }
  const int n = static_cast<int>(stored.size() / 3);
  if (TokensOfPixel(stored_, view_) > 1) {  // stored plane by plane
    pixels->resize(stored.size());
    for (int i = 0; i < n; ++i)
      for (int c = 0; c < 3; ++c) (*pixels)[3 * i + c] = stored[c * n + i];
    return;
  }
  pixels->resize(n);
  ToGrey(view_.grey() == DataView::PILLOW ? GreyRule::kPillow : GreyRule::kTensorflow,
         stored.data(), stored.data() + n, stored.data() + 2 * n, n, pixels->data());
}

void ViewTransform::Apply(absl::Span<const uint8_t> stored, std::vector<int32_t>* ids) const {
  if (stored_.content() == TaskSpec::TEXT) return ApplyText(stored, ids);
  LRA_CHECK(IsImage(stored_) && view_.pixels() != DataView::REAL);
  thread_local std::vector<uint8_t> pixels;
  Pixels(stored, &pixels);
  const int32_t first = view_.pixels() == DataView::IDS_PLUS_ONE ? 1 : 0;
  ids->resize(pixels.size());
  for (size_t i = 0; i < pixels.size(); ++i) (*ids)[i] = pixels[i] + first;
}

void ViewTransform::ApplyReal(absl::Span<const uint8_t> stored, std::vector<float>* values) const {
  LRA_CHECK(IsImage(stored_) && view_.pixels() == DataView::REAL);
  thread_local std::vector<uint8_t> pixels;
  Pixels(stored, &pixels);
  values->resize(pixels.size());
  for (size_t i = 0; i < pixels.size(); ++i) {
    (*values)[i] =
        (static_cast<float>(pixels[i]) / 255.0f - view_.real_mean()) / view_.real_stddev();
  }
}

void ViewTransform::Apply(absl::Span<const uint16_t> stored, std::vector<int32_t>* ids) const {
  LRA_CHECK(stored_.content() == TaskSpec::IDS);
  const int32_t dropped = view_.brackets() == DataView::NONE ? stored_.close_bracket_id() : 0;
  const size_t cut = static_cast<size_t>(CutTokens());
  ids->clear();
  for (uint16_t id : stored) {
    if (ids->size() == cut) break;
    if (dropped == 0 || id != dropped) ids->push_back(id);
  }
  if (view_.end_mark()) ids->push_back(end_mark_id_);
}

int64_t ViewTransform::FixedLength() const {
  const bool is_fixed =
      view_.pad_to() == DataView::MAX_LENGTH || view_.pad_to() == DataView::POWER_OF_TWO;
  return is_fixed ? MaxBatchTokens(view_) : 0;
}

int64_t ViewTransform::Length(absl::Span<const uint16_t> stored) const {
  int64_t length = static_cast<int64_t>(stored.size());
  if (view_.brackets() == DataView::NONE) {
    length -= std::count(stored.begin(), stored.end(), stored_.close_bracket_id());
  }
  return std::min(length, CutTokens()) + (view_.end_mark() ? 1 : 0);
}

int64_t ViewTransform::Length(absl::Span<const uint8_t> stored) const {
  const int64_t size = static_cast<int64_t>(stored.size());
  const bool is_made_grey =
      stored_.content() == TaskSpec::RGB_IMAGE && TokensOfPixel(stored_, view_) == 1;
  if (IsImage(stored_)) return is_made_grey ? size / 3 : size;
  int64_t units = std::min(size, CutTokens());
  if (view_.unit() == DataView::CODE_POINT || view_.literals() == DataView::DECODED) {
    thread_local std::vector<int32_t> scratch;
    Units(stored, &scratch);
    units = static_cast<int64_t>(scratch.size());
  }
  return units + (view_.end_mark() ? 1 : 0);
}

}  // namespace lra
