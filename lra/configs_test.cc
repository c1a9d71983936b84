// Rules that every file of configs/ must keep.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/task_files.h"
#include "lra/textproto.h"

namespace lra {
namespace {

using testing::IsEmpty;

// Maps each folder of configs/ ("" is configs/ itself) to the message type of its files.
const std::map<std::string, std::string>& FileTypes() {
  static const auto* const types =
      new std::map<std::string, std::string>{{"", "lra.RunFile"},
                                             {"runs", "lra.RunFile"},
                                             {"tasks", "lra.TaskFile"},
                                             {"data_only", "lra.TaskFile"},
                                             {"attentions", "lra.AttentionFile"},
                                             {"blocks", "lra.BlockFile"},
                                             {"pretraining", "lra.PretrainFile"},
                                             {"protocols", "lra.ConfigFragment"},
                                             {"protocols/earlier", "lra.ConfigFragment"},
                                             {"presets", "lra.ConfigFragment"},
                                             {"doctor", "lra.Landmarks"},
                                             {"efficiency", "lra.EfficiencyGrid"},
                                             {"suites", "lra.SuiteFile"},
                                             {"papers", "lra.PaperFile"},
                                             {"published", "lra.PublishedTable"},
                                             {"published_speeds", "lra.PublishedSpeeds"}};
  return *types;
}

struct Combination {
  std::string task, protocol, preset, attention;
  std::string text() const {
    return absl::StrCat(task, " x ", protocol, " x ", preset, " x ", attention);
  }
};

// Every task under each protocol that has rules for it, in the sizes of each preset that has some
// for it, with every attention.
std::vector<Combination> AllCombinations() {
  std::vector<Combination> all;
  for (const std::string& task : ConfigNames("tasks")) {
    const std::vector<std::string> presets = NamesForTask("presets", task).value();
    const std::vector<std::string> protocols = NamesForTask("protocols", task).value();
    for (const std::string& protocol : protocols) {
      for (const std::string& preset : presets) {
        for (const std::string& attention : ConfigNames("attentions"))
          all.push_back({task, protocol, preset, attention});
      }
    }
  }
  return all;
}

absl::StatusOr<ResolvedConfig> Build(const Combination& c) {
  ConfigBuilder builder(c.task);
  for (const absl::Status& status : {builder.AddProtocol(c.protocol), builder.AddPreset(c.preset),
                                     builder.AddAttention(c.attention)}) {
    if (!status.ok()) return status;
  }
  return builder.Build();
}

TEST(ConfigsTest, EveryFileParses) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ConfigDirectory())) {
    if (!entry.is_regular_file()) continue;
    ASSERT_EQ(entry.path().extension(), ".textproto") << entry.path();
    std::string folder = std::filesystem::relative(entry.path().parent_path(), ConfigDirectory());
    if (folder == ".") folder = "";
    const auto type = FileTypes().find(folder);
    ASSERT_NE(type, FileTypes().end()) << "a new kind of config: " << entry.path();
    const auto* descriptor =
        google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(type->second);
    ASSERT_NE(descriptor, nullptr) << type->second;
    std::unique_ptr<google::protobuf::Message> message(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
    EXPECT_EQ(ReadTextProto(entry.path().string(), message.get()), absl::OkStatus());
    EXPECT_EQ(CheckRanges(*message), absl::OkStatus()) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 8);
}

// A file's name must equal the name that it gives itself; the loaders check that.
TEST(ConfigsTest, EveryFileIsNamedAsItCallsItself) {
  for (const char* kind : {"protocols", "presets"}) {
    for (const std::string& name : ConfigNames(kind)) {
      const auto fragment = LoadFragment(kind, name);
      ASSERT_TRUE(fragment.ok()) << fragment.status();
      EXPECT_GE(fragment->version(), 1) << name;
      EXPECT_NE(fragment->description(), "") << name;
    }
  }
  for (const std::string& name : ConfigNames("attentions")) {
    const auto file = LoadAttentionFile(name);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_NE(file->description(), "") << name;
  }
  for (const std::string& name : ConfigNames("blocks")) {
    const auto file = LoadBlockFile(name);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_NE(file->description(), "") << name;
    // Names of fields that there are.
    const std::vector<std::string> fields = UnsetFields(ExperimentConfig());
    for (const std::string& field : file->idle_field())
      EXPECT_THAT(fields, testing::Contains(field)) << name;
  }
  for (const std::string& name : ConfigNames("tasks")) {
    EXPECT_TRUE(LoadTaskFile(name).ok()) << LoadTaskFile(name).status();
  }
}

