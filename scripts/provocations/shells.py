# SPDX-License-Identifier: MIT
"""Shells and small command-line languages: bash, dash, bc, dc, jq, awk, m4."""
from .cases import commands, sources

BASH = {
    "wrong_tool_called command_not_found": [
        "set -e\necho start\ndeploi --to staging", "rows=$(xls2csv orders.xls | wc -l)",
        "load_orders\nfunction load_orders { :; }", "printf -v x; bindkey a b",
    ],
    "schema_mismatch parse_error": [
        "if [ 1 = 1 ]; then\n  echo yes", "for f in *.csv do\n echo $f\ndone", "echo $((3 + ))",
        "case x in\n a) echo a\nesac )", "echo \"unclosed\nls", "cat <<END\nbody", "x=(1 2\necho $x",
        "while true; do; done",
    ],
    "schema_mismatch invalid_argument": [
        "set -o pipefails", "read -t soon line", "kill -NOPE 1", "trap 'rm x' EXITT", "exit done", "shift 4x",
        "printf '%d\\n' twelve", "local x=1", "declare -Z a", "ulimit -n plenty", "let 'x = 08 + 1'", "[ 3 -gt ]",
        "[[ a -eq 5x ]]", "[ $a = b ]", "shopt -s fastmode",
    ],
    "unknown bug": [
        "set -u\necho \"$TARGET_FOLDER\"", "readonly LIMIT=500\nLIMIT=600", "echo $((5 / (3 - 3)))",
        "cd build && make", "return 5", "wait 99999999", "a=1; echo ${a[@]:x y}",
        "set -e\nassert() { [ \"$1\" = \"$2\" ] || { echo \"assertion failed: $1 != $2\" >&2; false; }; }\nassert 4 5",
        "fg %3",
    ],
    "unknown missing_data": [
        "source ./settings.env", "while read -r l; do :; done < inbox.txt",
        "echo ${1:?give the month, e.g. 2026-03}", "cat < /srv/none/in.csv > out",
    ],
    "unknown near_miss": [
        "echo 'timeout is 30 s, 2 of 5 retries used'\ntest -f done.flag || { echo 'nothing to do: quota not touched' >&2; exit 3; }",
    ],
    "unknown disk_full": ["echo report > /dev/full", "printf '%s\\n' a b c > /dev/full || echo could not save"],
    "access_denied permission_denied": [
        "echo x > /etc/shop.conf", "./notes.txt", "chmod 0 orders.csv; wc -l < orders.csv", "cd /root",
        "mkdir d; chmod 0 d; ls > d/list", "kill -9 1",
    ],
    "external_fault connection_refused": ["exec 3<>/dev/tcp/127.0.0.1/@CLOSED@"],
    "external_fault dns_failed": ["echo hi > /dev/tcp/metrics.invalid/8125"],
    "external_fault resource_busy": [
        "ulimit -n 4\nexec 5<notes.txt 6<orders.csv\ncat <(echo a) <(echo b)", "ulimit -u 1\nls | wc -l\ndate",
    ],
    "external_fault connection_lost": [
        "trap '' PIPE\n{ sleep 0.2; echo one; } | true\n(trap '' PIPE; sleep 0.2; echo two) | true",
    ],
    "crashed signal": [
        "bash -c 'kill -SEGV $$'; echo next", "bash -c 'kill -ABRT $$'; exit 0",
        "bash -c 'kill -KILL $$'; echo \"step 2 got $?\"", "ulimit -t 1\nbash -c 'while :; do :; done'; echo $?",
        "bash -c 'kill -BUS $$'; exit 1",
    ],
    "crashed out_of_memory": ["ulimit -v 30000\na=$(head -c 60000000 /dev/zero | tr '\\0' x)\necho ${#a}"],
    "crashed stack_overflow": ["FUNCNEST=50\nr() { r; }\nr", "f() { f; }\nulimit -s 256\nf"],
    "timeout time_limit": [
        "timeout -v 0.2 sleep 5\necho \"fetch ended with $?\"", "timeout -v -s KILL 0.2 bash -c 'sleep 3'\nexit $?",
    ],
    "context_overflow too_large": [
        "/bin/echo $(seq 1 300000) | wc -c", "env \"X=$(head -c 200000 /dev/zero | tr '\\0' a)\" true",
    ],
    "loop_detected loop_reported": [
        "ln -s a b; ln -s b a\necho x > a", "declare -n r=r\nr=5; declare -n p=q; declare -n q=p; echo $p",
    ],
}
DASH = {
    "wrong_tool_called command_not_found": [
        "source ./env.sh", "pushd /srv", "[[ a = b ]] && echo same", "declare -A m", "shopt -s nullglob",
    ],
    "schema_mismatch parse_error": [
        "a=(1 2 3)", "function f { echo; }", "echo ${x^^}", "if true; then echo 1; fi; fi", "echo $((1 +))",
        "cat <(ls)", "foo() {\n echo",
    ],
    "schema_mismatch invalid_argument": [
        "set -o pipefail", "read", "exit soon", "shift 9", "trap - NOSUCH", "[ a -eq 1 ]", "printf '%q' x",
        "ulimit -n x", "export 2=a",
    ],
    "unknown bug": ["set -u; echo $MONTH", "readonly a=1; a=2", "echo $((1/0))"],
    "unknown missing_data": [". ./settings", "cd /srv/nothing", "cat < inbox", "echo ${KEY:?not given}"],
    "access_denied permission_denied": ["echo a > /etc/x", "/etc/passwd"],
    "crashed signal": ["dash -c 'kill -SEGV $$'; echo after", "dash -c 'kill -ILL $$'; exit 2"],
    "unknown disk_full": ["echo a > /dev/full"],
    "context_overflow too_large": ["/bin/echo $(seq 1 300000)"],
    "external_fault resource_busy": ["ulimit -n 3; exec 4<notes.txt", "ulimit -p 1; ls | cat; date & wait"],
    "loop_detected loop_reported": ["ln -s q q; cat < q"],
}
JQ = {
    "schema_mismatch invalid_json": [
        "jq . broken.json", "jq . trailing.json", "jq .name notes.txt", "echo '{\"a\":1}}' | jq -c .",
        "printf '{\"a\": \"x\\ty\\001\"}' | jq .", "echo \"{'a': 1}\" | jq .a", "jq . data.xml",
        "echo '[1,2' | jq length", "echo '{a:1}' | jq .", "echo '{\"a\" 1}' | jq .",
        "jq --argjson n twelve '.a' config.json",
    ],
    "schema_mismatch parse_error": [
        "jq '.name |' config.json", "jq '.tools[' config.json", "jq '{name: }' config.json",
        "jq 'if .a then 1' config.json", "jq '.a = = 1' config.json", "jq 'map(.)) ' config.json",
        "jq '.name as x | x' config.json",
    ],
    "schema_mismatch wrong_type": [
        "jq '.name[0]' config.json", "jq '.limits + 1' config.json", "jq '.tools.first' config.json",
        "jq '.name | keys' config.json", "jq '.name | tonumber' config.json",
        "jq -r '.limits | @csv' config.json",
        "jq '.name | fromjson' config.json", "jq '\"noon\" | fromdate' config.json",
        "jq '.tools | test(\"a\")' config.json", "jq '.tools | implode' config.json",
    ],
    "wrong_tool_called method_not_found": [
        "jq 'map_tools(.name)' config.json", "jq '$rows' config.json", "jq 'include \"lib\"; .' config.json",
        "jq '.name | @xml' config.json", "jq 'test(1;2;3;4)' config.json",
    ],
    "schema_mismatch invalid_argument": [
        "jq --colour . config.json", "jq --arg x . ", "jq --indent 12 . config.json", "jq", "jq --slurpfile a",
    ],
    "unknown missing_data": [
        "jq .a missing.json", "jq -f filter.jq config.json",
        "jq -r '.colour // error(\"no colour in order 77\")' config.json",
    ],
    "unknown bug": [
        "jq '5 / (.limits.items - 500)' config.json", "jq 'error' config.json",
        "jq 'error({code: 7, limit: 500})' config.json", "jq 'break' config.json",
        "jq 'first(error(\"retry limit is 5, used 2\"))' config.json", "jq '\"a,b\" | splits(\"[\")' config.json",
    ],
    "unknown near_miss": [
        "jq -c '.limits, \"timeout 30 s\" | halt_error' config.json",
        "jq -n '\"2 of 5 retries left, no quota touched\\n\" | halt_error(3)'",
    ],
    "access_denied permission_denied": ["chmod 0 config.json; jq . config.json"],
    "context_overflow too_large": [
        "jq -n '[range(12000)] | map(\"[\") | add | fromjson'", "head -c 30000 /dev/zero | tr '\\0' '[' | jq .",
    ],
    "crashed signal": [
        "timeout -s SEGV 0.2 jq -n 'last(range(1e12))'",
        "timeout -s KILL 0.2 jq -n '[limit(1e10; repeat(1))] | length'",
    ],
    "crashed out_of_memory": ["prlimit --as=60000000 jq -n '[range(9000000)] | length'"],
    "unknown disk_full": ["jq . config.json > /dev/full"],
}
BC = {
    "schema_mismatch parse_error": [
        "echo '3 +' | bc", "echo 'total = 5 $ 2' | bc", "echo 'if (1 {' | bc", "echo '\"open' | bc",
        "echo 'define f(x { return x }' | bc",
    ],
    "wrong_tool_called method_not_found": ["echo 'round(2.5)' | bc", "echo 's(1)' | bc"],
    "schema_mismatch wrong_type": ["echo 'define f(x) { return x } f(1,2)' | bc"],
    "unknown bug": [
        "echo '7 / (3 - 3)' | bc", "echo 'sqrt(-4)' | bc", "echo '2 ^ 0.5' | bc", "echo '2 % 0' | bc",
        "echo 'a[-1] = 3' | bc", "echo 'a[99999999] = 1' | bc",
    ],
    "unknown missing_data": ["bc rates.bc"],
    "schema_mismatch invalid_argument": ["bc --precise"],
    "context_overflow too_large": ["echo '2 ^ 99999999999' | bc"],
    "crashed out_of_memory": [
        "echo 'define f(n) { auto a[]; a[9999]=n; return f(n+1) } f(1)' | prlimit --as=90000000 bc",
    ],
    "unknown near_miss": ["echo 'ibase = 99' | bc", "echo 'scale = -1' | bc"],
}
DC = {
    "unknown bug": ["dc -e '1 0 / p'", "dc -e '_4 v p'", "dc -e '2 0 % p'", "dc -e '1 2 3 0 | p'"],
    "schema_mismatch tool_arguments": ["dc -e '+ p'", "dc -e '1 + p'"],
    "wrong_tool_called unimplemented": ["dc -e '3 g'", "dc -e '2 w 5 y'", "dc -e '\"'"],
    "schema_mismatch wrong_type": [
        "dc -e '[a] 3 + p'", "dc -e '99 i'", "dc -e '_1 k'", "dc -e '[x] o'", "dc -e '1 _1 :a'",
    ],
    "unknown missing_data": ["dc totals.dc"],
    "schema_mismatch invalid_argument": ["dc --run x"],
}
AWK = {
    "schema_mismatch parse_error": [
        "awk '{ print $1 ' orders.csv", "awk '{ prnt $1 }}' orders.csv",
        "awk -F, 'NR>1 { s+=$3 ) } END { print s }' orders.csv", "gawk '{ print $1 + }' orders.csv",
        "gawk 'BEGIN { if (1 print 2 }'", "gawk '/open { print }' notes.txt", "sed 's/a/b' notes.txt",
        "sed 'x;y/ab/c/' notes.txt", "sed -E 's/(a/b/' notes.txt", "sed '3q;}' notes.txt",
        "sed 's/a/b/gz' notes.txt", "grep -E 'a{2,1}' notes.txt", "grep '[a' notes.txt",
        "grep -P '(?<=a+)b' notes.txt", "grep -E '(lamp' orders.csv", "sed 's/\\(a\\)/\\2/' notes.txt",
        "mawk 'BEGIN { getline < }'", "grep '\\(' notes.txt",
    ],
    "wrong_tool_called command_not_found": [
        "gawk 'BEGIN { print trim(\" a \") }'", "mawk 'BEGIN { print asort(a) }'", "sed 'k' notes.txt",
    ],
    "schema_mismatch invalid_argument": [
        "grep --colur=yes a notes.txt", "grep -A few a notes.txt", "sed --in-plaice s/a/b/ notes.txt",
        "gawk --profil=x -Y", "grep", "sed", "grep -e", "sed -n '0,4p' notes.txt", "grep -m lots a notes.txt",
        "gawk 'BEGIN { printf \"%d %d\\n\", 1 }'", "cut -f a-b notes.txt", "sort -k x notes.txt",
        "head -n ten notes.txt", "tr a-z", "uniq --size notes.txt", "paste -d", "join -1 0 notes.txt orders.csv",
        "split -b 5Q notes.txt", "comm notes.txt", "nl -w0 notes.txt",
    ],
    "unknown missing_data": [
        "grep -n total report.txt", "sed -i 's/a/b/' settings.ini", "gawk '{ print }' week12.csv",
        "wc -l week12.csv", "sort week12.csv week13.csv", "gawk -f lib.awk -e 'BEGIN{}' -i csvtools",
    ],
    "unknown bug": [
        "gawk 'BEGIN { print 1 / 0 }'", "gawk 'BEGIN { a[1] = 1; print a + 1 }'",
        "gawk 'function f(x) { x[1] = 1 } BEGIN { y = 5; f(y) }'", "join orders.csv notes.txt",
        "printf 'b\\na\\n' | sort -c",
    ],
    "access_denied permission_denied": [
        "chmod 0 notes.txt; grep a notes.txt", "chmod 0 notes.txt; sed s/a/b/ notes.txt",
        "sed -i s/a/b/ /etc/hostname", "gawk 'BEGIN { print 1 > \"/etc/total\" }'",
    ],
    "loop_detected loop_reported": [
        "mkdir d; ln -s ../d d/d; grep -R alpha d/d/d d", "printf 'a b\\nb a\\n' | tsort",
        "ln -s y z; ln -s z y; grep a z",
    ],
    "crashed out_of_memory": [
        "prlimit --as=40000000 gawk 'BEGIN { while (1) a[n++] = n n n n }'",
        "printf '%0900000d' 0 | prlimit --as=20000000 sed -E ':a;s/0/00/g;ta'",
    ],
    "crashed stack_overflow": [
        "mawk 'function f(n) { return f(n+1) } BEGIN { f(1) }'",
        "gawk 'BEGIN { system(\"kill -SEGV $$\"); exit 139 }'",
    ],
    "context_overflow too_large": [
        "grep -P '(a{1,60000}){1,60000}' notes.txt",
        "head -c 200000 /dev/zero | tr '\\0' 'a' > p; grep -E -f p notes.txt; grep -E '(((a{1000}){1000}){1000}){1000}' notes.txt",
        "mawk 'BEGIN { s = sprintf(\"%09000d\", 1); printf s s s s s }' | mawk '{ print sprintf(\"%0900000d\", 2) }'",
    ],
    "unknown disk_full": ["gawk '{ print }' notes.txt > /dev/full", "sed p notes.txt > /dev/full"],
    "unknown near_miss": [
        "grep -c 'limit' app.log; grep 'timeout' app.log",
        "gawk '/limit|timeout/ { print FILENAME \": \" $0 }' app.log; grep -q 'Permission denied' app.log || echo 'no denied lines' >&2",
        "printf 'a\\000limit\\n' | grep limit",
    ],
    "quota_exhausted quota": [
        "inject write EDQUOT 1+ sed -n p notes.txt", "inject write EDQUOT 1+ sort notes.txt -o sorted.txt",
    ],
    "external_fault temporary": [
        "inject read EIO 2+ wc -l notes.txt",
        "inject fork,vfork,clone,clone3 EAGAIN 1+ gawk 'BEGIN { \"date\" | getline d; print d }'",
    ],
}
M4 = {
    "schema_mismatch parse_error": [
        "echo 'define(`a' | m4", "echo 'eval(3 +)' | m4", "printf '`open' | m4", "echo 'ifelse(a, b' | m4",
    ],
    "schema_mismatch tool_arguments": [
        "echo 'substr()' | m4", "echo 'eval(1, 99)' | m4", "echo 'incr(x)' | m4", "echo 'len(a, b)' | m4",
    ],
    "unknown missing_data": ["echo 'include(parts/head.m4)' | m4", "m4 site.m4", "echo 'undivert(x)' | m4"],
    "unknown bug": ["echo 'eval(4 / 0)' | m4", "echo 'undefine(zz) popdef(yy)' | m4"],
    "schema_mismatch invalid_argument": ["m4 --depth=3"],
    "loop_detected loop_reported": ["echo 'define(`a', `a()b')a' | m4 -L 200"],
}


def cases():
    yield from sources("bash", ["nightly.sh", "deploy.sh", "load.sh", "steps/run.sh"], "bash {f}", BASH)
    yield from sources("dash", ["import.sh", "job.sh"], "dash {f}", DASH)
    yield from commands("jq", JQ, "jq")
    yield from commands("bc", BC, "bc")
    yield from commands("dc", DC)
    for key, lines in AWK.items():
        for line in lines:
            yield from commands("mawk" if line.startswith("mawk") else "gnu-text-tools", {key: [line]})
    yield from commands("m4", M4, "m4")
