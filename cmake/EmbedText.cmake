# Writes a source that defines the strings of report/page_files.h from the files of FOLDER:
#   cmake -DFOLDER=report -DSOURCE=page_files.cc -P EmbedText.cmake
# The scripts are joined in the given order, so that what later ones use is defined.
cmake_policy(VERSION 3.25)
file(READ ${FOLDER}/page.html template)
file(READ ${FOLDER}/page.css style)
set(script "")
foreach(part charts details table page)
  file(READ ${FOLDER}/${part}.js text)
  string(APPEND script "${text}")
endforeach()
file(CONFIGURE OUTPUT ${SOURCE} @ONLY CONTENT [=[
#include "report/page_files.h"

namespace lra {

const char kPageTemplate[] = R"lra(@template@)lra";
const char kPageStyle[] = R"lra(@style@)lra";
const char kPageScript[] = R"lra(@script@)lra";

}  // namespace lra
]=])
