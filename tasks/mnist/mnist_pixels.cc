// MNIST (LeCun et al. 1998) pixel by pixel, each pixel guessed from the earlier ones
// (Katharopoulos et al. 2020, section 4.2.1 and Table 1). A pixel is one of 256 values; the paper's
// head, a mixture of logistics, gives bits in the same unit.
//
//   source: 28 x 28 bytes, row by row     label: the digit, which no model of pixels sees
//   sizes:  60,000 / 10,000; the view cuts validation from train
//   raw:    the four files of http://yann.lecun.com/exdb/mnist/
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/plugin_options.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "tasks/linear_baseline.h"
#include "tasks/mnist/idx.h"
#include "tasks/mnist/mnist_reader.h"
#include "tasks/picture.h"
#include "tasks/raw_files.h"
#include "tasks/task.h"

namespace lra {
namespace {

using namespace mnist;  // NOLINT: the task's own words

class MnistPixels : public Task {
 public:
  explicit MnistPixels(MnistOptions options) : options_(std::move(options)) {}

  TaskSpec Spec() const override {
    TaskSpec spec;
    spec.set_name("mnist_pixels");
    spec.set_version(1);
    spec.set_content(TaskSpec::GREY_IMAGE);
    spec.set_image_side_pixels(kSide);
    spec.set_vocabulary_size(256);
    spec.set_max_length_tokens(kImageBytes);
    spec.set_classes(kClasses);
    return spec;
  }

  std::vector<SplitSize> Splits() const override { return {{"train", 0}, {"test", 0}}; }

  std::string RawDescription() const override {
    return "a folder or archive with train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, "
           "t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz, or the same unpacked";
  }

  absl::StatusOr<std::unique_ptr<RawReader>> OpenRaw(
      std::unique_ptr<RawSource> source) const override {
    return MakeMnistReader(std::move(source), options_);
  }

  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    return ExampleOfBytes(raw);
  }

  absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const override {
    return BytesOfExample(example);
  }

  absl::StatusOr<std::vector<int64_t>> WriteSample(absl::string_view folder,
                                                   uint32_t seed) const override {
    const std::vector<int64_t> images = {options_.train_images(), options_.test_images()};
    for (uint32_t split = 0; split < images.size(); ++split) {
      RandomStream random(seed, RandomDomain::kSample, {split, 0, 0});
      const auto count = static_cast<uint32_t>(images[split]);
      std::string pixels, labels;
      for (uint32_t i = 0; i < count; ++i)
        labels.push_back(static_cast<char>(random.Below(kClasses)));
      for (uint32_t i = 0; i < count * kImageBytes; ++i)
        pixels.push_back(static_cast<char>(random.Below(256)));
      const std::string name = split == 0 ? "mnist/train" : "mnist/t10k";
      LRA_RETURN_IF_ERROR(WriteSampleFile(folder, name + "-images-idx3-ubyte",
                                          MakeIdx({count, kSide, kSide}, pixels)));
      LRA_RETURN_IF_ERROR(
          WriteSampleFile(folder, name + "-labels-idx1-ubyte", MakeIdx({count}, labels)));
    }
    return images;
  }

  std::string ToText(const StoredExample& example) const override {
    return PictureText(Spec(), example.tokens);
  }

  std::vector<std::unique_ptr<BaselineMethod>> Baselines(const DataView& view) const override {
    return PixelBaselines();
  }

 private:
  const MnistOptions options_;
};

absl::StatusOr<std::unique_ptr<Task>> MakeMnistPixels(const google::protobuf::Any& packed) {
  LRA_ASSIGN_OR_RETURN(MnistOptions options,
                       UnpackOptions<MnistOptions>("task", "mnist_pixels", packed));
  return std::make_unique<MnistPixels>(std::move(options));
}

LRA_REGISTER(TaskRegistry, "mnist_pixels", MakeMnistPixels);

}  // namespace
}  // namespace lra