TEST(ConfigsTest, FragmentsDoNotChooseWhatTheFlagsChoose) {
  for (const char* kind : {"protocols", "presets"}) {
    for (const std::string& name : ConfigNames(kind)) {
      const auto fragment = LoadFragmentForAllTasks(kind, name);
      ASSERT_TRUE(fragment.ok());
      std::vector<ExperimentConfig> parts = {fragment->base()};
      for (const auto& [task, part] : fragment->task()) parts.push_back(part);
      for (const auto& [protocol, part] : fragment->protocol()) parts.push_back(part);
      for (const auto& [method, part] : fragment->method()) parts.push_back(part);
      for (const ExperimentConfig& part : parts) {
        EXPECT_FALSE(part.has_protocol() || part.has_preset() || part.has_task() ||
                     part.has_seed() || part.attention().has_name())
            << kind << "/" << name;
      }
    }
  }
}

// Which fields of a view a task needs depends on its data: tests/views_test.cc checks that.
void EraseViewFields(std::vector<std::string>* unset) {
  std::erase_if(*unset, [](const std::string& path) {
    return path.rfind("view.", 0) == 0 && path != "view.max_length_tokens";
  });
}

// Fields that belong to one value of another field, and stages that a run need not have.
void EraseConditionalFields(const ExperimentConfig& config, std::vector<std::string>* unset) {
  std::erase_if(*unset, [&](const std::string& path) {
    if (path.rfind("schedule.plateau_", 0) == 0)
      return config.schedule().kind() != ScheduleConfig::PLATEAU;
    if (path.rfind("schedule.drop_", 0) == 0)
      return config.schedule().kind() != ScheduleConfig::STEP;
    if (path == "model.mixture_components")
      return config.model().token_head() != ModelConfig::LOGISTIC_MIXTURE;
    if (path == "evaluation.batch_statistics")
      return config.model().norm() != ModelConfig::BATCH &&
             (config.model().pooled_norm() != ModelConfig::OVER_EXAMPLES ||
              config.view().target() != DataView::LABEL);
    if (path == "evaluation.step")
      return config.evaluation().selection() != EvaluationConfig::FIXED_STEP;
    if (path == "evaluation.scored_examples" || path == "block.options" ||
        path == "start_weights_sha256" || path == "encoder_weights_sha256" ||
        path == "encoder_recipe")
      return true;
    if (path == "schedule.warmup_steps") return config.schedule().has_warmup_fraction();
    if (path == "schedule.warmup_fraction") return config.schedule().has_warmup_steps();
    return path.rfind("pretrain.", 0) == 0 || path.rfind("search.", 0) == 0;
  });
}

// Sanitizers see in a few what they would see in all, which take them minutes.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStride = 17;
#else
constexpr size_t kStride = 1;
#endif

// Every combination builds, and nothing stays unset but the second way of giving the warm-up and
// the options of a block that has none. One test, because building them all takes most of its time.
TEST(ConfigsTest, EveryCombinationBuildsAndLeavesNoScalarUnset) {
  const std::vector<Combination> all = AllCombinations();
  EXPECT_GE(all.size(), 9u);
  for (size_t i = 0; i < all.size(); i += kStride) {
    const Combination& c = all[i];
    const auto resolved = Build(c);
    ASSERT_TRUE(resolved.ok()) << c.text() << ": " << resolved.status();
    std::vector<std::string> unset = UnsetFields(resolved->config);
    EraseConditionalFields(resolved->config, &unset);
    EraseViewFields(&unset);
    EXPECT_THAT(unset, IsEmpty()) << c.text();
  }
}

// The rules come from the protocol alone: it sets each of them itself and does not rely on a
// preset.
TEST(ConfigsTest, AProtocolSetsEveryRule) {
  const std::set<std::string> sizes = {
      "preset",           "seed",        "task",        "attention.name",  "attention.options",
      "model.layers",     "model.width", "model.heads", "model.qkv_width", "model.mlp_width",
      "model.head_width", "protocol"};
  for (const std::string& name : ConfigNames("protocols")) {
    const auto fragment = LoadFragmentForAllTasks("protocols", name);
    ASSERT_TRUE(fragment.ok());
    EXPECT_FALSE(fragment->task().empty()) << name;
    for (const auto& [task, part] : fragment->task()) {
      ExperimentConfig rules = fragment->base();
      MergeConfig(part, &rules);
      std::vector<std::string> unset = UnsetFields(rules);
      std::erase_if(unset, [&](const std::string& path) { return sizes.count(path) > 0; });
      EraseConditionalFields(rules, &unset);
      EraseViewFields(&unset);
      EXPECT_THAT(unset, IsEmpty()) << name << " for " << task;
    }
  }
}

