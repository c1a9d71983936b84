#include "models/base/cuda_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A file that cannot be loaded says more than one that is not there, wherever it is looked for.
TEST(CudaLibraryTest, TheErrorOfAFileThatIsThereIsKept) {
  const TestFolder folder;
  const std::string broken = folder.File("broken.so"), missing = folder.File("missing.so");
  ASSERT_TRUE(WriteFileAtomically(broken, "no library").ok());
  for (const auto& [first, second] : {std::pair(broken, missing), std::pair(missing, broken)}) {
    internal::Library library;
    library.Try(first);
    library.Try(second);
    library.Try(missing);
    EXPECT_EQ(library.handle, nullptr);
    EXPECT_THAT(library.why_not, AllOf(HasSubstr(broken), Not(HasSubstr("No such file"))));
  }
}

TEST(CudaLibraryTest, WhereThereIsNoneTheFirstPlaceIsNamed) {
  const TestFolder folder;
  internal::Library library;
  library.Try(folder.File("a.so"));
  library.Try(folder.File("b.so"));
  EXPECT_THAT(library.why_not, AllOf(HasSubstr(folder.File("a.so")), HasSubstr("No such file")));
}

}  // namespace
}  // namespace lra
