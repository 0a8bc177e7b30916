# SPDX-License-Identifier: MIT
"""Compilers and their helpers: gcc, g++, clang, ld, nasm, gfortran, bison, flex, protoc, gdb, valgrind, shellcheck."""
from .cases import commands, sources

C = {
    "unknown bug": [
        "int main(void) { return totl; }", "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", 1) return 0; }",
        "struct order { int id; };\nint main(void) { struct order o; return o.limit; }",
        "int price(int a);\nint main(void) { return price(3); }",
        "int main(void) { int *p = 5; char *s = p; return *s; }",
        "int f(int a) { return a; }\nint main(void) { return f(1, 2); }",
        "int main(void) { const int limit = 5; limit = 6; }",
        "_Static_assert(sizeof(int) == 8, \"timeout must fit 64 bit\");", "int main(void) { if (1) {",
        "#error \"quota.h must be included first\"", "int a; float a; int main(void) { return 0; }",
        "int main(void) { return 5 / 0 + \"x\" * 2; }", "void f() { goto retry; }",
        "int main(void) { switch (1) { case 1: case 1: break; } }", "int t[-1];",
        "typedef int limit;\nint main(void) { limit limit; unsigned short x = 99999; return missing_tool(x); }",
    ],
    "unknown missing_data": ["#include \"pricelist.h\"\nint main(void) { return 0; }", "#include <shop/limits.h>"],
    "loop_detected loop_reported": ["#include \"order.c\"\nint main(void) { return 0; }"],
}
CPP = {
    "unknown bug": [
        "#include <vector>\nint main() { std::vector<int> v; v.append(1); }",
        "#include <string>\nstd::string s = 5;\nint n = std::string(\"a\");",
        "class A { int limit; };\nint main() { return A().limit; }", "struct B { virtual void go() = 0; };\nB b;",
        "template <class T> T f(T a, T b);\nint main() { return f(1, 2.0); }",
        "#include <memory>\nstd::unique_ptr<int> a;\nauto b = a;",
        "int f(int); int f(long);\nint main() { return f(2.5); }",
        "static_assert(5 > 6, \"retry limit is too small\");",
        "namespace shop { int n; }\nint main() { return shp::n; }", "int main() { auto x; }",
        "struct C { C(int); };\nC c;\nC d(1, 2);", "constexpr int f(int n) { return n / 0; }\nstatic_assert(f(1));",
        "#include <map>\nint main() { std::map<int> m; }", "int main() { for (int x : 5) {} }",
        "override void f();", "struct D final {};\nstruct E : D {};", "struct A { A a; };", "constexpr int f(int n) { return n ? 1 + f(n - 1) : 0; }\nstatic_assert(f(100000));", "template <int N> struct F { static const int v = F<N + 1>::v; };\nint x = F<0>::v;"],
}
GCC_LINES = {
    "schema_mismatch invalid_argument": [
        "gcc", "gcc -Wfancy -fno-such x.c", "gcc -std=c77 -x c /dev/null", "gcc -o", "gcc -x colour notes.txt",
        "gcc -O9x -march=quantum -x c -c /dev/null", "g++ -std=c++99 -x c++ -c /dev/null",
        "gcc -fuse-ld=molten -x c /dev/null", "gcc -B /nowhere -no-integrated-cpp -x modula /dev/null",
    ],
    "unknown missing_data": ["gcc week12.c", "echo 'int main(){}' > a.c; gcc a.c -lpricelist"],
    "access_denied permission_denied": [
        "echo 'int main(){}' > a.c; gcc a.c -o /usr/bin/shop", "echo 'int x;' > a.c; chmod 0 a.c; gcc -c a.c",
    ],
    "schema_mismatch parse_error": [
        "cp notes.txt a.o; gcc a.o", "cp notes.txt a.c; gcc -c a.c",
        "head -c 99 /dev/zero > z.c; gcc -c z.c; cp orders.csv libx.so; gcc libx.so",
    ],
    "unknown disk_full": [
        "echo 'int main(){}' > a.c; gcc -S a.c -o /dev/full", "echo 'int x;' > a.c; gcc -E a.c -o /dev/full",
    ],
    "quota_exhausted quota": ["echo 'int x;' > a.c; inject write EDQUOT 1+ gcc -S a.c 2>&1 | cat"],
}
RUN = "gcc -g -w -fno-builtin prog.c -o prog && ./prog"
# Programs that die; their texts come from the shell, gdb, valgrind or a sanitizer.
DYING = {
    "crashed signal": [
        "int main(void) { int *p = 0; return *p; }", "#include <assert.h>\nint main(void) { assert(5 == 6); }",
        "#include <stdlib.h>\nint main(void) { void *p = malloc(9); free(p); free(p); }",
        "int main(void) { volatile int z = 0; return 5 / z; }",
        "#include <stdlib.h>\nint main(void) { free((void *)12345678); }", "int main(void) { __builtin_trap(); }",
    ],
    "crashed stack_overflow": [
        "int f(int n) { volatile char b[9000]; b[n % 9] = 1; return f(n + 1) + b[3]; }\nint main(void) { return f(0); }",
    ],
}
ASAN = "gcc -g -w -fsanitize=address,undefined -fno-sanitize-recover prog.c -o prog && ASAN_OPTIONS=detect_leaks=0 ./prog 2>&1 | head -14"
SANITIZED = {
    "crashed aborted": [
        "#include <stdlib.h>\nint main(void) { char *p = malloc(4); p[5] = 1; return p[5]; }",
        "#include <stdlib.h>\nint main(void) { char *p = malloc(4); free(p); return p[1]; }",
        "int main(void) { int a[3]; volatile int i = 7; return a[i]; }",
        "int main(void) { volatile int big = 2147483647; return big + 1; }",
        "#include <stdlib.h>\nint main(void) { volatile long n = 1L << 60; return *(char *)malloc(n); }",
        "int f(int n) { volatile int b[900]; b[0] = n; return f(n + 1) + b[0]; }\nint main(void) { return f(0); }",
    ],
}
GDB = "gcc -g -w prog.c -o prog && gdb -q -batch -ex run -ex bt ./prog 2>&1 | grep -v -e libthread -e debuginfod -e Using"
GDB_LINES = {
    "wrong_tool_called command_not_found": ["gdb -q -batch -ex 'brek main'", "gdb -q -batch -ex 'info colours'"],
    "schema_mismatch parse_error": [
        "gdb -q -batch -ex 'p 5 +'", "gdb -q -batch -ex 'p (3'", "gdb -q -batch -ex 'python print('", "gdb -q -batch ./notes.txt", "gdb -q -batch -ex 'condition'",
    ],
    "schema_mismatch invalid_argument": [
        "gdb --batchh", "gdb -q -batch -ex 'list 5,x,'",
        "gdb -q -batch -ex 'thread apply'",
    ],
    "unknown missing_data": [
        "gdb -q -batch ./shop", "gdb -q -batch -ex 'p total'", "gdb -q -batch -ex 'core core.4711'",
        "gdb -q -batch -ex 'break cart.c:12'", "gdb -q -batch -x steps.gdb", "gdb -q -batch -ex 'info registers'",
    ],
    "access_denied permission_denied": ["gdb -q -batch -p 1 2>&1 | tail -3"],
    "external_fault connection_refused": ["gdb -q -batch -ex 'target remote 127.0.0.1:@CLOSED@'"],
    "unknown bug": [
        "gdb -q -batch -ex 'p 1/0'", "gdb -q -batch -ex 'python raise KeyError(\"limit\")'",
        "gdb -q -batch -ex continue",
    ],
    "external_fault connection_lost": [
        "gdb -q -batch -ex 'set tcp connect-timeout 1' -ex 'set remotetimeout 1' -ex 'target remote 127.0.0.1:@SILENT@'",
        "gdb -q -batch -ex 'set remotetimeout 1' -ex 'target remote 127.0.0.1:@GREETING@'",
    ],
}
VALGRIND = "gcc -g -w prog.c -o prog && valgrind ./prog 2>&1 | grep -v -e Copyright -e Using -e Memcheck | head -18"
CHECKED = {
    "unknown bug": [
        "#include <stdlib.h>\nint main(void) { char *p = malloc(4); p[5] = 1; return 0; }",
        "#include <stdlib.h>\nint main(void) { volatile int x; if (x) return 3; return 0; }",
        "#include <stdlib.h>\nint main(void) { char *p = malloc(9); free(p); return p[2]; }",
    ],
    "crashed signal": [
        "int main(void) { return *(volatile int *)16; }", "#include <stdlib.h>\nint main(void) { abort(); }",
    ],
    "crashed stack_overflow": [
        "int f(int n) { volatile char b[9000]; b[n % 9] = 1; return f(n + 1) + b[3]; }\nint main(void) { return f(0); }",
    ],
}
VALGRIND_LINES = {
    "wrong_tool_called tool_not_found": ["valgrind --tool=fancycheck true", "valgrind shipit --now"],
    "schema_mismatch invalid_argument": [
        "valgrind --leak-chek=full true", "valgrind", "valgrind --num-callers=many true",
    ],
    "access_denied permission_denied": ["valgrind ./notes.txt", "valgrind --log-file=/etc/v.log true"],
    "unknown missing_data": ["valgrind ./build/shop", "valgrind --suppressions=gone.supp true"],
}
LD = {
    "unknown missing_data": [
        "ld a.o", "ld -lpricelist", "nm week.o", "objdump -d gone", "strip gone", "ar x gone.a",
    ],
    "schema_mismatch parse_error": [
        "cp notes.txt a.o; ld a.o", "cp notes.txt a.o; nm a.o", "cp notes.txt a.a; ar t a.a",
        "readelf -h config.json", "objcopy orders.csv o", "echo 'mov' | as -",
        "echo 'movl %zz, %eax' | as - -o a.o", "echo '.fancy 3' | as - -o a.o",
        "echo 'SECTIONS { x' > l.ld; ld -T l.ld",
    ],
    "schema_mismatch invalid_argument": [
        "ld --outputt x", "ar", "nm --demangel x", "objdump", "readelf --fancy x", "ld -m elf_mars a.o",
        "as --64bit x.s", "strip -x",
    ],
    "unknown bug": [
        "echo 'int f(void); int main(void) { return f(); }' > a.c; gcc -c a.c; ld a.o",
        "echo 'int x = 1;' > a.c; gcc -c a.c; cp a.o b.o; ld a.o b.o",
        "echo 'int x;' > a.c; gcc -c -m32 a.c 2>/dev/null || gcc -c a.c; ld -m elf_i386 a.o",
    ],
    "wrong_tool_called unimplemented": [
        "objcopy -O elf99 /bin/true x", "objdump -m mars -d /bin/true", "ld --oformat=pdf /dev/null",
    ],
    "access_denied permission_denied": ["echo 'int x;' > a.c; gcc -c a.c; ld -r a.o -o /usr/lib/a.o"],
    "unknown disk_full": ["echo 'int x;' > a.c; gcc -c a.c; ld -r a.o -o /dev/full"],
    "unknown vague": ["strip /bin/true"],
}
NASM = {"unknown bug": [
        "mov eax, [totl]", "jmp nowhere_label", "x: db 1\nx: db 2", "mov ax, ebx", "db 300, 'limit'\ntimes -5 db 0",
        "%include \"boot.asm\"",
    ],
        "schema_mismatch parse_error": [
        "mov eax,", "move eax, 5", "%if 1\nnop", "mov [eax], 5", "%fancy x", "add eax ebx",
    ],
        "unknown missing_data": ["%include \"limits.inc\"", "incbin \"logo.bin\""],
        "loop_detected loop_reported": ["%macro a 0\na\n%endmacro\na"]}
