# SPDX-License-Identifier: MIT
"""Archivers: tar, gzip, xz, bzip2, zstd, unzip, zip, 7z."""
from .cases import commands

TAR = {
    "schema_mismatch parse_error": [
        "tar xf notes.txt", "tar xzf orders.csv", "tar cf a.tar notes.txt; head -c 700 a.tar > b.tar; tar xf b.tar",
        "tar xJf config.json", "tar czf a.tgz notes.txt; head -c 60 a.tgz > b.tgz; tar xzf b.tgz",
        "tar --zstd -xf notes.txt", "seq 9999 | head -c 2000 > c.tar; tar tvf c.tar",
    ],
    "schema_mismatch invalid_argument": [
        "tar --exstract -f a.tar", "tar", "tar cf", "tar xcf a.tar", "tar cf a.tar",
        "tar cf a.tar --mtime=someday notes.txt", "tar cf a.tar --format=zip notes.txt",
        "tar cf a.tar -b lots notes.txt", "tar -xzf a.tar --strip-components=x", "tar -c --transform=s/a notes.txt",
        "tar cf a.tar --newer-mtime=x --owner=: notes.txt --level",
    ],
    "unknown missing_data": [
        "tar cf a.tar week12.csv", "tar xf backup.tar", "tar cf a.tar notes.txt; tar xf a.tar orders.csv",
        "tar cf a.tar -C exports .", "tar cf a.tar -T list.txt",
    ],
    "access_denied permission_denied": [
        "chmod 0 notes.txt; tar cf a.tar notes.txt", "tar cf /etc/a.tar notes.txt",
        "mkdir d; tar cf a.tar notes.txt; chmod 500 d; tar xf a.tar -C d",
    ],
    "wrong_tool_called command_not_found": ["tar cf a.tar -I brotlix notes.txt", "tar cf a.tlz --lzop notes.txt"],
    "context_overflow too_large": ["d=$(printf 'a%.0s' $(seq 120)); touch $d; tar cf a.tar --format=v7 $d"],
    "unknown bug": [
        "tar cf a.tar notes.txt a.tar", "tar cf a.tar notes.txt; mkdir -p d/notes.txt/x; tar xf a.tar -C d",
        "tar cf a.tar notes.txt; echo more >> notes.txt; tar df a.tar", "tar cf a.tar notes.txt; tar xkf a.tar",
        "tar czf a.tgz notes.txt; tar rf a.tgz orders.csv",
    ],
    "unknown disk_full": [
        "tar cf /dev/full notes.txt; tar cf - notes.txt > /dev/full",
        "tar cf a.tar notes.txt; rm notes.txt; inject write ENOSPC 1+ tar xf a.tar",
    ],
    "quota_exhausted quota": ["tar cf a.tar notes.txt; rm notes.txt; inject write EDQUOT 1+ tar xf a.tar"],
    "external_fault temporary": ["inject read EIO 8+ tar cf a.tar notes.txt orders.csv"],
    "external_fault connection_lost": ["inject write EPIPE 1+ tar cf - notes.txt | cat"],
    "crashed signal": [
        "tar cf - notes.txt -I 'sh -c \"kill -SEGV $$\"' | cat",
        "tar cf a.tar --use-compress-program='sh -c \"kill -KILL \\$\\$\"' notes.txt",
    ],
    "constraint_ignored scope_violation": [
        "tar cPf a.tar ../../../etc/hostname 2>/dev/null; tar xf a.tar; tar tf a.tar",
    ],
    "unknown near_miss": ["tar cf a.tar /etc/hostname"],
    "plan_incomplete ended_early": ["tar cf a.tar notes.txt week12.csv orders.csv; tar tf a.tar"],
}
GZIP = {
    "schema_mismatch parse_error": [
        "gzip -d < notes.txt", "cp notes.txt a.gz; gzip -t a.gz", "gzip -c orders.csv | head -c 30 | gzip -d",
        "(gzip -c notes.txt; echo rest) | gzip -d > /dev/null",
        "gzip -c orders.csv > a.gz; printf 'XX' | dd of=a.gz bs=1 seek=30 conv=notrunc 2>/dev/null; gzip -t a.gz",
        "zgrep a app.log.gz",
    ],
    "schema_mismatch invalid_argument": [
        "gzip --bst notes.txt", "gzip -S '' notes.txt", "gzip -b x notes.txt", "gzip -d notes.txt",
    ],
    "unknown missing_data": ["gzip week12.csv", "zcat dump.sql.gz"],
    "unknown bug": [
        "gzip -k notes.txt; gzip -k notes.txt < /dev/null", "mkdir d; gzip d", "cp notes.txt a.gz; gzip a.gz",
        "ln notes.txt n2; gzip notes.txt",
    ],
    "access_denied permission_denied": ["chmod 0 notes.txt; gzip notes.txt", "chmod 500 .; gzip notes.txt"],
    "unknown disk_full": ["gzip -c notes.txt > /dev/full"],
    "quota_exhausted quota": ["inject write EDQUOT 1+ gzip notes.txt"],
    "external_fault connection_lost": ["inject write EPIPE 1+ gzip -c notes.txt"],
    "loop_detected loop_reported": ["ln -s b a; ln -s a b; gzip -f a"],
}
XZ = {
    "schema_mismatch parse_error": [
        "xz -d < notes.txt", "xz -c orders.csv | head -c 60 | xz -d", "cp notes.txt a.xz; xz -l a.xz",
        "xz -c orders.csv > a.xz; printf 'XXXX' | dd of=a.xz bs=1 seek=30 conv=notrunc 2>/dev/null; xz -t a.xz",
    ],
    "schema_mismatch invalid_argument": [
        "xz --lzma2=dict=9x notes.txt", "xz --cheq notes.txt", "xz -T many notes.txt", "xz -d notes.txt",
        "xz --format=zip notes.txt", "xz --lzma2=preset=11 notes.txt",
    ],
    "unknown missing_data": ["xz week12.csv"],
    "unknown bug": ["xz -k notes.txt; xz -k notes.txt", "mkdir d; xz d"],
    "access_denied permission_denied": ["chmod 0 notes.txt; xz notes.txt"],
    "crashed out_of_memory": ["prlimit --as=50000000 xz -9 notes.txt"],
    "unknown disk_full": ["xz -c notes.txt > /dev/full"],
    "unknown vague": ["xz -c notes.txt > a.xz; xz -M 1 -d a.xz", "xz -M 1 --no-adjust -9 notes.txt"],
}
BZIP2 = {
    "schema_mismatch parse_error": [
        "bzip2 -d < notes.txt", "bzip2 -c orders.csv > a.bz2; head -c 40 a.bz2 > b.bz2; bzip2 -t b.bz2",
        "bzip2 -c orders.csv > a.bz2; printf 'XXXX' | dd of=a.bz2 bs=1 seek=20 conv=notrunc 2>/dev/null; bzip2 -tv a.bz2",
    ],
    "schema_mismatch invalid_argument": ["bzip2 --bset notes.txt", "bzip2 -q -x notes.txt"],
    "unknown missing_data": ["bzip2 week12.csv"],
    "unknown bug": [
        "bzip2 -k notes.txt; bzip2 -k notes.txt", "mkdir d; bzip2 d", "cp notes.txt a.bz2; bzip2 a.bz2",
    ],
    "unknown disk_full": ["bzip2 -c orders.csv > /dev/full"],
    "access_denied permission_denied": ["chmod 500 .; bzip2 notes.txt"],
}
ZSTD = {
    "schema_mismatch parse_error": [
        "zstd -d < notes.txt", "zstd -qc orders.csv | head -c 40 | zstd -dc",
        "zstd -qc orders.csv > a.zst; printf 'XXXX' | dd of=a.zst bs=1 seek=30 conv=notrunc 2>/dev/null; zstd -t a.zst",
    ],
    "schema_mismatch invalid_argument": [
        "zstd --wat notes.txt", "zstd -D dict notes.txt --ultra -T", "zstd --format=zip notes.txt",
        "zstd -M notes.txt", "zstd -d notes.txt",
    ],
    "unknown missing_data": ["zstd week12.csv"],
    "unknown bug": ["zstd -q notes.txt; zstd notes.txt < /dev/null", "mkdir d; zstd d"],
    "access_denied permission_denied": ["chmod 0 notes.txt; zstd notes.txt"],
    "unknown disk_full": ["zstd -qc notes.txt > /dev/full"],
}
ZIP = {
    "schema_mismatch parse_error": [
        "cp notes.txt a.zip; unzip a.zip",
        "zip -q a.zip notes.txt orders.csv; head -c 150 a.zip > b.zip; unzip b.zip",
        "cp config.json a.zip; zip -u a.zip notes.txt",
    ],
    "schema_mismatch invalid_argument": [
        "unzip -Y a.zip", "zip -q --levle 3 a.zip notes.txt", "zip -Z fancy a.zip notes.txt", "zip a.zip",
        "zip -t someday a.zip notes.txt",
    ],
    "unknown missing_data": [
        "unzip week12.zip", "zip -q a.zip notes.txt; unzip a.zip report.txt", "zip a.zip week12.csv",
        "zip -q a.zip notes.txt; zip -d a.zip orders.csv",
    ],
    "access_denied bad_credentials": [
        "zip -q -P right a.zip notes.txt; rm notes.txt; unzip -P wrong a.zip",
        "zip -q -P right a.zip notes.txt; unzip -t a.zip < /dev/null",
    ],
    "access_denied permission_denied": [
        "zip -q a.zip notes.txt; rm notes.txt; chmod 500 .; unzip a.zip", "chmod 0 notes.txt; zip a.zip notes.txt",
        "zip /etc/a.zip notes.txt",
    ],
    "unknown disk_full": ["zip -q a.zip notes.txt; rm notes.txt; inject write ENOSPC 3+ unzip a.zip"],
    "constraint_ignored scope_violation": ["mkdir -p x/y; cd x/y; zip -q a.zip ../../notes.txt; unzip -o a.zip"],
    "unknown near_miss": ["zip -q a.zip app.log; unzip -t a.zip; unzip -n a.zip; unzip -o a.zip nothing"],
    "wrong_tool_called command_not_found": ["zip -q a.zip notes.txt -TT 'checkzip {}' -T"],
}
SEVEN = {
    "schema_mismatch parse_error": [
        "cp notes.txt a.7z; 7z x a.7z | tail -8",
        "7z a -bd a.7z orders.csv > /dev/null; head -c 90 a.7z > b.7z; 7z t b.7z | tail -12",
    ],
    "schema_mismatch invalid_argument": [
        "7z a -mx=99 a.7z notes.txt | tail -4", "7z -wat", "7z a -tfancy a.x notes.txt",
    ],
    "wrong_tool_called command_not_found": ["7z extract a.7z"],
    "unknown missing_data": ["7z x week12.7z | tail -6", "7z a a.7z week12.csv | tail -12"],
    "access_denied bad_credentials": [
        "7z a -pright -mhe=on a.7z notes.txt > /dev/null; 7z x -pwrong a.7z | tail -9",
    ],
    "access_denied permission_denied": [
        "7z a a.7z notes.txt > /dev/null; rm notes.txt; chmod 500 .; 7z x a.7z | tail -9",
        "chmod 0 notes.txt; 7z a a.7z notes.txt | tail -9",
    ],
}


def cases():
    for origin, groups, needs in [("tar", TAR, "tar"), ("gzip", GZIP, "gzip"), ("xz", XZ, "xz"), ("bzip2", BZIP2, "bzip2"), ("zstd", ZSTD, "zstd"), ("info-zip", ZIP, "zip"), ("7z", SEVEN, "7z")]:
        yield from commands(origin, groups, needs)
