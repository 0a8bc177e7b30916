# SPDX-License-Identifier: MIT
"""Removes traces of the machine from a text (folders, ports, process ids, times), and compares texts by trigrams."""
import re
import signal
import zlib

FOLDERS = ["/srv/app", "/home/dev/etl", "/var/lib/agent/job", "/opt/batch", "/workspace/shop", "/data/runs", "/home/mira/reports", "/build/harbour"]
ADDRESSES = ["127.0.0.1", "10.2.0.17", "172.18.0.4", "192.168.4.20"]
HOSTS = ["localhost", "gateway.brightmoor.example", "stock.acme.example", "localhost"]
DOMAINS = [".corp.example", ".svc.cluster.local", ".warehouse.example", ".lan"]
PORTS = {"HTTP": "8080", "SILENT": "7001", "CLOSING": "9092", "GREETING": "2525", "BUSY": "8125", "CLOSED": "5601", "FULL": "8088",
         "TLS": "8443", "CLIENTCERT": "9443", "TLS13": "6443", "PG": "5432", "PGBUSY": "5433", "REDIS": "6379", "MEMCACHED": "11211", "NGINX": "8081"}
# What differs from run to run, and its replacement.
VARIABLE = [
    (r"==\d+==", "==4711=="),
    (r"0x[0-9a-f]{6,16}\b", "0x7f31c2a84e10"),
    (r"\bafter \d+ (ms|milliseconds)\b", r"after 301 \1"),
    (r"\b(after|in) \d+\.\d+ ?(ms|seconds|secs|s)\b", r"\1 0.41 \2"),
    (r"\b(PID|pid|process|Process|job|thread|lwp|LWP|backend)([ =:]+)\d{2,}", r"\g<1>\g<2>4711"),
    (r"(line \d+:) +\d{2,} (Segm|Abort|Killed|Bus|Float|Illeg|Trace|File|CPU|Term|Alarm|Broken)", r"\1  4711 \2"),
    (r"\(node:\d+\)", "(node:4711)"),
    (r"tmux-\d+", "tmux-1000"),
    (r"\d+#\d+: \*\d+", "4711#4711: *8"),
    (r"\d{3,}#\d{3,}:", "4711#4711:"),
    (r"\b([EWI])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", r"\g<1>0314 09:26:53.589123    4711 "),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT", "Sat, 14 Mar 2026 09:26:53 GMT"),
    (r" on [\d.]+:53: no such host", ": no such host"),
    (r"(\d:)\d{4,5}->", r"\g<1>50884->"),
    (r"\[\d{3,7}(:0x[0-9a-f]+)?\]", r"[4711\1]"),
    (r"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d([.,]\d+)?", "2026-03-14 09:26:53"),
    (r"(took|duration_ms|Time elapsed:|Total time:|real|elapsed) +[\d.]+", r"\1 0.41"),
    (r"[\d.]+(ms|s|sec)\b(?= *[)\n\]]|$)", r"0.41\1"),
    (r"\b\d+\.\d+ ?(MB|KB|B|M|K)/s", r"1.2 \1/s"),
    (r"after \d+\.\d\d secs?", "after 0.41 sec"),
    (r"\d{4}-\d\d-\d\dT\d\d[:_]\d\d[:_]\d\d[._]\d+Z", "2026-03-14T09_26_53_589Z"),
    (r"\b\d+:([CMS]) \d\d [A-Z][a-z]{2} \d{4} [\d:.]+", r"4711:\1 14 Mar 2026 09:26:53.589"),
    (r"\b[0-9A-F]{16}(?=:error:)", "80BB5EB5017F0000"),
    (r"\b(tmp[a-z0-9_]{8}|sed[A-Za-z0-9]{6}|cc[A-Za-z0-9]{6}(?=\.[so])|sock[0-9a-f]{12})\b", "tmp4k2m9xq1"),
    (r"\.[A-Za-z0-9]{6}(?=\" failed)|(?<=txt)\.o[A-Za-z0-9]{6}", ".tmpQ4"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d+ [\d:]+( UTC)? \d{4}", r"Sat Mar 14 09:26:53\2 2026"),
    (r"\b\d\.\d+e-0\d s, [\d.]+ .B/s", "0.0004 s, 0.0 kB/s"),
    (r"is \d{9,}\.\d+ s in", "is 411020.3 s in"),
    (r"--\d{4}-.*?--  ", "--2026-03-14 09:26:53--  "),
    (r"--\d\d:\d\d:\d\d--", "--09:26:53--"),
]


def pick(choices, seed):
    return choices[zlib.crc32(seed.encode()) % len(choices)]


def without_machine(text, case, folder, root, ports):
    """The text as another machine would have printed it."""
    home = pick(FOLDERS, case.command + case.origin)
    text = text.replace("file://" + folder, "file://" + home).replace(folder, home).replace(root, "/var/tmp")
    for name, port in ports.items():
        text = re.sub(r"\b%d\b" % port, PORTS[name], text)
    text = text.replace("127.0.0.1", pick(ADDRESSES, case.command)).replace("localhost", pick(HOSTS, case.command))
    text = text.replace(".invalid", pick(DOMAINS, case.command))
    for pattern, instead in VARIABLE:
        text = re.sub(pattern, instead, text)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "").replace("\0", "")
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def with_status(text, status, case):
    """Adds the end of the process as a caller would see it: always for signals, otherwise in some rows."""
    if status < 0 or status in (134, 137, 139):
        name = signal.Signals(-status if status < 0 else status - 128).name
        said = pick(["child terminated by signal %s", "process died: %s", "killed by %s"], case.command) % name
        return (text + "\n" + said).strip()
    seed = zlib.crc32((case.command + "!" + "".join(case.files.values())).encode())
    if status > 0 and text and seed % 6 == 0:
        said = ["exit status %d", "Process exited with code %d", "command failed (rc=%d)", "[exit %d]", "returned non-zero exit status %d."][seed % 5] % status
        return (text + "\n" + said).strip()
    return text


def shortened(text, most=1500):
    """Keeps only the first and last lines of a text that is too long for a row."""
    lines = [line if len(line) <= 400 else line[:400] for line in text.split("\n")]
    while len("\n".join(lines)) > most and len(lines) > 4:
        del lines[len(lines) // 2]
    return "\n".join(lines)[:most]


def words(text):
    text = re.sub(r"'[^'\n]{1,60}'|\"[^\"\n]{1,60}\"|`[^`\n]{1,60}`", " <q> ", text).lower()
    text = re.sub(r"[\w./:@-]*\d[\w./:@-]*", " <n> ", text)
    text = re.sub(r"[\w-]+(?:[./:@_\\][\w-]+)+", " <id> ", text)
    return re.findall(r"<q>|<n>|<id>|\w+", text)


def trigrams(text):
    found = words(text)
    return {tuple(found[i:i + 3]) for i in range(len(found) - 2)} or {tuple(found)}