NASM_LINES = {"schema_mismatch invalid_argument": ["nasm -f fancy x.asm", "nasm", "nasm --fast x.asm", "nasm -o"], "unknown missing_data": ["nasm week.asm"], "access_denied permission_denied": ["echo nop > a.asm; nasm a.asm -o /usr/lib/a.o"]}
FORTRAN = {"unknown bug": [
        "program p\n  implicit none\n  totl = 5\nend program",
        "program p\n  integer :: a\n  a = 'lamp'\nend program", "program p\n  call ship(3)\nend program",
        "program p\n  integer :: a(3)\n  print *, a(1,2)\nend program", "program p\n  use pricelist\nend program",
        "program p\n  integer, parameter :: n = 5\n  n = 6\nend program",
    ],
           "schema_mismatch parse_error": [
        "program p\n  if (1 > 0) then\n    print *, 1\nend program", "program p\n  prnt *, 1\nend program",
    ]}
FORTRAN_RUN = {"unknown bug": [
        "program p\n  integer, allocatable :: a(:)\n  allocate(a(3))\n  a(7) = 1\n  print *, a(7)\nend program",
        "program p\n  integer :: i\n  i = 0\n  error stop 'stock is negative'\nend program",
    ],
               "unknown missing_data": [
        "program p\n  open(7, file='week12.dat', status='old')\nend program",
        "program p\n  open(7, file='notes.txt')\n  do\n    read(7, *)\n  end do\nend program",
    ],
               "schema_mismatch wrong_type": [
        "program p\n  integer :: i\n  character(5) :: s = 'ten'\n  read(s, *) i\nend program",
        "program p\n  print '(i3)', 2.5\nend program", "program p\n  print '(zz)', 1\nend program",
    ],
               "crashed signal": ["program p\n  integer, pointer :: q => null()\n  q = 5\nend program"], "access_denied permission_denied": ["program p\n  open(7, file='/etc/a.dat', status='new')\nend program"]}
