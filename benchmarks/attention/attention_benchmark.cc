// Measures every registered attention, forward and backward, on the CPU in float32 with 8 heads of
// width 64: (a) time and memory while one sequence grows, with the exponents of growth; (b) time
// beside a straightforward composition of LibTorch's operations for the same function. Prints
// Markdown; progress goes to stderr. Memory is that of tensors, counted by a hook in LibTorch's
// allocator, above the inputs (q, k, v, the upstream gradient and what the attention owns).
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "benchmarks/attention/cases.h"
#include "benchmarks/attention/compositions.h"
#include "benchmarks/attention/counting_allocator.h"
#include "benchmarks/timing.h"
#include "models/base/kernel_path.h"
#include "models/base/runtime.h"

namespace lra {
namespace {

struct Options {
  int64_t max_tokens = 65536;    // for (a)
  int64_t speed_tokens = 16384;  // for (b), in all examples together
  double cell_seconds = 60;      // limit of one cell
  int repetitions = 5;
  int threads = 2;
  std::string kernels;
  std::vector<std::string> only;
  bool skips_growth = false, skips_speed = false;
  bool is_patient = false;
};

constexpr double kMemoryShare = 0.7;  // the share of available memory that may be used
constexpr int64_t kFirstTokens = 1024;
constexpr size_t kFitted = 4;  // a fit uses the last points, this many

struct Point {
  int64_t tokens;
  Cost cost;
};

// Slope of log y over log N by least squares over the last points; nothing for fewer than two
// points.
template <class Value>
std::optional<double> Exponent(const std::vector<Point>& points, Value value) {
  const size_t first = points.size() > kFitted ? points.size() - kFitted : 0;
  double count = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (size_t i = first; i < points.size(); ++i) {
    const double u = std::log(double(points[i].tokens)), w = std::log(value(points[i].cost));
    ++count, x += u, y += w, xx += u * u, xy += u * w;
  }
  if (count < 2) return std::nullopt;
  return (count * xy - x * y) / (count * xx - x * x);
}

double SecondsOfCost(const Cost& cost) { return cost.seconds; }
double BytesOfCost(const Cost& cost) { return std::max<double>(1, double(cost.peak_bytes)); }

struct Growth {
  Method method;
  std::vector<Point> points;
  std::string stopped;  // why there are no more points
};

std::string Megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 1e7 ? "%.1f" : "%.0f", bytes / 1e6);
  return text;
}

// Why the doubled size must not run; "" if it may. Growth is assumed to continue as before.
std::string Excess(const std::vector<Point>& points, const Options& options) {
  if (points.size() < 2) return "";
  const Cost& last = points.back().cost;
  const auto next = [&](auto value) {
    return value(last) * value(last) / value(points[points.size() - 2].cost);
  };
  char text[96] = "";
  if (next(SecondsOfCost) > options.cell_seconds) {
    std::snprintf(text, sizeof text, "about %.0f s", next(SecondsOfCost));
  } else if (next(BytesOfCost) > kMemoryShare * double(AvailableBytes())) {
    std::snprintf(text, sizeof text, "about %.0f GB", next(BytesOfCost) / 1e9);
  }
  return text;
}

Growth Grow(const Method& method, const Options& options) {
  Growth growth = {method, {}, ""};
  for (int64_t tokens = kFirstTokens; tokens <= options.max_tokens; tokens *= 2) {
    growth.stopped = Excess(growth.points, options);
    if (!growth.stopped.empty()) break;
    std::fprintf(stderr, "%s: N = %lld\n", method.Label().c_str(), static_cast<long long>(tokens));
    try {
      const auto c = Case::Make(method, 1, tokens);
      if (!c.ok()) {
        growth.stopped = std::string(c.status().message());
        break;
      }
      growth.points.push_back(
          {tokens, Measure(**c, Attend, options.repetitions, options.cell_seconds)});
    } catch (const std::exception& error) {
      growth.stopped = std::string(error.what()).substr(0, 60);
      break;
    }
  }
  return growth;
}

std::string ExponentCell(const std::optional<double>& exponent) {
  char text[16] = "-";
  if (exponent) std::snprintf(text, sizeof text, "%.2f", *exponent);
  return text;
}

