# SPDX-License-Identifier: MIT
"""Database programs: psql against a cluster of its own, sqlite3, redis-cli, memcached."""
from .cases import Case, commands

PG = "psql -X -h @STATE@ -p @PG@ -U admin -d shop"
SQL = {
    "schema_mismatch parse_error": [
        "selct * from orders", "select * from orders where (total > 5", "insert into orders values (1, 'a' 2)",
        "select 'unclosed from orders", "update orders set",
    ],
    "schema_mismatch unexpected_field": [
        "select price from orders", "select o.colour from orders o", "insert into orders(id, weight) values (1, 2)",
        "select * from orders group by state",
    ],
    "schema_mismatch wrong_type": [
        "select 'twelve'::int", "insert into orders(total) values ('n/a')", "select * from orders where state = 5",
        "insert into customers values ('x', 'Wen')", "select '2026-02-31'::date", "select 'tired'::mood",
        "select '{\\\"a\\\": 1,}'::jsonb", "insert into orders(total) values (123456.78)",
    ],
    "schema_mismatch validation_error": [
        "insert into orders(state) values ('cancelled twice')", "insert into customers(id) values (9)",
    ],
    "schema_mismatch tool_arguments": [
        "select 1 union select 1, 2", "insert into customers(id, name) values (1)",
        "select substring('a' from -1 for -5)",
    ],
    "wrong_tool_called method_not_found": [
        "select ship_order(3)", "select round('a', 'b', 'c')", "call refund(7)",
        "select 1 from generate_numbers(1, 5)",
    ],
    "unknown missing_data": [
        "select * from invoices", "drop table carts", "alter table orders drop constraint positive",
        "copy orders from '/nowhere/orders.csv'",
    ],
    "unknown business_rule": [
        "insert into customers values (1, 'Ida again', 'a@x.example', 4)",
        "insert into orders(customer) values (99); insert into customers values (12, 'Zoe', null, -3)",
        "select ship(1)",
        "delete from customers where id = 1; alter table orders add foreign key (customer) references customers; delete from customers where id = 1",
    ],
    "unknown bug": [
        "select total / 0 from orders", "select 5 % (select 0)", "select (select id from customers)",
        "create table orders(id int)", "rollback to savepoint before_load", "select 2147483647 + 1",
        "do $$ declare r int[]; begin r[5] := 1; raise notice 'read % of 500 items, limit reached: %', 412, false; perform 1/(r[5]-1); end $$",
    ],
    "unknown near_miss": [
        "do $$ begin raise warning 'timeout is 30 s, 2 retries left'; end $$",
        "create table if not exists orders(id int); vacuum customers", "commit",
    ],
    "timeout time_limit": [
        "set statement_timeout = '80ms'; select pg_sleep(3)",
        "set statement_timeout = 60; do $$ begin loop perform 1; end loop; end $$",
    ],
    "crashed stack_overflow": ["set max_stack_depth = '200kB'; select again(1)"],
    "context_overflow too_large": [
        "select repeat('word ', 1000000000)",
        "create index on customers(name); insert into customers values (50, (select string_agg(md5(n::text), '') from generate_series(1, 2000) n))",
    ],
    "loop_detected loop_reported": [
        "create view va as select 1 as a; create or replace view va as select * from va; create table la(id int); create rule ra as on insert to la do instead insert into la values (new.id); insert into la values (1)",
        "create role ra; create role rb; grant ra to rb; grant rb to ra",
    ],
    "access_denied permission_denied": [
        "set role app; select * from payroll", "set role app; create table public.stash(id int)",
        "set role guest; drop table orders", "set role app; copy customers to '/var/lib/leak.csv'",
        "set default_transaction_read_only = on; delete from orders",
    ],
    "schema_mismatch invalid_argument": [
        "set work_mem = 'plenty'", "set time zone 'Moon/Crater'", "set timeout = 5",
        "select * from orders limit -1", "create database",
    ],
    "external_fault connection_lost": ["select pg_terminate_backend(pg_backend_pid())"],
}
PSQL = {
    "external_fault connection_refused": [
        "psql -X -h 127.0.0.1 -p @CLOSED@ -U app shop -c 'select 1'", "psql -X -h /nowhere/run -U app shop",
        "pg_dump -h 127.0.0.1 -p @CLOSED@ shop > dump.sql",
    ],
    "external_fault connection_lost": ["psql -X -h 127.0.0.1 -p @CLOSING@ -U app shop -c 'select 1'"],
    "external_fault dns_failed": ["psql -X -h primary.invalid -U app shop -c 'select 1'"],
    "external_fault resource_busy": [
        "for i in 1 2 3; do psql -X -h @STATE@ -p @PG@ -U spare -d shop -q -c 'select pg_sleep(1)' > /dev/null & sleep 0.1; done; wait",
        f"{PG} -q -c 'begin; lock table customers; select pg_sleep(1.2)' > /dev/null & sleep 0.3; {PG} -c 'begin; lock table customers nowait'; wait",
    ],
    "timeout timed_out": [
        f"psql -X -h 127.0.0.1 -p @SILENT@ -U app shop -c 'select 1'",
        f"{PG} -q -c 'begin; lock table payroll; select pg_sleep(1.5)' > /dev/null & sleep 0.4; {PG} -c \"set lock_timeout = '120ms'\" -c 'select * from payroll'; wait",
        f"(echo \"set idle_session_timeout = '100ms';\"; sleep 0.6; echo 'select 1;') | {PG} -q",
    ],
    "access_denied bad_credentials": [
        "PGPASSWORD=wrong psql -X -h 127.0.0.1 -p @PG@ -U app shop -c 'select 1'",
        "psql -X -w -h 127.0.0.1 -p @PG@ -U app shop -c 'select 1'",
    ],
    "access_denied forbidden": [
        "psql -X -h 127.0.0.1 -p @PG@ -U guest shop -c 'select 1'", "psql -X -h @STATE@ -p @PG@ -U former shop",
        "psql -X -h @STATE@ -p @PG@ -U nobody_known shop",
    ],
    "unknown missing_data": [
        "psql -X -h @STATE@ -p @PG@ -U admin -d archive_2019", f"{PG} -f steps/load.sql",
        f"pg_dump -h @STATE@ -p @PG@ -U admin -t 'parcels*' shop", f"echo '\\d parcels' | {PG}",
    ],
    "wrong_tool_called command_not_found": [f"echo '\\q; \\foo' | {PG}"],
    "schema_mismatch invalid_argument": [
        "psql --databse=shop", "psql -X -p many", f"pg_restore -h @STATE@ notes.txt",
        f"psql -X 'host=@STATE@ prot=5'",
    ],
    "schema_mismatch output_format": ["psql -X -h 127.0.0.1 -p @HTTP@ -U app shop -c 'select 1'"],
    "schema_mismatch wrong_type": [
        f"echo '\\copy customers from orders.csv csv header' | {PG}",
        f"printf '1\\tIda\\n' | {PG} -c 'copy payroll from stdin'; printf 'a,b,c\\n' | {PG} -c 'copy payroll from stdin csv'",
    ],
    "plan_incomplete ended_early": [
        f"printf 'create table t1(i int);\\ninsert into t1 values (1);\\ninsert into t9 values (2);\\ncreate table t3(i int);\\n' > l.sql; {PG} -v ON_ERROR_STOP=1 -f l.sql; echo '2 of 4 statements were run'",
    ],
    "unknown bug": [
        f"printf 'begin;\\nselect 1/0;\\nselect 1;\\ncommit;\\n' | {PG}",
        f"{PG} -q -c 'begin; lock table orders; select pg_sleep(1.2)' > /dev/null & sleep 0.3; {PG} -c 'lock table orders nowait'; wait",
    ],
}
DEADLOCK = f"""{PG} -q -c "set deadlock_timeout='100ms'" -c 'begin; update orders set total=1 where id=1; select pg_sleep(0.6); update orders set total=1 where id=2; commit' > /dev/null 2>&1 & {PG} -q -c "set deadlock_timeout='50ms'" -c 'begin; update orders set total=2 where id=2; select pg_sleep(0.3); update orders set total=2 where id=1; commit' 2>&1 | grep -v -e '---' -e pg_sleep -e row -e '^ *$'; wait"""
SERIAL = f"""{PG} -q -c 'begin isolation level repeatable read; select 1; select pg_sleep(0.6); update customers set age=5 where id=2' 2>&1 | grep -A3 -i error & sleep 0.3; {PG} -q -c 'update customers set age=6 where id=2'; wait"""

