# embed.cmake - files as arrays of C: cmake -DOUT=x.c -DFILES="a/report.css;b/report.js" -P this
# defines ck_report_css [ck_report_css_size] and so on.
set(text "/* Made by embed.cmake. */\n#include \"report/page_parts.h\"\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  string(REPLACE "." "_" name ${name})
  file(READ ${file} bytes HEX)
  string(LENGTH "${bytes}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text "const unsigned char ck_${name}[] = {\n${bytes}};\n"
                     "const size_t ck_${name}_size = ${size};\n")
endforeach()
file(WRITE ${OUT} "${text}")