BISON = {"unknown bug": [
        "%%\na: b;", "%%\na: 'x' | 'x';\n%%", "%token A A\n%%\na: A;", "%type <n> a\n%%\na: 'x' { $$ = $5; };",
        "%%\na: a;", "%%\na: b; b: a;",
    ],
         "schema_mismatch parse_error": [
        "%%\na 'x';", "%%\na: 'x", "%fancy x\n%%\na: 'x';", "a: 'x';", "%%\na: 'x' { $$ = 1;",
    ],
         "loop_detected loop_reported": []}
BISON_LINES = {"unknown missing_data": ["bison week.y"], "schema_mismatch invalid_argument": ["bison --fast a.y", "bison", "bison -L cobol x.y"], "access_denied permission_denied": []}
FLEX = {"schema_mismatch parse_error": [
        "%%\n[a return 1;", "%%\n(a return 1;", "a b\n", "%%\n{NUM} ;", "%%\n\"open ;", "%s\n%%\na{9,2} ;",
    ], "unknown bug": ["%%\n.* ;\nabc ;\n<NEXT>a ;"]}
FLEX_LINES = {"unknown missing_data": ["flex week.l"], "schema_mismatch invalid_argument": ["flex --fast", "flex -Cz a.l"], "access_denied permission_denied": ["printf '%%%%\\na ;\\n' > a.l; flex -o /etc/a.c a.l"]}
PROTO = {"schema_mismatch parse_error": [
        "syntax = \"proto3\";\nmessage A { int32 id = 1 }", "syntax = \"proto4\";",
        "syntax = \"proto3\";\nmessage A { required int32 id = 1; }",
        "syntax = \"proto3\";\nmessage A { int32 id = 0; }", "syntax = \"proto3\";\nenum E { OPEN = 1; }",
    ],
         "unknown bug": [
        "syntax = \"proto3\";\nmessage A { Order o = 1; }",
        "syntax = \"proto3\";\nmessage A { int32 a = 1; int32 b = 1; }",
        "syntax = \"proto3\";\nmessage A {}\nmessage A {}",
        "syntax = \"proto3\";\nservice S { rpc Ship(Order) returns (Order); }",
    ],
         "unknown missing_data": ["syntax = \"proto3\";\nimport \"limits.proto\";"], "loop_detected loop_reported": ["syntax = \"proto3\";\nimport \"shop.proto\";"]}
