# SPDX-License-Identifier: MIT
"""Everyday tools: git, find, coreutils, patch, gpg, xmllint, xsltproc, apt, tmux, util-linux."""
from .cases import commands

REPO = "git init -q -b main shop; cd shop; echo 1 > a; git add a; git commit -qm one; "
CLASH = REPO + "git switch -qc other; echo 2 > a; git commit -qam two; git switch -q main; echo 3 > a; git commit -qam three; "
HOOK = "printf '#!/bin/sh\\n%s\\n' > .git/hooks/%s; chmod +x .git/hooks/%s; "
REMOTE = "git init -q --bare hub.git; git clone -q hub.git w 2>/dev/null; cd w; git switch -qc main 2>/dev/null; echo 1 > a; git add a; git commit -qm one; git push -q origin main; "
GIT = {
    "wrong_tool_called command_not_found": [
        "git comit -m x", "git push-all", "git stash drpo", "git remote ad origin x", "git bisect begin",
        REPO + "git worktree create ../b",
    ],
    "wrong_tool_called unimplemented": ["git clone gopher://127.0.0.1/a.git"],
    "schema_mismatch invalid_argument": [
        REPO + "git log --onelin", REPO + "git commit --amendd", REPO + "git checkout -b 'bad name'",
        REPO + "git reset --hard a", REPO + "git tag v1..2", REPO + "git log -n few", REPO + "git diff --stat=wide",
        "git config --get", REPO + "git rebase", REPO + "git switch", "git clone",
        REPO + "git format-patch --start-number=x HEAD~0 -1 --subject=", "git init --object-format=sha512 a",
        "git clone --filter=blobs:many hub a", REPO + "git merge -s ours2 main",
    ],
    "schema_mismatch parse_error": [
        REPO + "printf '[core\\n' >> .git/config; git status", REPO + "echo x > .git/HEAD; git log",
        REPO + "git apply ../notes.txt",
        REPO + "printf 'diff --git a/a b/a\\n--- a/a\\n+++ b/a\\n@@ -1 +1 @@\\n' | git apply",
        REPO + "git am ../notes.txt", REPO + "git config core.compression lots; git add -A; echo 2 > b; git add b",
        REPO + "git hash-object -t tree ../notes.txt -w", REPO + "git show 'HEAD@{sometime'",
        REPO + "git grep '(a' -E; git grep -E '(a'",
    ],
    "unknown missing_data": [
        REPO + "git checkout feature/limits", REPO + "git show abc1234", "git log", REPO + "git add week12.csv",
        REPO + "git push origin main", "git clone ./nothing.git", REPO + "git branch -d gone",
        REPO + "git stash pop", REPO + "git revert deadbeef", "git -C nowhere status",
        REPO + "git submodule update parts", REPO + "git describe",
        REPO + "git config user.nothing; git rm week13.csv",
    ],
    "unknown bug": [
        CLASH + "git merge other", CLASH + "git rebase other 2>&1 | tail -4", CLASH + "git cherry-pick other",
        REPO + "git commit -m again", REPO + "git mv a a", REPO + "git branch main",
        REMOTE + "git commit -q --amend -m two; git push origin main", CLASH + "echo 9 > a; git switch other",
        REPO + "git merge nothing", CLASH + "git merge -q other; git commit -m done",
        REPO + "git init -q inner; git add inner; git branch -m main main2; git branch -D main2",
        REPO + "git worktree add ../w main", REPO + "git rm -q --cached a; git clean; git merge --abort",
        REPO + "touch b; git checkout --orphan x -q; git commit --fixup",
        REMOTE + "git switch -qc f; git branch -q --unset-upstream",
        REPO + "git remote add o x; git remote add o y", CLASH + "git merge --ff-only other",
        REPO + "git stash; git bisect start; git bisect good; git bisect bad",
    ],
    "unknown near_miss": [
        REPO + "echo 'retry limit 5' > b; git status",
        REPO + "git diff --exit-code; git commit -q --allow-empty -m 'Raise timeout and quota limits'; git log -1 --format=%s; git checkout nothing-here 2>&1",
        REPO + "git gc --auto; git fsck --lost-found; git fetch --all; git pull",
    ],
    "external_fault connection_refused": ["git clone git://127.0.0.1:@CLOSED@/shop.git"],
    "external_fault connection_lost": ["git clone http://127.0.0.1:@HTTP@/cut/shop.git"],
    "external_fault dns_failed": ["git ls-remote https://code.invalid/shop.git"],
    "external_fault server_error": [
        "git clone http://127.0.0.1:@HTTP@/v1/down?x", "git ls-remote http://127.0.0.1:@HTTP@/v1/bad?/x.git",
    ],
    "external_fault resource_busy": [
        REPO + "touch .git/index.lock; git add -A", REPO + "touch .git/refs/heads/x.lock; git branch x",
        REPO + "touch .git/config.lock; git config a.b c",
    ],
    "timeout timed_out": [
        "GIT_HTTP_LOW_SPEED_LIMIT=100 GIT_HTTP_LOW_SPEED_TIME=1 git clone http://127.0.0.1:@HTTP@/hang/shop.git",
    ],
    "access_denied unauthenticated": ["git clone http://127.0.0.1:@HTTP@/v1/orders?"],
    "access_denied forbidden": ["git clone http://127.0.0.1:@HTTP@/v1/admin?"],
    "access_denied permission_denied": [
        REPO + "chmod -R a-w .git; echo 2 > a; git add a", "git init /srv2", "git config --system a.b c",
    ],
    "constraint_ignored scope_violation": [
        REMOTE + "printf '#!/bin/sh\\necho \"policy: only docs/ may change, a was touched\" >&2\\nexit 1\\n' > ../hub.git/hooks/pre-receive; chmod +x ../hub.git/hooks/pre-receive; echo 2 > a; git commit -qam two; git push origin main",
        REMOTE + "git -C ../hub.git config receive.denyNonFastForwards true; git -C ../hub.git config receive.denyDeletes true; git push origin :main",
        REMOTE + "git commit -q --amend -m x; git -C ../hub.git config receive.denyNonFastForwards true; git push -f origin main",
    ],
    "constraint_ignored forbidden_content": [
        REPO + HOOK % ("echo \"commit-msg: a subject longer than 50 characters is not allowed\" >\\&2; exit 1", "commit-msg", "commit-msg") + "git commit -q --allow-empty -m 'A subject that goes on and on'",
        REPO + HOOK % ("git diff --cached --check || { echo \"pre-commit: white space at line ends is forbidden here\"; exit 1; }", "pre-commit", "pre-commit") + "echo 'x  ' > b; git add b; git commit -m b",
    ],
    "context_overflow too_large": [
        REMOTE + "git -C ../hub.git config receive.maxInputSize 50; head -c 9000 /dev/urandom > b; git add b; git commit -qm b; git push -q origin main 2>&1 | grep -v -e Enum",
    ],
    "loop_detected loop_reported": [
        REPO + "ln -s y x; ln -s x y; git config include.path ../x; git config -l; git apply x",
        REPO + "git config include.path config; git status 2>&1 | tail -3",
        REPO + "git symbolic-ref refs/heads/p refs/heads/q; git symbolic-ref refs/heads/q refs/heads/p; git log p",
        REPO + "git config alias.a b; git config alias.b a; git a",
    ],
    "crashed signal": [REPO + "git config alias.boom '!kill -SEGV $$'; git boom"],
    "quota_exhausted quota": [REPO + "echo 2 > a; inject write EDQUOT 1+ git commit -am two"],
    "unknown disk_full": [
        REPO + "inject write ENOSPC 1+ git add -f ../shop/a; echo 3 > c; inject write ENOSPC 1+ git add c",
        REPO + "git archive -o /dev/full HEAD",
    ],
    "unknown cancelled": [
        REPO + "git commit --allow-empty -m ''", REPO + "GIT_EDITOR='true' git commit --allow-empty",
    ],
    "unknown vague": [REMOTE + HOOK % ("exit 0", "x", "x") + "chmod -R a-w ../hub.git/objects; echo 2 > a; git commit -qam two; git push origin main"],
}
FIND = {
    "schema_mismatch invalid_argument": [
        "find . -nme x", "find . -type q", "find . -mtime soon", "find . -name", "find . -exec rm {}",
        "find . \\( -name a", "find . -maxdepth -1", "find . -size 5q", "find . -newerXY a",
        "find . -regextype fancy -regex a", "find -perm 999", "find . -printf", "xargs -n few",
        "xargs --parallel 3", "xargs -P x", "find . ! ", "find . -and", "find -D nosuch x",
    ],
    "schema_mismatch parse_error": [
        "find . -regex '\\(a'", "printf \"a 'b\\n\" | xargs echo", "find . -printf '%q'", "find . -samefile",
    ],
    "unknown missing_data": ["find exports -name '*.csv'", "find . -newer stamp", "xargs -a list.txt echo"],
    "wrong_tool_called command_not_found": [
        "find . -name notes.txt -exec pdf2text {} +", "echo a | xargs pdf2text",
        "find . -name notes.txt -execdir ./convert.sh {} \\;",
    ],
    "access_denied permission_denied": [
        "mkdir d; chmod 0 d; find . -name '*.csv'", "find /root -name x",
        "mkdir d; touch d/a; chmod 500 d; find d -type f -delete", "echo a | xargs ./notes.txt",
    ],
    "unknown bug": [
        "echo a | xargs sh -c 'exit 255'",
        "mkdir -p d/e; find d -maxdepth 1 -name e -exec rmdir x \\; -delete; touch d/f; find . -name d -delete",
    ],
    "crashed signal": ["echo a | xargs sh -c 'kill -SEGV $$'", "echo a | xargs sh -c 'kill -KILL $$'"],
    "loop_detected loop_reported": ["mkdir -p d; ln -s ../d d/up; find -L d", "ln -s x y; ln -s y x; find -L x y"],
    "context_overflow too_large": [
        "head -c 200000 /dev/zero | tr '\\0' a | xargs echo",
        "head -c 3000 /dev/zero | tr '\\0' a | xargs -x -s 2000 echo",
    ],
    "unknown disk_full": ["find . > /dev/full"],
}
COREUTILS = {
    "unknown missing_data": [
        "cp week12.csv backup/", "mv draft.md final.md", "rm old.csv", "ls exports", "stat week13.csv",
        "chmod 600 key.pem", "truncate -s 5 /nowhere/a", "tail -n 3 run.log", "sha256sum -c sums.txt",
        "shred gone.txt", "install -m 600 a.conf /tmp/x", "readlink -e a/b/c || ls a/b/c",
    ],
    "unknown bug": [
        "rm notes.d; mkdir full; touch full/a; rmdir full", "mkdir notes.txt", "cp -r . ./copy",
        "mv notes.txt notes.txt", "ln -s a notes.txt", "cp notes.txt orders.csv app.log",
        "echo 'abc  notes.txt' | sha256sum -c", "rm .", "mkdir a; mv a a/b", "expr 5 / 0", "factor 12x",
        "seq 1 0 5", "cat notes.txt/", "ls --color=sometimes", "mkdir d; cp -r d d/e",
        "cat notes.txt >> notes.txt; cat notes.txt >> notes.txt | cat; cat < notes.txt >> notes.txt; cat notes.txt app.log > app.log",
    ],
    "schema_mismatch invalid_argument": [
        "date -d 'next someday'", "sleep soon", "chmod u+q notes.txt", "dd if=notes.txt of=o bs=5z",
        "dd if=notes.txt count=many", "mktemp abc", "expr 3 +", "numfmt --from=iec 12Q", "test 1 -foo 2",
        "touch -t 20269999 a", "timeout soon ls", "seq a b", "tee --apend x", "od -t z notes.txt",
        "fold -w 0 notes.txt", "chown nosuchperson notes.txt", "csplit notes.txt 9x", "env -i --split",
        "base64 -w x notes.txt", "printf '%b %z'", "shuf -i 9-1", "kill -s NOPE 1", "basename", "stty fast",
        "pr -l x notes.txt", "cp --sparse=often a b", "du --block-size=x", "df --output=colour", "mknod p",
        "touch $(printf 'a%.0s' $(seq 300))", "truncate -s 9E a",
    ],
    "schema_mismatch parse_error": [
        "echo '!!!' | base64 -d", "numfmt 12,5x", "echo zz | base32 -d", "echo x | sha256sum -c",
    ],
    "wrong_tool_called command_not_found": [
        "env pdf2text a.pdf", "nohup shipit --now", "timeout 5 fetch-prices", "nice -n 3 render page",
        "stdbuf -oL followlog",
    ],
    "access_denied permission_denied": [
        "touch /etc/a", "mkdir /opt/shop", "chown root notes.txt", "cp notes.txt /usr/bin/",
        "mkdir d; touch d/a; chmod 0 d; rm d/a", "date -s 12:00", "nice -n -5 true", "ls /root", "chroot . ls",
        "mkfifo /run/x", "ln notes.txt /etc/n", "tee /etc/x < notes.txt", "env ./notes.txt", "nohup ./data.xml",
    ],
    "timeout time_limit": [
        "timeout -v 0.2 sleep 3", "timeout -v -k 0.1 0.1 sh -c 'trap \"\" TERM; sleep 1; sleep 1'",
    ],
    "crashed signal": [
        "timeout -s KILL 0.1 sleep 3", "timeout --foreground -s ABRT 0.1 sleep 3; kill -SEGV $$",
        "env sh -c 'kill -FPE $$'",
    ],
    "external_fault temporary": [
        "inject read EIO 3+ cat notes.txt", "inject read EIO 3+ sha256sum notes.txt",
        "inject write EIO 1+ cp notes.txt c", "inject fork,vfork,clone,clone3 EAGAIN 1+ timeout 5 true",
    ],
    "quota_exhausted quota": [
        "inject write EDQUOT 1+ tee copy < notes.txt", "inject write,copy_file_range EDQUOT 1+ cp notes.txt c",
        "inject mkdir,mkdirat EDQUOT 1+ mkdir d", "inject write EDQUOT 1+ dd if=notes.txt of=o",
        "inject write EDQUOT 1+ split -l 1 notes.txt",
    ],
    "unknown disk_full": [
        "dd if=notes.txt of=/dev/full", "cat notes.txt > /dev/full", "cp notes.txt /dev/full",
        "tee /dev/full < notes.txt", "seq 5 > /dev/full",
    ],
    "context_overflow too_large": ["env $(seq 1 200000) true"],
    "loop_detected loop_reported": [
        "ln -s b a; ln -s a b; cat a", "ln -s y x; ln -s x y; cp x z", "ln -s n m; ln -s m n; realpath -e m",
    ],
    "unknown near_miss": [
        "diff app.log notes.txt", "cmp notes.txt app.log",
        "wc app.log; sort -c app.log && echo 'limit 500, timeout 30: sorted'; ls week*",
    ],
}
XML = {
    "schema_mismatch parse_error": [
        "xmllint broken.xml", "xmllint --noout config.json", "printf '<a><b></a>' | xmllint -",
        "printf '<a x=1/>' | xmllint -", "printf '<a>&euro;</a>' | xmllint -", "printf '<a/><b/>' | xmllint -",
        "printf '' | xmllint -", "printf '<a>caf\\351</a>' | xmllint -",
        "printf '<a x=\"1\" x=\"2\"/>' | xmllint -", "xmllint --xpath '//order[' data.xml",
        "xmllint --html --noout notes.txt data.xml", "printf '<n:a/>' | xmllint --noout -",
    ],
    "schema_mismatch validation_error": [
        "printf '<!DOCTYPE a [<!ELEMENT a (b)>]><a><c/></a>' | xmllint --valid --noout -",
        "printf '<grammar xmlns=\"http://relaxng.org/ns/structure/1.0\"><start><element name=\"shop\"><empty/></element></start></grammar>' > s.rng; xmllint --noout --relaxng s.rng data.xml",
        "printf '<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:element name=\"orders\" type=\"xs:int\"/></xs:schema>' > s.xsd; xmllint --noout --schema s.xsd data.xml",
        "printf '<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:element name=\"o\"/></xs:schema>' > s.xsd; xmllint --noout --schema s.xsd data.xml",
    ],
    "schema_mismatch invalid_argument": [
        "xmllint --formt data.xml", "xmllint --encode utf-99 data.xml", "xmllint --pretty x data.xml",
    ],
    "unknown missing_data": [
        "xmllint week12.xml", "xmllint --xpath '//invoice' data.xml", "xmllint --schema orders.xsd data.xml",
        "printf '<!DOCTYPE a SYSTEM \"a.dtd\"><a/>' | xmllint --valid --noout -",
    ],
    "wrong_tool_called method_not_found": [
        "xmllint --xpath 'total-of(//total)' data.xml", "xmllint --xpath 'x:sum(//total)' data.xml",
    ],
    "context_overflow too_large": [
        "(for i in $(seq 300); do printf '<a>'; done) | xmllint -",
        "printf '<a>%011000000d</a>' 1 | xmllint --noout -",
    ],
    "loop_detected loop_reported": [
        "printf '<!DOCTYPE a [<!ENTITY x \"&y;\"><!ENTITY y \"&x;\">]><a>&x;</a>' | xmllint --noent -",
        "printf '<!DOCTYPE a [<!ENTITY a \"1111111111\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\"><!ENTITY e \"&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;\"><!ENTITY f \"&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;\">]><a>&f;&f;&f;&f;&f;&f;&f;&f;</a>' | xmllint --noent -",
    ],
    "access_denied permission_denied": ["chmod 0 data.xml; xmllint data.xml", "xmllint -o /etc/a.xml data.xml"],
    "unknown disk_full": ["xmllint -o /dev/full data.xml"],
}
S = "printf '<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">%s</xsl:stylesheet>' > s.xsl; xsltproc s.xsl data.xml"
XSLT = {
    "schema_mismatch parse_error": [
        "xsltproc data.xml data.xml", "xsltproc broken.xml data.xml",
        S % "<xsl:template match=\"/\"><xsl:value-of/></xsl:template>",
        S % "<xsl:template match=\"a[\">x</xsl:template>", S % "<xsl:template><b/></xsl:template>",
        S % "<xsl:colour/>",
    ],
    "wrong_tool_called method_not_found": [
        S % "<xsl:template match=\"/\"><xsl:call-template name=\"total\"/></xsl:template>",
        S % "<xsl:template match=\"/\"><xsl:value-of select=\"upper(a)\"/></xsl:template>",
    ],
    "unknown bug": [
        S % "<xsl:template match=\"/\"><xsl:value-of select=\"$$total\"/></xsl:template>",
        S % "<xsl:template match=\"/\"><xsl:message terminate=\"yes\">order 1 has no date, limit 5</xsl:message></xsl:template>",
    ],
    "loop_detected loop_reported": [
        S % "<xsl:template match=\"/\"><xsl:apply-templates select=\".\"/></xsl:template>",
        S % "<xsl:variable name=\"a\" select=\"$$b\"/><xsl:variable name=\"b\" select=\"$$a\"/><xsl:template match=\"/\"><xsl:value-of select=\"$$a\"/></xsl:template>",
        S % "<xsl:include href=\"s.xsl\"/>",
    ],
    "schema_mismatch invalid_argument": [
        "xsltproc --parm a b s.xsl data.xml", "xsltproc --maxdepth",
        S.replace("xsltproc", "xsltproc --param a '('") % "<xsl:template match=\"/\"/>",
    ],
    "unknown missing_data": ["xsltproc page.xsl data.xml", S.replace("data.xml", "week12.xml") % ""],
    "access_denied permission_denied": [
        S.replace("xsltproc", "xsltproc -o /etc/a") % "<xsl:template match=\"/\"><b/></xsl:template>",
    ],
}
PATCH = {
    "unknown bug": [
        "printf -- '--- notes.txt\\n+++ notes.txt\\n@@ -1,2 +1,2 @@\\n-delta\\n+omega\\n beta\\n' | patch",
        "printf -- '--- notes.txt\\n+++ notes.txt\\n@@ -1,3 +1,3 @@\\n-alpha 1\\n+alpha 2\\n beta 2\\n gamma three\\n' > p; patch -s < p; patch -N < p",
    ],
    "schema_mismatch parse_error": [
        "patch < notes.txt", "printf -- '--- a\\n+++ a\\n@@ -1,3 +1,3 @@\\n-x\\n' | patch notes.txt",
        "printf -- '--- a\\n+++ a\\n@@ -1 +1 @@\\n?x\\n' | patch notes.txt",
    ],
    "schema_mismatch invalid_argument": ["patch --fuz=3", "patch -p few", "patch a b c d"],
    "unknown missing_data": [
        "patch -i fix.patch", "printf -- '--- z.c\\n+++ z.c\\n@@ -1 +1 @@\\n-x\\n+y\\n' | patch",
    ],
    "access_denied permission_denied": [
        "printf -- '--- notes.txt\\n+++ notes.txt\\n@@ -1 +1 @@\\n-alpha 1\\n+b\\n' > p; chmod 500 .; patch < p",
    ],
    "constraint_ignored scope_violation": [
        "printf -- '--- ../../x\\n+++ ../../x\\n@@ -0,0 +1 @@\\n+y\\n' | patch -p0",
    ],
}
GPG = {
    "unknown missing_data": [
        "gpg --batch -e -r nobody@x.example notes.txt", "gpg --batch -d secret.gpg",
        "gpg --batch --export-secret-keys -a nobody",
    ],
    "schema_mismatch parse_error": [
        "gpg --batch -d notes.txt", "gpg --batch --import orders.csv", "gpg --batch --verify config.json",
    ],
    "schema_mismatch invalid_argument": [
        "gpg --batch --encript notes.txt", "gpg --batch --cipher-algo AES9 -c notes.txt",
        "gpg --batch --digest-algo MD17 --print-md X notes.txt", "gpg --batch --passphrase x",
    ],
    "access_denied bad_credentials": [
        "gpg -q --batch --pinentry-mode loopback --passphrase a -c notes.txt; gpg --batch --pinentry-mode loopback --passphrase b -d notes.txt.gpg",
    ],
    "access_denied unauthenticated": ["gpg --batch --no-tty -c notes.txt"],
}
APT = {
    "access_denied permission_denied": ["apt-get install -y cowsay-shop", "apt-get update", "dpkg -i shop_1.deb"],
    "unknown missing_data": [
        "apt-get -s install libprice-dev", "apt-get download nosuchpackage77", "apt-cache show libprice9",
        "dpkg -s libprice9", "dpkg -L libprice9", "dpkg-query -W libprice9", "apt-get -s install bash=99.1",
    ],
    "schema_mismatch invalid_argument": [
        "apt-get --assume-yess install a", "dpkg --instal a.deb", "apt-get -o Foo install",
        "apt-cache --colour show a", "dpkg",
    ],
    "wrong_tool_called command_not_found": ["apt-get instal bash", "apt-cache find bash", "apt-mark keep bash"],
    "schema_mismatch parse_error": [
        "cp notes.txt a.deb; dpkg -I a.deb",
        "printf 'deb [x http://a\\n' > l; apt-get -o Dir::Etc::sourcelist=$PWD/l -o Dir::Etc::sourceparts=- -s install bash",
        "dpkg --compare-versions 1.x! gt 2",
    ],
    "unknown bug": ["apt-get -s install bash-; apt-get -s remove --yes dpkg"],
}
TMUX = {
    "wrong_tool_called command_not_found": ["tmux split-windw", "tmux attach-to x"],
    "unknown missing_data": [
        "tmux -L none attach -t build", "tmux -L none kill-session -t x",
        "tmux -f missing.conf -L q new -d; tmux -L q kill-server",
    ],
    "schema_mismatch invalid_argument": [
        "tmux -L t new -d sleep 2; tmux -L t resize-pane -x wide; tmux -L t kill-server", "tmux new -z",
        "tmux -L u new -d sleep 2; tmux -L u set-option -g colour 5; tmux -L u kill-server",
    ],
    "unknown bug": ["tmux -L v new", "tmux -L w new -d -s a sleep 2; tmux -L w new -d -s a; tmux -L w kill-server"],
    "access_denied permission_denied": [
        "TMUX_TMPDIR=/root tmux new -d", "mkdir -m 0 s; TMUX_TMPDIR=$PWD/s tmux new -d",
    ],
}
STRACE = {
    "unknown missing_data": [
        "strace -p 999999", "strace -e trace=file -P /nowhere true 2>&1 | tail -1; strace -E A=1 ./gone",
    ],
    "wrong_tool_called command_not_found": [
        "strace pdf2text a.pdf", "prlimit --nofile=5 pdf2text",
    ],
    "schema_mismatch invalid_argument": [
        "strace", "strace -e inject=write:err=X true", "strace -s long true", "strace -e signal=NOPE true",
        "prlimit --memory=5 true", "prlimit --nofile=many true", "taskset zz true", "ionice -c 9 true", "flock",
        "setsid --waitt true", "nsenter --target x",
        "strace -e trace=opn true"],
    "access_denied permission_denied": [
        "strace -p 1", "strace -o /etc/t true", "prlimit --pid 1 --nofile=5", "unshare -m true", "chrt -f 50 true",
        "nsenter -t 1 -m true", "renice -n -5 1",
    ],
    "external_fault resource_busy": ["flock l sh -c 'flock -n --verbose l true'"],
    "timeout timed_out": ["flock l sh -c 'flock --verbose -w 0.2 l true'"],
    "crashed signal": [
        "strace -o t sh -c 'kill -SEGV $$'; tail -1 t", "strace -o t sh -c 'kill -KILL $$'; tail -2 t",
    ],
}


def cases():
    yield from commands("git", GIT, "git")
    yield from commands("findutils", FIND, "find")
    yield from commands("coreutils", COREUTILS, "cat")
    yield from commands("libxml2", XML, "xmllint")
    yield from commands("libxslt", {key: [line.replace("$$", "$") for line in lines] for key, lines in XSLT.items()}, "xsltproc")
    yield from commands("patch", PATCH, "patch")
    yield from commands("gnupg", GPG, "gpg")
    yield from commands("apt", APT, "apt-get")
    yield from commands("tmux", TMUX, "tmux")
    yield from commands("util-linux", STRACE, "strace")