template <class Cell, class Value>
void PrintGrowth(const char* title, const std::vector<Growth>& all, const Options& options,
                 Cell cell, Value value) {
  std::printf("\n%s\n\n| attention |", title);
  std::string rule = "|---|";
  for (int64_t tokens = kFirstTokens; tokens <= options.max_tokens; tokens *= 2) {
    std::printf(" %lldK |", static_cast<long long>(tokens / 1024));
    rule += "---|";
  }
  std::printf(" exponent |\n%s---|\n", rule.c_str());
  for (const Growth& growth : all) {
    std::printf("| %s |", growth.method.Label().c_str());
    size_t i = 0;
    for (int64_t tokens = kFirstTokens; tokens <= options.max_tokens; tokens *= 2, ++i) {
      if (i < growth.points.size()) {
        std::printf(" %s |", cell(growth.points[i]).c_str());
      } else {
        const bool is_first = i == growth.points.size();
        std::printf(" %s |", is_first ? ("skipped: " + growth.stopped).c_str() : "skipped");
      }
    }
    std::printf(" %s |\n", ExponentCell(Exponent(growth.points, value)).c_str());
  }
}

void GrowthTables(const std::vector<Method>& methods, const Options& options) {
  std::vector<Growth> all;
  for (const Method& method : methods) all.push_back(Grow(method, options));
  PrintGrowth(
      "Forward and backward, B = 1, H = 8, D = 64: milliseconds, and the exponent over the last "
      "four lengths.",
      all, options,
      [](const Point& point) {
        char text[32];
        std::snprintf(text, sizeof text, "%.1f", point.cost.seconds * 1e3);
        return std::string(text);
      },
      SecondsOfCost);
  PrintGrowth(
      "The same: peak megabytes of tensors above the inputs (as a multiple of the bytes of q, k "
      "and v).",
      all, options,
      [](const Point& point) {
        char text[32];
        const double bytes = double(point.cost.peak_bytes);
        std::snprintf(text, sizeof text, "%s (%.2f)", Megabytes(bytes).c_str(),
                      bytes / double(InputBytes(1, point.tokens)));
        return std::string(text);
      },
      BytesOfCost);
}

// What a small run predicts about the composition.
struct Forecast {
  int64_t batch = 0;      // examples that fit, with at most options.speed_tokens together
  double difference = 0;  // largest difference from the attention's output, over its largest value
  std::string excess;     // why no example fits; empty otherwise
};

double LargestDifference(const Case& c, const Case::Form& form) {
  const c10::NoGradGuard no_gradient;
  const at::Tensor expected = Attend(c);
  return ((form(c) - expected).abs().max() / expected.abs().max()).item<double>();
}

Forecast ForecastOf(const Method& method, const Composition& composition, int64_t tokens,
                    const Options& options) {
  constexpr int64_t kProbe = 512;
  Forecast forecast;
  const auto probe = Case::Make(method, 1, kProbe);
  if (!probe.ok()) {
    forecast.excess = std::string(probe.status().message());
    return forecast;
  }
  forecast.difference = LargestDifference(**probe, composition.form);
  const Cost cost = Measure(**probe, composition.form, 4, options.cell_seconds);
  const double growth = std::pow(double(tokens) / kProbe, composition.exponent);
  const double bytes = BytesOfCost(cost) * growth;  // for one example
  const double seconds = cost.seconds * growth * (options.repetitions + 1);
  const double by_memory = kMemoryShare * double(AvailableBytes()) / bytes;
  const double by_time = options.cell_seconds / seconds;
  char text[96];
  std::snprintf(text, sizeof text, "the composition of one example takes about %.1f s, %.1f GB",
                seconds, bytes / 1e9);
  forecast.excess = text;
  forecast.batch =
      static_cast<int64_t>(std::min({double(options.speed_tokens / tokens), by_memory, by_time}));
  return forecast;
}

