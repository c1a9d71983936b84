#include "bench/record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/cell.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

absl::Status FileError(const std::string& path, const char* what) {
  return absl::UnavailableError(absl::StrCat(path, ": ", what, ": ", std::strerror(errno)));
}

// The bytes of whole lines.
size_t WholeLines(const std::string& text) {
  const size_t last = text.rfind('\n');
  return last == std::string::npos ? 0 : last + 1;
}

absl::Status WriteAll(const std::string& path, int descriptor, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t size = write(descriptor, text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FileError(path, "cannot write");
    done += static_cast<size_t>(size);
  }
  return fsync(descriptor) == 0 ? absl::OkStatus() : FileError(path, "cannot flush");
}

// What tables and figures take for granted of a measured cell.
absl::Status CheckMeasured(const std::string& where, const BenchRecord& record) {
  if (record.result().outcome() != BenchResult::MEASURED) return absl::OkStatus();
  const auto refuse = [&](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": a measured cell ", what...));
  };
  if (record.request().tokens() < 1)
    return refuse("has ", record.request().tokens(), " tokens, must have 1 at least");
  if (record.request().head_width() < 1)
    return refuse("has heads of width ", record.request().head_width(), ", must be 1 at least");
  const BenchPasses& passes = record.result().passes();
  if (passes.seconds().empty()) return refuse("has no passes, must have 1 at least");
  for (const double seconds : passes.seconds()) {
    if (!std::isfinite(seconds) || seconds <= 0)
      return refuse("has a pass of ", seconds, " seconds, must be above 0");
  }
  if (passes.peak_bytes() < 0) return refuse("has ", passes.peak_bytes(), " peak bytes");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<BenchRecord>> ReadRecordFile(const std::string& path) {
  LRA_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  text.resize(WholeLines(text));
  std::vector<BenchRecord> records;
  int64_t line_number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    if (line.empty()) continue;
    BenchRecord record;
    const std::string where = absl::StrCat(path, ":", line_number);
    LRA_RETURN_IF_ERROR(FromJsonLine(line, where, &record));
    LRA_RETURN_IF_ERROR(CheckMeasured(where, record));
    records.push_back(std::move(record));
  }
  return records;
}

absl::StatusOr<std::vector<BenchRecord>> ReadRecordFiles(const std::vector<std::string>& paths) {
  std::vector<BenchRecord> all;
  for (const std::string& path : paths) {
    LRA_ASSIGN_OR_RETURN(const std::vector<BenchRecord> records, ReadRecordFile(path));
    all.insert(all.end(), records.begin(), records.end());
  }
  return all;
}

absl::Status AppendRecord(const std::string& path, const BenchRecord& record) {
  if (FileExists(path)) {
    LRA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    if (WholeLines(text) < text.size() &&
        truncate(path.c_str(), static_cast<off_t>(WholeLines(text))) != 0)
      return FileError(path, "cannot cut off an unfinished line");
  }
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return FileError(path, "cannot open");
  const absl::Status written = WriteAll(path, descriptor, ToJsonLine(record) + "\n");
  close(descriptor);
  return written;
}

std::string KeyOf(const BenchRecord& record) {
  BenchRequest request = record.request();
  // How long is measured is not what is measured.
  request.clear_passes();
  request.clear_warm_ups();
  request.clear_limit_seconds();
  return absl::StrCat(ToJsonLine(request), record.regime(), record.machine().machine().cpu(),
                      record.machine().machine().kernels(), record.machine().threads());
}

}  // namespace lra
