// What `lra export` writes as it stands; the build makes a string of it (cmake/EmbedText.cmake).
#ifndef LRA_INSPECT_EXPORTED_FILES_H_
#define LRA_INSPECT_EXPORTED_FILES_H_

namespace lra {

extern const char kModelPy[];  // inspect/model.py

}  // namespace lra

#endif  // LRA_INSPECT_EXPORTED_FILES_H_
