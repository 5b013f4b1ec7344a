# Names what decides which kernels are made, proved and kept: the text of its sources, what compiles them, and the library
# that writes machine code. Two builds with the same name make the same of the same model; entries of the cache are bound to it.
#
# cmake -DROOT=DIR -DLIST=FILE -DOPTIONS=TEXT -DOUTPUT=FILE -P generator_id.cmake
#   LIST: a source a line, named from ROOT, in any order; a source that is missing is an error.
#   OUTPUT: a C++ file, written only where it changes.
file(STRINGS "${LIST}" sources)
list(SORT sources)
set(all "${OPTIONS}\n")
foreach(source IN LISTS sources)
  file(SHA256 "${ROOT}/${source}" hash)
  string(APPEND all "${hash} ${source}\n")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING "${id}" 0 32 id)
set(text "#include \"runtime/warm/origin.h\"\n\nnamespace axrun::runtime {\n\nconst char* const generator_id = \"${id}\";\n\n}  // namespace axrun::runtime\n")
set(before "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
endif()
if(NOT before STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