PROTO_LINES = {"unknown missing_data": ["protoc --cpp_out=. week.proto"], "wrong_tool_called command_not_found": [
        "printf 'syntax = \"proto3\";' > a.proto; protoc --fancy_out=. a.proto",
    ], "schema_mismatch invalid_argument": [
        "protoc --fast a.proto", "protoc", "printf 'syntax = \"proto3\";' > a.proto; protoc a.proto",
    ],
               "schema_mismatch output_format": [
        "printf 'syntax = \"proto3\"; message A { int32 n = 1; }' > a.proto; protoc --encode=A a.proto < notes.txt",
        "printf 'syntax = \"proto3\"; message A { int32 n = 1; }' > a.proto; head -c 30 /dev/urandom > r; protoc --decode=A a.proto < notes.txt",
    ], "access_denied permission_denied": ["printf 'syntax = \"proto3\";' > a.proto; protoc --cpp_out=/etc a.proto"]}


def cases():
    yield from sources("gcc", ["order.c", "src/cart.c"], "gcc -Wall -Werror {f} -o shop", C)
    yield from sources("gcc", ["order.cpp", "src/cart.cpp"], "g++ -std=c++20 {f} -o shop 2>&1 | head -14", CPP)
    yield from commands("gcc", GCC_LINES, "gcc")
    yield from sources("gcc", ["prog.c"], ASAN, SANITIZED)
    yield from sources("clang", ["order.c", "src/cart.c"], "clang -Wall -Werror {f} -o shop", C)
    yield from sources("clang", ["order.cpp", "src/cart.cpp"], "clang++ -std=c++20 {f} -o shop 2>&1 | head -14", CPP)
    yield from commands("clang", {key: [line.replace("gcc", "clang").replace("g++", "clang++") for line in lines] for key, lines in GCC_LINES.items()}, "clang")
    yield from sources("bash", ["prog.c"], RUN, DYING, "gcc")
    yield from sources("gdb", ["prog.c"], GDB, DYING, "gdb")
    yield from commands("gdb", GDB_LINES)
    yield from sources("valgrind", ["prog.c"], VALGRIND, CHECKED, "valgrind")
    yield from commands("valgrind", VALGRIND_LINES)
    yield from commands("binutils", LD, "ld")
    yield from sources("nasm", ["boot.asm"], "nasm -f elf64 {f}", NASM)
    yield from commands("nasm", NASM_LINES, "nasm")
    yield from sources("gfortran", ["model.f90"], "gfortran {f}", FORTRAN)
    yield from sources("gfortran", ["model.f90"], "gfortran -fcheck=all {f} -o m 2>&1 && ./m", FORTRAN_RUN)
    yield from sources("bison", ["rules.y"], "bison {f}", BISON)
    yield from commands("bison", BISON_LINES, "bison")
    yield from sources("flex", ["words.l"], "flex {f}", FLEX)
    yield from commands("flex", FLEX_LINES, "flex")
    yield from sources("protobuf", ["shop.proto"], "protoc --cpp_out=. {f}", PROTO)
    yield from commands("protobuf", PROTO_LINES, "protoc")