void SpeedRow(const Method& method, int64_t tokens, const Options& options) {
  const Composition composition = CompositionOf(method);
  std::fprintf(stderr, "%s against %s: N = %lld\n", method.Label().c_str(),
               composition.name.c_str(), static_cast<long long>(tokens));
  std::printf("| %s | %s | %lld |", method.Label().c_str(), composition.name.c_str(),
              static_cast<long long>(tokens));
  const Forecast forecast = ForecastOf(method, composition, tokens, options);
  if (forecast.batch < 1) {
    std::printf(" - | skipped: %s | | | | | |\n", forecast.excess.c_str());
    return;
  }
  const auto c = Case::Make(method, forecast.batch, tokens);
  if (!c.ok()) {
    std::printf(" - | skipped: %s | | | | | |\n", std::string(c.status().message()).c_str());
    return;
  }
  const Cost ours = Measure(**c, Attend, 1, 0), theirs = Measure(**c, composition.form, 1, 0);
  std::vector<double> our_seconds, their_seconds;
  for (int i = 0; i < options.repetitions; ++i) {
    our_seconds.push_back(SecondsOf([&] { (*c)->Run(Attend); }));
    their_seconds.push_back(SecondsOf([&] { (*c)->Run(composition.form); }));
  }
  const double our_median = Median(our_seconds), their_median = Median(their_seconds);
  std::printf(" %lld | %.1f | %.1f | %.2f | %s | %s | %.0e |\n",
              static_cast<long long>(forecast.batch), their_median * 1e3, our_median * 1e3,
              their_median / our_median, Megabytes(double(theirs.peak_bytes)).c_str(),
              Megabytes(double(ours.peak_bytes)).c_str(), forecast.difference);
}

void SpeedTable(const std::vector<Method>& methods, const Options& options) {
  std::printf(
      "\nForward and backward, H = 8, D = 64, %lld tokens in all (fewer where the composition "
      "would not fit): medians of %d\ninterleaved repetitions; ratio = composition / lra; "
      "difference: largest one between the two "
      "outputs over the\nlargest value, N = 512.\n\n",
      static_cast<long long>(options.speed_tokens), options.repetitions);
  std::printf(
      "| attention | composition | N | B | composition ms | lra ms | ratio | composition MB | lra "
      "MB | difference |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Method& method : methods) {
    for (const int64_t tokens : {1024, 4096}) {
      try {
        SpeedRow(method, tokens, options);
      } catch (const std::exception& error) {
        std::printf(" - | failed: %s | | | | | |\n", std::string(error.what(), 0, 60).c_str());
      }
      std::fflush(stdout);
    }
  }
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Time and memory of every registered attention");
  app.add_option("--max-tokens", options.max_tokens, "longest sequence of the growth tables");
  app.add_option("--speed-tokens", options.speed_tokens, "tokens of a cell of the speed table");
  app.add_option("--cell-seconds", options.cell_seconds, "what one cell may take");
  app.add_flag("--patient", options.is_patient, "leave no cell out for the time it takes");
  app.add_option("--repetitions", options.repetitions)->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads);
  app.add_option("--kernels", options.kernels, "force generic, baseline, avx2 or avx512 code");
  app.add_option("--only", options.only, "names of attentions")->delimiter(',');
  app.add_flag("--skip-growth", options.skips_growth);
  app.add_flag("--skip-speed", options.skips_speed);
  CLI11_PARSE(app, argc, argv);
  if (options.is_patient) options.cell_seconds = std::numeric_limits<double>::infinity();
  CountTensorBytes();
  if (const absl::Status started = StartRuntime(options.threads, options.kernels); !started.ok()) {
    std::fprintf(stderr, "%s\n", std::string(started.message()).c_str());
    return 2;
  }
  std::printf("Kernels: %s.\n", KernelPathName(ActiveKernelPath()));
  const std::set<std::string> wanted(options.only.begin(), options.only.end());
  std::vector<Method> methods;
  for (Method& method : RegisteredMethods()) {
    if (wanted.empty() || wanted.count(method.name) > 0) methods.push_back(std::move(method));
  }
  if (!options.skips_growth) GrowthTables(methods, options);
  if (!options.skips_speed) SpeedTable(methods, options);
  return 0;
}

}  // namespace
}  // namespace lra

int main(int argc, char** argv) { return lra::Main(argc, argv); }