// A key that names nothing would silently change nothing.
TEST(ConfigsTest, EveryKeyOfAFragmentNamesSomething) {
  const auto knows = [](const char* kind, const std::string& name) {
    const std::vector<std::string> names = ConfigNames(kind);
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const char* kind : {"protocols", "presets"}) {
    for (const std::string& name : ConfigNames(kind)) {
      const auto fragment = LoadFragment(kind, name);
      ASSERT_TRUE(fragment.ok());
      for (const auto& [task, part] : fragment->task()) EXPECT_TRUE(knows("tasks", task)) << task;
      for (const auto& [key, part] : fragment->protocol()) {
        const size_t colon = std::min(key.find(':'), key.size());
        EXPECT_TRUE(knows("protocols", key.substr(0, colon))) << key;
        EXPECT_TRUE(colon == key.size() || knows("tasks", key.substr(colon + 1))) << key;
      }
      for (const auto& [key, part] : fragment->method()) {
        const size_t colon = key.find(':'), slash = key.find('/');
        ASSERT_NE(slash, std::string::npos) << key;
        const size_t begin = colon == std::string::npos ? 0 : colon + 1;
        const std::string task = key.substr(begin, slash - begin);
        EXPECT_TRUE(begin == 0 || knows("protocols", key.substr(0, colon))) << key;
        EXPECT_TRUE(task == "*" || knows("tasks", task)) << key;
        const std::string attention = key.substr(slash + 1);
        EXPECT_TRUE(attention == kNoAttention || knows("attentions", attention)) << key;
      }
    }
  }
  for (const std::string& task : ConfigNames("tasks")) {
    const auto file = LoadTaskFile(task);
    ASSERT_TRUE(file.ok()) << file.status();
    for (const auto& [key, part] : file->protocol()) EXPECT_TRUE(knows("protocols", key)) << task;
    for (const auto& [key, part] : file->preset()) EXPECT_TRUE(knows("presets", key)) << task;
  }
}

// Sets a field to another value of its type.
void Flip(google::protobuf::Message* message, const google::protobuf::FieldDescriptor* field) {
  const google::protobuf::Reflection& r = *message->GetReflection();
  using F = google::protobuf::FieldDescriptor;
  switch (field->cpp_type()) {
    case F::CPPTYPE_INT32:
      return r.SetInt32(message, field, r.GetInt32(*message, field) + 1);
    case F::CPPTYPE_UINT32:
      return r.SetUInt32(message, field, r.GetUInt32(*message, field) + 1);
    case F::CPPTYPE_FLOAT:
      return r.SetFloat(message, field, r.GetFloat(*message, field) + 1);
    case F::CPPTYPE_DOUBLE:
      return r.SetDouble(message, field, r.GetDouble(*message, field) + 1);
    case F::CPPTYPE_BOOL:
      return r.SetBool(message, field, !r.GetBool(*message, field));
    case F::CPPTYPE_ENUM:
      return r.SetEnumValue(message, field, r.GetEnumValue(*message, field) == 1 ? 2 : 1);
    default:
      return r.SetString(message, field, r.GetString(*message, field) + "x");
  }
}

// Flips each scalar with presence of `message` and its sub-messages in turn; returns how many.
int ForEachFlip(google::protobuf::Message* message,
                const std::function<void(const std::string&)>& see) {
  int flips = 0;
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const auto* field = message->GetDescriptor()->field(i);
    if (field->is_repeated()) continue;
    const google::protobuf::Reflection& r = *message->GetReflection();
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      if (field->message_type()->full_name() == "google.protobuf.Any") continue;
      flips += ForEachFlip(r.MutableMessage(message, field), see);
      continue;
    }
    const std::unique_ptr<google::protobuf::Message> before(message->New());
    before->CopyFrom(*message);
    Flip(message, field);
    see(field->full_name());
    message->CopyFrom(*before);
    ++flips;
  }
  return flips;
}

// Every field counts: no two configurations that differ in one of them share a fingerprint.
TEST(ConfigsTest, FlippingAnySwitchChangesTheFingerprint) {
  auto resolved = Build({"listops", "fair", "small", "transformer"});
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  ExperimentConfig config = resolved->config;
  // These messages are made present, so that their fields are walked too.
  config.mutable_pretrain(), config.mutable_search();
  std::set<std::string> seen = {Fingerprint(config)};
  const int flips = ForEachFlip(&config, [&](const std::string& name) {
    EXPECT_TRUE(seen.insert(Fingerprint(config)).second) << name;
  });
  EXPECT_GT(flips, 70);
}

TEST(ConfigsTest, EveryRunFileBuildsForEachOfItsAttentions) {
  for (const std::string& name : ConfigNames("")) {
    RunFile run;
    ASSERT_TRUE(
        ReadTextProto(JoinPath(ConfigDirectory(), absl::StrCat(name, ".textproto")), &run).ok());
    EXPECT_GT(run.attention_size(), 0) << name;
    for (const std::string& attention : run.attention()) {
      ConfigBuilder builder(run.task());
      ASSERT_EQ(builder.AddProtocol(run.protocol()), absl::OkStatus());
      ASSERT_EQ(builder.AddPreset(run.preset()), absl::OkStatus());
      ASSERT_EQ(builder.AddAttention(attention), absl::OkStatus());
      ASSERT_EQ(builder.AddOverrides(run.overrides(), name), absl::OkStatus());
      EXPECT_TRUE(builder.Build().ok()) << name << " " << builder.Build().status();
    }
  }
}

}  // namespace
}  // namespace lra
