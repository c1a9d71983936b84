# Writes a source that defines strings from files of FOLDER; HEADER declares them. Files of one string are joined in the
# given order, so that what later ones use is defined:
#   cmake -DFOLDER=report -DHEADER=report/page_files.h -DSTRINGS=kPageStyle=page.css,kPageScript=charts.js+page.js
#     -DSOURCE=page_files.cc -P EmbedText.cmake
cmake_policy(VERSION 3.25)
set(definitions "")
string(REPLACE "," ";" strings "${STRINGS}")
foreach(string ${strings})
  string(REGEX MATCH "^(.+)=(.+)$" matched "${string}")
  set(name ${CMAKE_MATCH_1})
  string(REPLACE "+" ";" files "${CMAKE_MATCH_2}")
  set(content "")
  foreach(file ${files})
    file(READ ${FOLDER}/${file} text)
    string(APPEND content "${text}")
  endforeach()
  string(APPEND definitions "const char ${name}[] = R\"lra(${content})lra\";\n")
endforeach()
file(WRITE ${SOURCE} "#include \"${HEADER}\"\n\nnamespace lra {\n\n${definitions}\n}  // namespace lra\n")
