// Small archives for tests.
#ifndef LRA_DATASETS_ARCHIVE_TEST_UTIL_H_
#define LRA_DATASETS_ARCHIVE_TEST_UTIL_H_

#include <archive.h>
#include <archive_entry.h>

#include <string>
#include <vector>

#include "lra/check.h"

namespace lra {

struct TestEntry {
  std::string name, data;
  int type = AE_IFREG;
};

inline void AddEntry(archive* writer, const TestEntry& item) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, item.name.c_str());
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_filetype(entry, item.type);
  if (item.type == AE_IFLNK) archive_entry_set_symlink(entry, item.data.c_str());
  if (item.type == AE_IFREG) archive_entry_set_size(entry, static_cast<int64_t>(item.data.size()));
  LRA_CHECK(archive_write_header(writer, entry) == ARCHIVE_OK) << archive_error_string(writer);
  if (item.type == AE_IFREG) archive_write_data(writer, item.data.data(), item.data.size());
  archive_entry_free(entry);
}

inline void WriteArchive(const std::string& path, bool zip, const std::vector<TestEntry>& entries,
                         bool compressed = true) {
  archive* writer = archive_write_new();
  if (zip) {
    archive_write_set_format_zip(writer);
  } else {
    archive_write_set_format_pax_restricted(writer);
    archive_write_set_bytes_in_last_block(writer, 1);
    if (compressed) archive_write_add_filter_gzip(writer);
  }
  LRA_CHECK(archive_write_open_filename(writer, path.c_str()) == ARCHIVE_OK);
  for (const TestEntry& entry : entries) AddEntry(writer, entry);
  archive_write_close(writer);
  archive_write_free(writer);
}

}  // namespace lra

#endif  // LRA_DATASETS_ARCHIVE_TEST_UTIL_H_