SQLITE = {
    "schema_mismatch parse_error": [
        "'selec 1'", "'select * form t'", "'insert into t values (1,'", "\"select 'open from t\"",
        "'create table u(a int,, b)'", "\"select json('{bad')\"",
    ],
    "schema_mismatch unexpected_field": [
        "'select colour from t'", "'insert into t(a, z) values (1, 2)'", "'update t set w = 1'",
    ],
    "schema_mismatch tool_arguments": [
        "'insert into t values (1)'", "'select 1 union select 1, 2'", "'select substr(1)'",
        "'create table s(a int) strict; insert into s values (\"x\")'",
    ],
    "wrong_tool_called method_not_found": [
        "'select levenshtein(a, b) from t'", "'.tabels'", "\"create virtual table v using fts9(a)\"",
    ],
    "wrong_tool_called unimplemented": ["'select * from t order by a collate german'"],
    "unknown missing_data": [
        "'select * from parcels'", "'drop index by_name'", "'.import missing.csv t'", "'.read steps/load.sql'",
        "'attach \"/nowhere/a.db\" as a'", "'pragma x; select * from generate_seq(1)'",
    ],
    "unknown business_rule": [
        "'create table c(id primary key, n not null); insert into c values (1,2); insert into c values (1,3)'",
        "'create table c(n check (n > 0)); insert into c values (-1)'",
        "'pragma foreign_keys=1; create table p(id primary key); create table c(p references p); insert into c values (8)'",
        "'create table c(n not null); insert into c values (null)'",
        "\"create trigger g before delete on t begin select raise(abort, 'invoices are kept for 10 years'); end; delete from t\"",
    ],
    "unknown bug": [
        "'create table t(z)'", "'commit'", "'select abs(-9223372036854775808)'", "'rollback to load'",
        "'update sqlite_master set sql=1'",
    ],
    "unknown disk_full": ["'pragma max_page_count=3; create table b(x); insert into b values (zeroblob(90000))'"],
    "context_overflow too_large": [
        "'select zeroblob(2000000000)'", "'select replace(hex(zeroblob(400000000)), \"0\", \"12345\")'",
        "\"select $(seq -s, 1 2100)\"", "\"select $(printf '%01100d' 0 | sed 's/0/(/g')1\"",
    ],
    "access_denied permission_denied": ["'pragma query_only=1; delete from t'"],
    "loop_detected loop_reported": [
        "'create view v as select * from w; create view w as select * from v; select * from v'",
        "'with recursive r(n) as (select n from r) select * from r'",
    ],
    "crashed stack_overflow": [
        "'pragma recursive_triggers=1; create trigger g after insert on t begin insert into t values (new.a + 1, 2); end; insert into t values (1, 1)'",
    ],
}
SQLITE_LINES = {
    "external_fault resource_busy": [
        "sqlite3 a.db 'create table t(a)'; (echo 'begin exclusive;'; sleep 0.8) | sqlite3 a.db & sleep 0.3; sqlite3 a.db 'insert into t values (1)'; wait",
    ],
    "schema_mismatch output_format": [
        "sqlite3 orders.csv 'select 1 from sqlite_master'",
        "sqlite3 a.db 'create table t(a)'; head -c 60 /dev/zero | dd of=a.db bs=1 seek=100 conv=notrunc 2>/dev/null; sqlite3 a.db 'select * from t'",
    ],
    "access_denied permission_denied": [
        "sqlite3 a.db 'create table t(a)'; chmod 400 a.db; sqlite3 a.db 'insert into t values (1)'",
    ],
    "unknown missing_data": ["sqlite3 /nowhere/shop.db .schema", "sqlite3 -readonly gone.db 'select 1 from t'"],
    "schema_mismatch invalid_argument": [
        "sqlite3 -jsn a.db 'select 1'", "sqlite3 a.db '.mode prety'", "sqlite3 a.db '.timeout'",
        "sqlite3 a.db '.separator'",
    ],
    "quota_exhausted quota": [
        "sqlite3 a.db 'create table t(a)'; inject pwrite64 EDQUOT 1+ sqlite3 a.db 'insert into t values (1)'; echo 'pwrite64: Disk quota exceeded'",
    ],
    "external_fault temporary": [
        "sqlite3 a.db 'create table t(a)'; inject pread64 EIO 2+ sqlite3 a.db 'select * from t'",
    ],
    "crashed out_of_memory": ["prlimit --as=40000000 sqlite3 :memory: 'select hex(zeroblob(60000000))'"],
    "unknown near_miss": [
        "sqlite3 :memory: \"select 'limit ' || 500, 'timeout ' || 30; pragma busy_timeout=2000; explain query plan select 1\"",
        "sqlite3 :memory: \"create table runs(note); insert into runs values ('rate limit hit 0 times'), ('permission ok'); select * from runs; select count(*) from missing_runs\"",
    ],
    "unknown vague": ["touch b.db; chmod 0 b.db; sqlite3 b.db .tables"],
}
R = "redis-cli -p @REDIS@ "
REDIS = {
    "wrong_tool_called command_not_found": [
        "fetch basket", "config gett maxmemory", "cluster shard", "ft.search idx lamp", "fcall totals 0",
    ],
    "wrong_tool_called tool_not_found": ["evalsha 0000000000000000000000000000000000000abc 0"],
    "schema_mismatch tool_arguments": ["set basket", "hset cart:7 colour", "get a b"],
    "schema_mismatch wrong_type": [
        "incr basket", "expire basket soon", "zadd board first ida", "lrange queue a b", "select shop",
        "setex basket -5 lamp", "geoadd places 400 91 x", "bitcount queue", "setbit bits 4294967296 1",
    ],
    "schema_mismatch invalid_argument": [
        "set basket lamp PX 50 EX 5", "config set maxmemory-policy newest", "scan 0 mach x", "xadd events 0-0 a 1",
        "client kill type cat",
    ],
    "unknown bug": [
        "lpush basket x", "eval 'return stock.lamp' 0", "eval 'local t = nil; return t.price' 0", "exec",
        "eval 'return redis.call(\"get\")' 0", "eval 'return cjson.decode(\"{a\")' 0",
    ],
    "unknown missing_data": [
        "rename carts:77 carts:78", "lset carts:77 0 a", "object freq nothing", "xgroup create nostream g 0",
        "restore copy 0 notadump",
    ],
    "access_denied permission_denied": [
        "--user reader --pass sesame set public:a 1", "--user reader --pass sesame get payroll",
    ],
    "access_denied bad_credentials": ["--user reader --pass guess get public:a", "auth ghost nothing"],
    "context_overflow too_large": [
        "setrange basket 536870911 x", "eval \"return redis.call('set', 'a', string.rep('x', 600000000))\" 0",
    ],
    "unknown near_miss": [
        "config get timeout", "slowlog get 1", "eval \"return 'limit 500, 3 retries left, OOM no'\" 0",
    ],
    "external_fault unavailable": ["wait 1", "cluster info", "replicaof no"],
}
REDIS_LINES = {
    "external_fault connection_refused": ["redis-cli -p @CLOSED@ ping"],
    "external_fault connection_lost": ["redis-cli -p @CLOSING@ ping"],
    "external_fault dns_failed": ["redis-cli -h cache.invalid ping"],
    "schema_mismatch output_format": ["redis-cli -p @HTTP@ ping", "redis-cli -p @GREETING@ get basket"],
    "schema_mismatch invalid_argument": [
        "redis-cli -p @REDIS@ --sacn", "redis-cli -u http://127.0.0.1:@REDIS@", "redis-server --port many",
        "redis-server --maxmemmory 5mb", "printf 'appendonly maybe\\n' > r.conf; redis-server r.conf",
    ],
    "external_fault resource_busy": [
        "redis-server --port @REDIS@ --save ''  2>&1 | grep -v -e oO -e onfiguration",
        "redis-cli -p @REDIS@ -t 3 eval 'local n = 0; while n < 30000000 do n = n + 1 end' 0 & sleep 0.2; redis-cli -p @REDIS@ config set busy-reply-threshold 100 > /dev/null; redis-cli -p @REDIS@ get basket; wait",
    ],
    "unknown missing_data": ["redis-server /etc/shop/redis-cart.conf"],
    "access_denied permission_denied": [
        "redis-server --port @CLOSED@ --dir /root",
        "redis-server --port 6390 --logfile /var/log/shop.log --save ''",
    ],
}
M = "(printf '%b'; sleep 0.2) | ncat 127.0.0.1 @MEMCACHED@"
MEMCACHED = {
    "schema_mismatch tool_arguments": [r"set a\r\n", r"get\r\n"],
    "schema_mismatch wrong_type": [
        r"set a 0 0 1\r\nx\r\nincr a 5\r\n", r"set a x y z\r\n", r"set n 0 0 1\r\n5\r\nincr n many\r\n",
        r"touch a soon\r\n",
    ],
    "schema_mismatch output_format": [r"set a 0 0 2\r\nlong value\r\n"],
    "context_overflow too_large": [r"set a 0 0 3000000\r\n", r"get " + "k" * 300 + r"\r\n"],
    "unknown missing_data": [r"delete cart77\r\n", r"incr visits 1\r\n"],
    "unknown near_miss": [r"verbosity\r\nversion\r\n"],
}


def cases():
    yield from commands("postgresql", {key: [f'{PG} -q -t -c "{sql}"'.replace("$$", "\\$\\$") for sql in lines] for key, lines in SQL.items()})
    yield from commands("postgresql", PSQL, "psql")
    yield Case("postgresql", "external_fault", "conflict", DEADLOCK, "psql")
    yield Case("postgresql", "external_fault", "conflict", SERIAL, "psql")
    yield from commands("sqlite", {key: ["sqlite3 :memory: 'create table t(a, b)' " + line for line in lines] for key, lines in SQLITE.items()})
    yield from commands("sqlite", SQLITE_LINES, "sqlite3")
    yield from commands("redis", {key: [R + line for line in lines] for key, lines in REDIS.items()})
    yield from commands("redis", REDIS_LINES, "redis-server")
    yield from commands("memcached", {key: [M.replace("%b", line) for line in lines] for key, lines in MEMCACHED.items()}, "memcached")
