// CIFAR-10 (Krizhevsky 2009) read pixel by pixel, as in the Long-Range Arena (Tay et al. 2021):
// what does a 32 x 32 picture show? The colours are stored; the view makes them grey. And
// cifar_pixels, the same pictures with every value of every pixel guessed from the earlier ones, as
// in Katharopoulos et al. 2020, section 4.2.2 (Table 2).
//
//   source: 3 x 32 x 32 bytes     label: 0 airplane ... 9 truck
//   sizes:  50,000 / 10,000; the view cuts validation from train
//   raw:    cifar-10-binary.tar.gz or cifar-10-python.tar.gz of
//           https://www.cs.toronto.edu/~kriz/cifar.html
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "tasks/image/cifar_binary.h"
#include "tasks/image/cifar_reader.h"
#include "tasks/image/image.pb.h"
#include "tasks/linear_baseline.h"
#include "tasks/picture.h"
#include "tasks/raw_files.h"
#include "tasks/task.h"

namespace lra {
namespace {

using namespace image;  // NOLINT: the task's own words

class ImageTask : public Task {
 public:
  ImageTask(std::string name, ImageOptions options)
      : name_(std::move(name)), options_(std::move(options)) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name(name_);
    spec.set_version(1);
    spec.set_content(TaskSpec::RGB_IMAGE);
    spec.set_image_side_pixels(kCifarSide);
    spec.set_vocabulary_size(256);
    spec.set_max_length_tokens(kCifarImageBytes);
    spec.set_classes(kCifarClasses);
    spec.set_metric(TaskSpec::ACCURACY);
    return spec;
  }

  std::vector<SplitSize> Splits() const override { return {{"train", 0}, {"test", 0}}; }

  std::string RawDescription() const override {
    return "cifar-10-binary.tar.gz or cifar-10-python.tar.gz, or the folder that one unpacks to";
  }

  absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const override {
    return MakeCifarReader(std::move(source), options_.images_per_file());
  }

  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    LRA_ASSIGN_OR_RETURN(const CifarImage image, ParseCifarRecord(raw.bytes, ImageNumber(raw.key)));
    EncodedExample example;
    example.tokens.assign(image.planes, image.planes + kCifarImageBytes);
    example.label = image.label;
    return example;
  }

  absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const override {
    RawExample raw;
    raw.bytes.assign(1, static_cast<char>(example.label));
    raw.bytes.append(example.tokens.begin(), example.tokens.end());
    return raw;
  }

  absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                   uint32_t seed) const override {
    for (uint32_t file = 0; file < 6; ++file) {
      RandomStream random(seed, RandomDomain::kSample, {file, 0, 0});
      std::string bytes;
      for (int32_t i = 0; i < options_.images_per_file(); ++i) {
        bytes.push_back(static_cast<char>(random.Below(kCifarClasses)));
        for (int j = 0; j < kCifarImageBytes; ++j) {
          bytes.push_back(static_cast<char>(random.Below(256)));
        }
      }
      const std::string name = file == 5 ? "test_batch" : absl::StrCat("data_batch_", file + 1);
      LRA_RETURN_IF_ERROR(
          WriteSampleFile(folder, absl::StrCat("cifar-10-batches-bin/", name, ".bin"), bytes));
    }
    return std::vector<int64_t>{5 * int64_t{options_.images_per_file()},
                                options_.images_per_file()};
  }

  std::string ToText(const StoredExample& example) const override {
    return PictureText(Spec(), example.tokens);
  }

  std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView& view) const override {
    return PixelBaselines();
  }

 private:
  const std::string name_;
  const ImageOptions options_;
};

absl::StatusOr<std::unique_ptr<Task>> Make(const std::string& name,
                                           const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(ImageOptions options, UnpackOptions<ImageOptions>("task", name, packed));
  return std::make_unique<ImageTask>(name, std::move(options));
}

absl::StatusOr<std::unique_ptr<Task>> MakeImage(const google::protobuf::Any& packed) {
  return Make("image", packed);
}
absl::StatusOr<std::unique_ptr<Task>> MakeCifarPixels(const google::protobuf::Any& packed) {
  return Make("cifar_pixels", packed);
}

LRA_REGISTER(TaskRegistry, "image", MakeImage);
LRA_REGISTER(TaskRegistry, "cifar_pixels", MakeCifarPixels);

}  // namespace
}  // namespace lra
