# Writes a header with the commit of SOURCE to HEADER, if it changed. A build runs it each time:
#   cmake -DGIT=git -DSOURCE=dir -DHEADER=file -P WriteCommit.cmake
cmake_policy(VERSION 3.25)
set(commit "")
if(GIT)
  execute_process(COMMAND ${GIT} describe --always --dirty WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define LRA_COMMIT \"@commit@\"\n" @ONLY)
