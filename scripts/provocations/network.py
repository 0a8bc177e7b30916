# SPDX-License-Identifier: MIT
"""Programs that talk to servers: curl, wget, openssl, ssh, socat, ncat, lftp, dig, rsync."""
from .cases import commands

H = "http://127.0.0.1:@HTTP@"
CURL = {
    "external_fault rate_limited": [
        f"curl -sS --fail-with-body {H}/v1/chat", f"curl -sS -D- {H}/v1/chat",
        f"curl -sS -f --retry 1 --retry-delay 1 --retry-max-time 1 {H}/v1/chat",
    ],
    "external_fault unavailable 503": [f"curl -sS --fail {H}/v1/down", f"curl -sS -i {H}/v1/down"],
    "external_fault server_error 502": [f"curl -sS --fail-with-body {H}/v1/bad"],
    "external_fault server_error": [f"curl -sS -w 'status %{{http_code}}\\n' {H}/v1/broken"],
    "external_fault connection_refused": [
        "curl -sS http://127.0.0.1:@CLOSED@/health", "curl -v http://127.0.0.1:@CLOSED@/ready 2>&1 | grep -v '^ '",
    ],
    "external_fault connection_lost": [
        f"curl -sS {H}/cut", f"curl -sS {H}/reset", "curl -sS --http0.9 telnet://127.0.0.1:@CLOSED@",
    ],
    "external_fault transfer_cut_off": [
        f"curl -sS -o /dev/null {H}/half", f"curl -sS -o /dev/null {H}/cutchunk",
        f"curl -# -o /dev/null {H}/half 2>&1 | tr '\\r' '\\n' | tail -2",
    ],
    "external_fault dns_failed": [
        "curl -sS https://billing.invalid/v2/invoices",
        "curl -sS -x http://proxy.invalid:3128 http://shop.example/",
    ],
    "timeout timed_out": [
        f"curl -sS -m 0.3 {H}/hang", f"curl -sS -m 0.3 -o /dev/null {H}/drip",
        "curl -sS --connect-timeout 0.3 http://127.0.0.1:@FULL@/", "curl -sS -m 0.3 https://127.0.0.1:@SILENT@/",
        f"curl -sS -y 1 -Y 500 -o /dev/null {H}/drip",
    ],
    "timeout timed_out 504": [f"curl -sS --fail-with-body {H}/v1/slowpeer"],
    "access_denied unauthenticated": [f"curl -sS -i {H}/v1/orders", f"curl -sS -f {H}/v1/orders"],
    "access_denied forbidden 403": [f"curl -sS --fail-with-body {H}/v1/admin"],
    "access_denied region_blocked 451": [f"curl -sS -f {H}/v1/geo"],
    "access_denied bad_credentials": [
        "curl -sS https://127.0.0.1:@CLIENTCERT@/ -k",
        "curl -sS --cert @CERTS@/missing.crt https://127.0.0.1:@TLS@/",
    ],
    "quota_exhausted insufficient_funds": [f"curl -sS --fail-with-body {H}/v1/usage"],
    "quota_exhausted quota": [f"curl -sS {H}/v1/month; echo"],
    "wrong_tool_called endpoint_not_found 404": [f"curl -sS --fail-with-body -X POST {H}/v1/summarise"],
    "wrong_tool_called endpoint_not_found 405": [f"curl -sS --fail-with-body -X PUT -d x=1 {H}/v1/put"],
    "wrong_tool_called unimplemented": [
        f"curl -sS --fail-with-body {H}/v1/stream", "curl -sS gopherx://127.0.0.1/", f"curl -sS -L {H}/far",
    ],
    "context_overflow too_large 413": [f"curl -sS --fail-with-body -d @config.json {H}/v1/upload"],
    "context_overflow too_large": [f"curl -sS --fail-with-body {H}/v1/long"],
    "schema_mismatch validation_error 422": [
        f"curl -sS --fail-with-body -d '{{\"amount\":\"ten\"}}' {H}/v1/fields",
    ],
    "schema_mismatch invalid_json": [f"curl -sS -i -d @broken.json {H}/v1/form"],
    "schema_mismatch invalid_argument": [
        f"curl --retri 3 {H}/page", f"curl -X {H}/page -d", "curl -sS 'http://[::1/page'", "curl",
        f"curl --max-time soon {H}/page", f"curl -sS --data-urlencode @ {H} --json",
        "curl -sS 'http://127.0.0.1:99999/'", "curl -sS http://",
    ],
    "schema_mismatch output_format": [
        f"curl -sS {H}/garbage", f"curl -sS -o /dev/null --compressed {H}/gzip",
        f"curl -sS -o /dev/null {H}/chunks", "curl -sS https://127.0.0.1:@HTTP@/page",
    ],
    "loop_detected redirect_loop": [f"curl -sS -L --max-redirs 5 {H}/loop", f"curl -sS -L {H}/ping"],
    "unknown missing_data": [
        f"curl -sS --fail-with-body {H}/v1/customer/77", "curl -sS file:///nowhere/report.csv",
        f"curl -sS -T reports/missing.csv {H}/v1/upload", f"curl -sS --cacert ./ca.pem https://127.0.0.1:@TLS@/",
    ],
    "unknown business_rule": [
        f"curl -sS --fail-with-body {H}/v1/seat", f"curl -sS {H}/v1/card -w ' (%{{http_code}})\\n'",
    ],
    "unknown near_miss": [
        f"curl -sS {H}/page",
        f"curl -sS -m 5 --retry 3 -w '%{{http_code}} %{{size_download}} bytes, limit 5 s\\n' -o /dev/null {H}/page",
    ],
    "unknown disk_full": [f"curl -sS -o /dev/full {H}/page", f"curl -sS {H}/page > /dev/full"],
    "unknown bug": [
        "curl -sS https://127.0.0.1:@TLS@/", "curl -sS --cacert @CERTS@/stranger.crt https://127.0.0.1:@TLS@/",
        "curl -sS --tls-max 1.2 -k https://127.0.0.1:@TLS13@/",
    ],
    "unknown vague": [f"touch keep; chmod 0 keep; curl -sS -T keep {H}/v1/upload"],
    "crashed out_of_memory": [f"curl -sS -o /dev/null {H}/headers"],
}
WGET = {
    "external_fault rate_limited": [f"wget -nv -t1 {H}/v1/chat"],
    "external_fault unavailable": [f"wget -t1 {H}/v1/down"],
    "external_fault server_error": [f"wget -nv -t1 {H}/v1/broken", f"wget -S -t1 {H}/v1/bad -O- 2>&1 | tail -8"],
    "external_fault connection_refused": ["wget -t1 http://127.0.0.1:@CLOSED@/feed.xml"],
    "external_fault connection_lost": [f"wget -t1 {H}/cut", f"wget -t1 {H}/reset"],
    "external_fault transfer_cut_off": [f"wget -t2 -w0 --waitretry=0 {H}/half 2>&1 | grep -v '^ *[0-9]*K'"],
    "external_fault dns_failed": ["wget -nv -t1 http://mirror.invalid/debian/Release"],
    "timeout timed_out": [
        f"wget -t1 -T 0.3 {H}/hang", "wget -t1 --connect-timeout=0.3 http://127.0.0.1:@FULL@/stock.csv",
        f"wget -nv -t1 --read-timeout=0.3 {H}/drip",
    ],
    "timeout timed_out 504": [f"wget -nv -t1 {H}/v1/slowpeer"],
    "access_denied unauthenticated": [f"wget -t1 {H}/v1/orders"],
    "access_denied forbidden": [f"wget -nv -t1 {H}/v1/admin"],
    "access_denied permission_denied": [
        f"mkdir in; chmod 500 in; wget -q -P in {H}/page || wget -nv -P in {H}/page",
    ],
    "wrong_tool_called endpoint_not_found": [
        f"wget -nv -t1 --method=PUT --body-data=x {H}/v1/put", "wget -nv gopher://127.0.0.1/page",
    ],
    "context_overflow too_large": [f"wget -nv -t1 --post-file=config.json {H}/v1/upload"],
    "schema_mismatch invalid_argument": ["wget --timout=3", "wget -nv 'http://127.0.0.1:port/page'", "wget"],
    "loop_detected redirect_loop": [f"wget --max-redirect=3 {H}/ping 2>&1 | tail -6", f"wget -nv {H}/loop"],
    "unknown missing_data": [
        f"wget -nv -t1 {H}/v1/customer/77", f"wget -nv -i list-of-pages.txt", f"wget -nv --spider {H}/brochure.pdf",
    ],
    "unknown bug": ["wget -nv https://127.0.0.1:@TLS@/", "wget -t1 https://127.0.0.1:@TLS@/catalogue"],
    "unknown disk_full": [f"wget -nv -O /dev/full {H}/page"],
    "unknown near_miss": [f"wget -T 10 -t 3 {H}/page -O- 2>&1 | head -6", f"wget -nc {H}/page; wget -nc {H}/page"],
    "quota_exhausted quota": [f"wget -nv -Q1 {H}/page {H}/array"],
}
OPENSSL = {
    "external_fault connection_refused": ["openssl s_client -connect 127.0.0.1:@CLOSED@"],
    "external_fault dns_failed": ["openssl s_client -connect vault.invalid:443"],
    "timeout timed_out": [
        "timeout 1 openssl s_client -connect 127.0.0.1:@SILENT@; echo \"gave up after 1 s (124)\"",
    ],
    "access_denied permission_denied": [
        "openssl rsa -in @CERTS@/picky.key -out /etc/ssl/private/shop.key",
        "touch k.pem; chmod 0 k.pem; openssl rsa -in k.pem",
    ],
    "access_denied bad_credentials": [
        "openssl genrsa -aes128 -passout pass:one -out p.key 1024 2>/dev/null; openssl rsa -in p.key -passin pass:two",
        "echo secret | openssl enc -aes-128-cbc -pbkdf2 -k right -out s.bin; openssl enc -d -aes-128-cbc -pbkdf2 -k wrong -in s.bin",
        "echo | openssl s_client -connect 127.0.0.1:@CLIENTCERT@ -quiet 2>&1 | tail -4",
    ],
    "wrong_tool_called command_not_found": [
        "openssl sign -in notes.txt", "openssl dgst -sha3000 notes.txt",
        "openssl enc -aes-512-cbc -in notes.txt -k x", "openssl md6 notes.txt",
    ],
    "context_overflow too_large": [
        "openssl genrsa -out r.key 1024 2>/dev/null; seq 100 > long.txt; openssl pkeyutl -encrypt -inkey r.key -in long.txt -out /dev/null",
    ],
    "schema_mismatch invalid_argument": [
        "openssl x509 -nout -in a.crt", "openssl req -x509 -subj CN=shop -newkey rsa:1024 -nodes -keyout k -out c",
        "openssl genrsa many", "openssl x509 -in @CERTS@/picky.crt -checkend soon",
    ],
    "schema_mismatch parse_error": [
        "openssl x509 -in notes.txt -noout", "openssl rsa -in config.json -check",
        "openssl asn1parse -in notes.txt -inform DER", "openssl pkcs12 -in data.xml -passin pass:x",
        "openssl verify orders.csv", "openssl s_client -connect 127.0.0.1:@HTTP@ 2>&1 | head -9",
    ],
    "unknown missing_data": [
        "openssl x509 -in certs/shop.crt -noout", "openssl verify -CAfile ca-2019.pem @CERTS@/picky.crt",
    ],
    "unknown bug": [
        "openssl verify @CERTS@/stranger.crt", "openssl x509 -in @CERTS@/modern.crt -noout -checkend 99999999",
        "openssl genrsa -out a.key 1024 2>/dev/null; openssl req -new -key a.key -subj /CN=a -out a.csr; openssl x509 -req -in a.csr -CA @CERTS@/picky.crt -CAkey @CERTS@/modern.key -CAcreateserial",
        "openssl dgst -sha256 -verify @CERTS@/picky.key -signature notes.txt orders.csv",
        "openssl prime 91; openssl x509 -in @CERTS@/picky.crt -noout -checkhost limit.example",
    ],
    "unknown vague": ["openssl s_client -connect 127.0.0.1:@CLOSING@ 2>&1 | head -12"],
}
SSH = {
    "external_fault connection_refused": [
        "ssh -p @CLOSED@ deploy@127.0.0.1 uptime", "sftp -P @CLOSED@ deploy@127.0.0.1",
    ],
    "external_fault connection_lost": [
        "ssh -p @CLOSING@ deploy@127.0.0.1 ls", "ssh -p @BUSY@ deploy@127.0.0.1",
        "scp -P @CLOSING@ notes.txt deploy@127.0.0.1:", "ssh -o ConnectTimeout=1 -p @HTTP@ deploy@127.0.0.1",
    ],
    "external_fault dns_failed": ["ssh build@node7.invalid make", "ssh-keyscan -T1 bastion.invalid"],
    "timeout timed_out": [
        "ssh -o ConnectTimeout=1 -p @SILENT@ deploy@127.0.0.1",
        "ssh -o ConnectTimeout=1 -p @FULL@ deploy@127.0.0.1 df",
    ],
    "access_denied permission_denied": [
        "touch id; chmod 644 id; ssh-keygen -y -f id", "ssh-keygen -q -N '' -f /etc/ssh/robot_key",
    ],
    "access_denied bad_credentials": [
        "ssh-keygen -q -t ed25519 -N right -f k; ssh-keygen -y -P wrong -f k",
        "ssh-keygen -q -t ed25519 -N right -f k; ssh-keygen -p -P wrong -N new -f k",
    ],
    "access_denied unauthenticated": ["ssh-add k.pem", "env SSH_AUTH_SOCK=/nowhere ssh-add -l"],
    "schema_mismatch invalid_argument": [
        "ssh -p ninety deploy@127.0.0.1", "ssh -o StrictHost=no x@127.0.0.1", "ssh-keygen -t rsa -b 12 -f k -N ''",
        "ssh-keygen -t ed448 -f k -N ''", "scp notes.txt", "ssh -L 80 x@127.0.0.1",
        "printf 'Host a\\n  Prot 3\\n' > c; ssh -F c a",
    ],
    "schema_mismatch parse_error": [
        "ssh-keygen -l -f notes.txt", "cp config.json k; chmod 600 k; ssh-keygen -y -f k",
        "ssh-keygen -i -f orders.csv",
    ],
    "unknown missing_data": [
        "ssh-keygen -y -f keys/robot", "ssh-keygen -R gone.example -f hosts", "ssh -F nowhere.cfg a",
    ],
    "unknown near_miss": ["touch hosts; ssh-keygen -F gone.example -f hosts; ssh-keygen -R gone.example -f hosts"],
    "wrong_tool_called command_not_found": [
        "ssh -o ProxyCommand='jumpbox %h' a.example", "ssh -Q colours", "ssh -o ProxyCommand='exit 3' a.example",
    ],
    "unknown bug": [
        "ssh-keygen -q -t ed25519 -N '' -f k; echo x | ssh-keygen -Y sign -f k -n file > s; echo y | ssh-keygen -Y check-novalidate -n file -s s",
    ],
}
SOCAT = {
    "external_fault connection_refused": ["socat - TCP:127.0.0.1:@CLOSED@"],
    "external_fault dns_failed": ["socat - TCP:queue.invalid:5672"],
    "external_fault resource_busy": ["socat TCP-LISTEN:@HTTP@,bind=127.0.0.1 -"],
    "timeout timed_out": [
        "socat - TCP:127.0.0.1:@FULL@,connect-timeout=0.3",
        "socat -d -d -T 0.3 TCP:127.0.0.1:@SILENT@ PIPE 2>&1 | tail -3",
    ],
    "access_denied permission_denied": ["socat TCP-LISTEN:81 -", "socat - OPEN:/etc/shadow"],
    "schema_mismatch invalid_argument": [
        "socat -", "socat - TCP:127.0.0.1", "socat - TCP:127.0.0.1:80,retrys=3", "socat -T x - PIPE",
    ],
    "wrong_tool_called tool_not_found": ["socat - QUIC:127.0.0.1:443", "socat - EXEC:'translate --to fr'"],
    "unknown missing_data": ["socat - UNIX-CONNECT:/run/shop.sock", "socat - OPEN:inbox/mail-77.eml"],
    "unknown bug": ["socat - OPENSSL:127.0.0.1:@TLS@"],
}
NCAT = {
    "external_fault connection_refused": ["ncat -v 127.0.0.1 @CLOSED@"],
    "external_fault dns_failed": ["ncat mail.invalid 25"],
    "external_fault resource_busy": ["ncat -l 127.0.0.1 @HTTP@"],
    "timeout timed_out": ["ncat -w 0.3 127.0.0.1 @FULL@", "ncat -i 0.3 127.0.0.1 @SILENT@"],
    "schema_mismatch invalid_argument": [
        "ncat 127.0.0.1 smtp-port", "ncat --slow 127.0.0.1 80", "ncat -w soon 127.0.0.1 80",
        "ncat 127.0.0.1 1 2 3 4",
    ],
    "access_denied permission_denied": ["ncat -l 82"],
    "wrong_tool_called tool_not_found": ["ncat --proxy 127.0.0.1:@HTTP@ --proxy-type socks9 shop.example 80"],
    "unknown vague": ["ncat --ssl-verify 127.0.0.1 @TLS@"],
}
LFTP = {
    "external_fault connection_refused": ["lftp -c 'set net:max-retries 1; open ftp://127.0.0.1:@CLOSED@; ls'"],
    "external_fault dns_failed": ["lftp -c 'set net:max-retries 1; set dns:fatal-timeout 1; open ftp.invalid; ls'"],
    "timeout timed_out": ["lftp -c 'set net:timeout 1; set net:max-retries 1; open ftp://127.0.0.1:@SILENT@; ls'"],
    "wrong_tool_called command_not_found": ["lftp -c 'upload notes.txt'", "lftp -c 'open gopher://127.0.0.1'"],
    "schema_mismatch invalid_argument": [
        "lftp -c 'set ftp:retries 5'", "lftp -c 'get'", "lftp -c 'mirror --paralel=3 a b'",
        "lftp -c 'set net:timeout soon'",
    ],
    "access_denied forbidden": [f"lftp -c 'open {H}; get v1/admin'"],
    "unknown missing_data": [
        "lftp -c 'lcd /nowhere/inbox'", f"lftp -c 'open {H}; get brochure.pdf'", "lftp -f steps.lftp",
    ],
    "loop_detected redirect_loop": [f"lftp -c 'set net:max-retries 1; open {H}; get loop'"],
}
DIG = {
    "external_fault connection_refused": [
        "dig +tcp +time=1 +tries=1 -p @CLOSED@ @127.0.0.1 shop.example",
        "dig +time=1 +tries=1 -p @SILENT@ @127.0.0.1 shop.example", "host -W 1 -R 1 shop.example 127.0.0.9",
    ],
    "external_fault connection_lost": ["dig +tcp +time=1 +tries=1 -p @CLOSING@ @127.0.0.1 shop.example"],
    "external_fault dns_failed": ["dig @resolver.invalid shop.example"],
    "schema_mismatch invalid_argument": [
        "dig +tyme=1 shop.example", "dig -p none shop.example", "dig -t MAIL -q", "host -t XYZ shop.example",
        "nslookup -type", "dig aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example",
    ],
    "unknown missing_data": ["dig -f names.txt"],
}
RSYNC = {
    "external_fault connection_refused": ["rsync rsync://127.0.0.1:@CLOSED@/backup/ here/"],
    "external_fault connection_lost": ["rsync rsync://127.0.0.1:@CLOSING@/backup/ here/"],
    "timeout timed_out": [
        "rsync --contimeout=1 rsync://127.0.0.1:@FULL@/backup/ here/",
        "rsync --timeout=1 rsync://127.0.0.1:@SILENT@/backup/ here/",
    ],
    "access_denied permission_denied": [
        "mkdir d; touch d/a; chmod 0 d/a; rsync -a d/ e/", "rsync -a notes.txt /etc/",
    ],
    "schema_mismatch invalid_argument": ["rsync --recurse a b", "rsync --max-size=big a b", "rsync -a x:a y:b"],
    "schema_mismatch output_format": [
        "rsync rsync://127.0.0.1:@GREETING@/backup/ here/", "rsync -e 'echo welcome;' x:a b",
    ],
    "wrong_tool_called command_not_found": [
        "rsync -e sshh build.example:a b", "rsync --compress-choice=brotli notes.txt b",
    ],
    "unknown missing_data": ["rsync -a photos/ backup/", "rsync -a notes.txt --files-from=list.txt b"],
    "unknown disk_full": ["inject write ENOSPC 3+ rsync --no-whole-file notes.txt out.txt"],
    "quota_exhausted quota": ["inject write EDQUOT 2+ rsync -W notes.txt out.txt"],
    "unknown bug": ["mkdir d; rsync d notes.txt e", "rsync --delete notes.txt orders.csv b/ 2>&1"],
    "constraint_ignored limit_exceeded": ["mkdir a b; touch b/1 b/2 b/3; rsync -r --delete --max-delete=1 a/ b/"],
}


def cases():
    for origin, groups in [("curl", CURL), ("wget", WGET), ("openssl", OPENSSL), ("openssh", SSH), ("socat", SOCAT), ("ncat", NCAT), ("lftp", LFTP), ("bind-dig", DIG), ("rsync", RSYNC)]:
        needs = {"openssh": "ssh", "bind-dig": "dig"}.get(origin, origin)
        yield from commands(origin, groups, needs)
