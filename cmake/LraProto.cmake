# lra_generate_proto(OUT_VARIABLE file.proto ...): generates C++ and sets the variable to the
# sources. Paths are relative to the project's root.
# (protobuf_generate of CMake 3.25 writes to the wrong place from sub-folders.)
function(lra_generate_proto out)
  set(generated)
  foreach(proto ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    set(cc ${PROJECT_BINARY_DIR}/proto/${stem}.pb.cc)
    set(h ${PROJECT_BINARY_DIR}/proto/${stem}.pb.h)
    add_custom_command(OUTPUT ${cc} ${h}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/proto
      COMMAND protobuf::protoc --cpp_out=${PROJECT_BINARY_DIR}/proto -I ${PROJECT_SOURCE_DIR} ${proto}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      DEPENDS ${PROJECT_SOURCE_DIR}/${proto} COMMENT "protoc ${proto}" VERBATIM)
    list(APPEND generated ${cc})
  endforeach()
  set(${out} ${generated} PARENT_SCOPE)
endfunction()
