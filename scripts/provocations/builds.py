# SPDX-License-Identifier: MIT
"""Build tools: make, ninja, cmake, ctest."""
from .cases import commands, sources

MAKE = {
    "wrong_tool_called tool_not_found": [
        "all: deploi", "all: a.o\n\tcc a.o\n%.q: %.z\n\ttouch $@", "include rules.mk\nall:",
    ],
    "wrong_tool_called command_not_found": [
        "all:\n\tpdf2text a.pdf", "all:\n\t@./convert.sh x", "SHELL = /bin/fish\nall:\n\techo a",
    ],
    "schema_mismatch parse_error": [
        "all:\n    echo a", "ifeq (a,b\nall:", "all:\n\techo $(shell", "endif", "all\n\techo a", "define x\nall:",
        "ifdef A\nall:\n\ttrue", "a: b: c", "$(error limit must be below 500)", "all: ; echo $(word x, a b)",
        "a b c", "else\nx = 1", "override\nall: $(if a\n",
    ],
    "loop_detected loop_reported": [
        "a: b\n\ttouch a\nb: a\n\ttouch b", "X = $(Y)\nY = $(X)\nall: ; echo $(X)", "main: main\n\techo x",
    ],
    "unknown bug": [
        "all:\n\tfalse", "all:\n\t@echo 'retry limit 5, timeout 30'; exit 3",
        "all: a b\na:\n\ttest 4 = 5\nb:\n\techo b", "all:\n\t@sh -c 'exit 77'\nall:\n\ttrue", "all: ; $(foreach x",
        "all:\n\tgrep total week12.csv",
    ],
    "crashed signal": [
        "all:\n\tkill -SEGV $$$$", "all:\n\t@echo linking; kill -KILL $$$$", "all:\n\tkill -ABRT $$$$",
    ],
    "access_denied permission_denied": ["all:\n\t@./notes.txt", "all:\n\tcp notes.txt /usr/lib/"],
    "timeout time_limit": ["fetch:\n\ttimeout -v 0.2 sleep 3"],
    "context_overflow too_large": ["all:\n\t@echo $(shell seq 1 60000)"],
    "unknown disk_full": ["all:\n\techo a > /dev/full"],
    "unknown near_miss": [
        "all:\n\t@echo 'limit 500 reached? no. tools: 3'\n.PHONY: all clean\nclean:\n\trm x", "all: notes.txt",
    ],
}
MAKE_LINES = {
    "schema_mismatch invalid_argument": [
        "make --jobz 3", "make -j lots", "make -C", "make -l x -f", "make -f /dev/null --debug=x",
    ],
    "unknown missing_data": ["make -C build", "make -f rules.mk", "make"],
    "plan_incomplete ended_early": [
        "printf 'all: a b c\\na:\\n\\t@echo a\\nb:\\n\\t@false\\nc:\\n\\t@echo c\\n' > Makefile; make -k",
        "printf 'all: a b\\na:\\n\\t@exit 2\\nb:\\n\\t@exit 3\\n' > Makefile; make -k all",
    ],
}
NINJA = {
    "schema_mismatch parse_error": [
        "rule cc\n command = gcc", "build a: cc b", "rule cc\n  command = x\nrule cc\n  command = y",
        "build a cc b", "rule cc\n  colour = x", "x =\n  y", "\tbuild a: phony", "default gone", "pool p",
        "build a: phony $", "rule a\n  command = x\nbuild o: a $q", "include", "rule r\n  depfile = x\nbuild a: r",
    ],
    "unknown missing_data": ["rule cc\n  command = cp $in $out\nbuild a: cc b.c", "subninja lib/build.ninja"],
    "loop_detected loop_reported": ["build a: phony a"],
    "unknown bug": [
        "rule t\n  command = test 4 = 5\nbuild a: t",
        "rule t\n  command = echo limit 5, timeout 30; exit 3\n  description = CHECK limits\nbuild a: t",
        "build a: phony\nbuild a: phony notes.txt",
    ],
    "wrong_tool_called command_not_found": ["rule t\n  command = pdf2text $in\nbuild a: t notes.txt"],
    "crashed signal": [
        "rule t\n  command = kill -SEGV $$$$\nbuild a: t",
        "rule t\n  command = kill -KILL $$$$\n  description = LINK shop\nbuild a: t",
    ],
    "access_denied permission_denied": [
        "rule t\n  command = cp notes.txt /usr/lib/\nbuild a: t", "builddir = /etc/shop\nbuild a: phony notes.txt",
    ],
    "plan_incomplete ended_early": [
        "rule t\n  command = false\nrule u\n  command = touch $out\nbuild a: t\nbuild b: u\nbuild c: t\nbuild all: phony a b c",
    ],
    "timeout time_limit": ["rule t\n  command = timeout -v 0.2 sleep 4\nbuild fetched: t"],
    "unknown vague": ["build a: phony b\nbuild b: phony c\nbuild c: phony a"],
}
NINJA_LINES = {
    "schema_mismatch invalid_argument": [
        "ninja -j lots", "ninja --jobz", "ninja -d fancy", "ninja -k x", "ninja -w nosuch=err",
    ],
    "wrong_tool_called tool_not_found": [
        "touch build.ninja; ninja deploi", "ninja -t colours",
        "printf 'build deploy: phony\\n' > build.ninja; ninja deply",
    ],
    "unknown missing_data": ["ninja", "ninja -C build", "ninja -f rules.ninja"],
    "unknown near_miss": ["printf 'build all: phony\\n' > build.ninja; ninja -v; ninja -t query nothing"],
}
CMAKE = {
    "schema_mismatch parse_error": [
        "project(shop C", "set(a \"b)", "if(A)\nmessage(x)", "endif()", "foreach(x IN a)\n", "set(a b))",
        "project(shop", "x = 5",
    ],
    "schema_mismatch tool_arguments": [
        "set()", "add_library(a FANCY)", "list(APPEND)", "string(REGEX REPLACE \"(\" x y z)", "string(SUBSTRING abc 9 1 x)", "math(EXPR a \"3 +\")", "target_link_libraries(a PRIVATE b)",
        "install(TARGETS)", "cmake_minimum_required(VERSION x)", "find_package()", "execute_process(COMMND x)",
        "string(JSON a GET \"{b\" c)", "string(JSON a GET \"{}\" limit)", "cmake_parse_arguments(PARSE_ARGV x)",
        "add_executable(shop)", "set_property(TARGET)", "option()",
    ],
    "wrong_tool_called command_not_found": [
        "add_librari(a)", "target_sourcess(a)", "list(FANCY a)", "string(TRIM a b)", "file(FETCH a)",
        "cmake_language(CALL ship_it)",
        "execute_process(COMMAND pdf2text RESULT_VARIABLE r COMMAND_ERROR_IS_FATAL ANY)",
    ],
    "unknown missing_data": [
        "find_package(PriceList REQUIRED)", "include(limits)", "add_subdirectory(src)",
        "add_executable(shop main.c)", "file(READ week12.csv a)", "find_library(P pricelist REQUIRED)",
        "find_program(P pdf2text REQUIRED)", "configure_file(a.in a)",
    ],
    "unknown bug": [
        "message(FATAL_ERROR \"limit must be below 500\")", "math(EXPR a \"1 / 0\")",
        "add_custom_target(a)\nadd_custom_target(a)", "cmake_minimum_required(VERSION 99.1)",
        "message(SEND_ERROR \"retry and timeout are both set\")", "add_library(a ALIAS b)",
        "get_target_property(x nothing TYPE)", "find_package(Threads 9 REQUIRED)\nmessage(FATAL_ERROR ${x})",
        "cmake_policy(SET CMP9999 NEW)",
        "message(AUTHOR_WARNING \"quota.cmake is deprecated\")\nmessage(DEPRECATION \"use limits()\")\nreturn(5)\nbreak()",
    ],
    "loop_detected loop_reported": [
        "project(p NONE)\nadd_custom_target(a)\nadd_custom_target(b)\nadd_dependencies(a b)\nadd_dependencies(b a)",
        "macro(again)\nagain()\nendmacro()\nagain()",
        "function(f)\nf()\nendfunction()\nset(CMAKE_MAXIMUM_RECURSION_DEPTH 30)\nf()", "include(CMakeLists.txt)",
    ],
    "timeout time_limit": [
        "execute_process(COMMAND sleep 3 TIMEOUT 0.2 COMMAND_ERROR_IS_FATAL ANY)",
        "file(DOWNLOAD http://127.0.0.1:@HTTP@/hang a TIMEOUT 1 STATUS s LOG l)\nmessage(FATAL_ERROR \"${s}\")",
    ],
    "external_fault connection_refused": [
        "file(DOWNLOAD http://127.0.0.1:@CLOSED@/a a)",
        "include(FetchContent)\nproject(p NONE)\nFetchContent_Declare(x URL http://127.0.0.1:@CLOSED@/x.zip)\nFetchContent_MakeAvailable(x)",
    ],
    "external_fault dns_failed": [
        "file(DOWNLOAD http://files.invalid/a.zip a.zip SHOW_PROGRESS STATUS s)\nmessage(FATAL_ERROR \"download: ${s}\")",
    ],
    "external_fault unavailable": ["file(DOWNLOAD http://127.0.0.1:@HTTP@/v1/down a)"],
    "access_denied permission_denied": [
        "file(WRITE /etc/a.cmake x)", "file(COPY notes.txt DESTINATION /usr/lib)",
    ],
    "schema_mismatch output_format": [
        "file(DOWNLOAD http://127.0.0.1:@HTTP@/page a EXPECTED_HASH MD5=00000000000000000000000000000000)",
        "file(ARCHIVE_EXTRACT INPUT notes.txt)",
    ],
    "crashed signal": ["execute_process(COMMAND sh -c \"kill -SEGV $$\" COMMAND_ERROR_IS_FATAL ANY)"],
    "unknown disk_full": ["file(WRITE /dev/full rows)"],
}
CMAKE_LINES = {
    "schema_mismatch invalid_argument": [
        "cmake --buildd .", "cmake -G Fancy .", "cmake --preset dev", "cmake -DA", "cmake --build . --parallel x",
        "cmake -E copy notes.txt", "cmake", "cmake --fancy"],
    "wrong_tool_called command_not_found": ["cmake -E fetch x", "cmake -E env pdf2text"],
    "unknown missing_data": [
        "cmake --build build", "cmake -P steps.cmake", "cmake -S nowhere -B b", "cmake -E copy week12.csv b",
    ],
    "schema_mismatch invalid_json": [
        "cp broken.json CMakePresets.json; touch CMakeLists.txt; cmake --preset dev",
        "cp config.json CMakePresets.json; touch CMakeLists.txt; cmake --preset dev",
    ],
    "loop_detected loop_reported": ["printf '{\"version\": 3, \"configurePresets\": [{\"name\": \"dev\", \"inherits\": \"dev\"}]}' > CMakePresets.json; touch CMakeLists.txt; cmake --preset dev"],
}
T = "printf 'cmake_minimum_required(VERSION 3.20)\\nproject(p NONE)\\nenable_testing()\\n%s\\n' > CMakeLists.txt; cmake -S . -B b > /dev/null; ctest --test-dir b --output-on-failure"
CTEST = {
    "timeout time_limit": [
        T % "add_test(NAME fetch COMMAND sleep 3)\\nset_tests_properties(fetch PROPERTIES TIMEOUT 0.3)",
    ],
    "crashed signal": [
        T % "add_test(NAME parse COMMAND sh -c \"kill -SEGV \\$\\$\")",
        T % "add_test(NAME link COMMAND sh -c \"kill -ABRT \\$\\$\")",
    ],
    "unknown bug": [
        T % "add_test(NAME limit COMMAND test 5 = 6)\\nadd_test(NAME timeout COMMAND true)",
        T % "add_test(NAME quota COMMAND sh -c \"echo expected 5, got 6; exit 1\")",
    ],
    "wrong_tool_called command_not_found": [T % "add_test(NAME convert COMMAND pdf2text a.pdf)"],
    "unknown missing_data": ["ctest --test-dir b", "ctest -R nothing --no-tests=error"],
    "loop_detected loop_reported": [
        T % "add_test(NAME a COMMAND true)\\nadd_test(NAME b COMMAND true)\\nset_tests_properties(a PROPERTIES DEPENDS b)\\nset_tests_properties(b PROPERTIES DEPENDS a)",
    ],
    "plan_incomplete subgoals_left": [
        T % "add_test(NAME a COMMAND false)\\nadd_test(NAME b COMMAND true)\\nset_tests_properties(a PROPERTIES FIXTURES_SETUP f)\\nset_tests_properties(b PROPERTIES FIXTURES_REQUIRED f)",
    ],
    "schema_mismatch invalid_argument": ["ctest --timeout soon -R '('"],
}


def cases():
    yield from sources("gnu-make", ["Makefile"], "make", MAKE)
    yield from commands("gnu-make", MAKE_LINES, "make")
    yield from sources("ninja", ["build.ninja"], "ninja", NINJA)
    yield from commands("ninja", NINJA_LINES, "ninja")
    yield from sources("cmake", ["CMakeLists.txt"], "cmake -Wno-dev -S . -B b 2>&1 | grep -v -e '^-- The' -e '^-- Detect' -e '^-- Check'", CMAKE)
    yield from commands("cmake", CMAKE_LINES, "cmake")
    yield from commands("ctest", CTEST, "ctest")
