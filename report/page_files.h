// The parts of the page that stand in files of their own beside this one; the build makes strings
// of them (cmake/EmbedText.cmake).
#ifndef LRA_REPORT_PAGE_FILES_H_
#define LRA_REPORT_PAGE_FILES_H_

namespace lra {

extern const char kPageTemplate[];
extern const char kPageStyle[];
extern const char kPageScript[];

}  // namespace lra

#endif  // LRA_REPORT_PAGE_FILES_H_
