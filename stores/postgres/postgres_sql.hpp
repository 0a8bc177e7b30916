// SPDX-License-Identifier: MIT
#pragma once
// The SQL sent to a PostgreSQL server. "@" stands for the schema and a dot. Each write is one
// statement that recognises a retry after a lost reply.

namespace triage::inline v0_1::detail::postgres_sql {

// Only if the schema is missing: creating it needs a privilege that the tables do not.
inline constexpr const char* make_schema = "CREATE SCHEMA IF NOT EXISTS @;\n";
inline constexpr const char* has_schema = "SELECT 1 FROM pg_namespace WHERE nspname = $1::text";

// Sent as one message, so one transaction.
inline constexpr const char* make = R"(
CREATE TABLE IF NOT EXISTS @meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE IF NOT EXISTS @runs (
  run_id text COLLATE "C" PRIMARY KEY,
  birth bigint NOT NULL,
  epoch bigint NOT NULL,
  owner text NOT NULL,
  word bigint NOT NULL,
  until_ms bigint NOT NULL,
  agent bytea NOT NULL,
  label bytea NOT NULL,
  parent bytea NOT NULL,
  status text NOT NULL,
  started_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  last bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS runs_started ON @runs (started_ms DESC, run_id DESC);
CREATE INDEX IF NOT EXISTS runs_agent ON @runs (agent, started_ms DESC, run_id DESC);
CREATE INDEX IF NOT EXISTS runs_open ON @runs (run_id) WHERE status = 'running';
CREATE TABLE IF NOT EXISTS @records (
  birth bigint NOT NULL,
  seq bigint NOT NULL,
  epoch bigint NOT NULL,
  kind integer NOT NULL,
  time_ms bigint NOT NULL,
  crc bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (birth, seq)
);
CREATE TABLE IF NOT EXISTS @keys (
  space bytea NOT NULL,
  key bytea NOT NULL,
  version bigint NOT NULL,
  word bigint NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (space, key)
);
INSERT INTO @meta VALUES ('format', '1') ON CONFLICT (name) DO NOTHING;
)";

inline constexpr const char* look =
    "SELECT current_setting('fsync'), current_setting('synchronous_commit'), "
    "(SELECT value FROM @meta WHERE name = 'format')";
inline constexpr const char* settings =
    "SELECT current_setting('fsync'), current_setting('synchronous_commit')";

// The longest lease that a host has taken runs for, in milliseconds: so the others know how long
// one may last.
inline constexpr const char* longest_lease =
    "SELECT value::bigint FROM @meta WHERE name = 'longest lease'";
inline constexpr const char* note_lease =
    "INSERT INTO @meta AS m VALUES ('longest lease', $1::bigint::text) ON CONFLICT (name) DO "
    "UPDATE SET value = excluded.value WHERE m.value::bigint < excluded.value::bigint";

// The server's clock, in milliseconds since 1970.
#define TRIAGE_PG_NOW "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// Notifies waiting workers: PgListener. The table's name must not be followed by a letter.
#define TRIAGE_PG_TELL "pg_notify('work of @', '')::text"
#define TRIAGE_PG_TELL_SIGNAL \
  "CASE WHEN $1 = 'triage/signals'::bytea THEN " TRIAGE_PG_TELL " ELSE '' END"

#define TRIAGE_PG_FACTS                                                                      \
  "SELECT run_id, birth, epoch, owner, until_ms, agent, label, parent, status, started_ms, " \
  "updated_ms, last, " TRIAGE_PG_NOW                                                         \
  ", (SELECT value::bigint FROM @meta WHERE name = 'longest lease') FROM @runs "

inline constexpr const char* facts = TRIAGE_PG_FACTS "WHERE run_id = $1::text";

// Agent, label, parent, status, since, until (null: any); limit (null: none).
inline constexpr const char* list = TRIAGE_PG_FACTS R"(
WHERE ($1::bytea IS NULL OR agent = $1) AND ($2::bytea IS NULL OR label = $2)
  AND ($3::bytea IS NULL OR parent = $3) AND ($4::text IS NULL OR status = $4)
  AND ($5::bigint IS NULL OR started_ms >= $5) AND ($6::bigint IS NULL OR started_ms < $6)
ORDER BY started_ms DESC, run_id DESC LIMIT $7::bigint)";

// Birth, first, last; kind (null: any). One statement, so it sees the run before or after a
// replacement.
inline constexpr const char* read = R"(
SELECT seq, epoch, kind, time_ms, crc, body FROM @records
WHERE birth = $1::bigint AND seq BETWEEN $2::bigint AND $3::bigint
  AND ($4::bigint IS NULL OR kind = $4)
ORDER BY seq)";

// 1 run, 2 birth, 3 owner, 4 lease, 5 agent, 6 label, 7 parent, 8 status, 9 started, 10 updated, 11
// last; then of each record 12 sequence, 13 kind, 14 time, 15 checksum, 16 body. Returns whether
// the run exists with this birth.
inline constexpr const char* start = R"(
WITH run AS (
  INSERT INTO @runs VALUES ($1::text, $2::bigint, 1, $3::text, 0, )" TRIAGE_PG_NOW
                                     R"( + $4::bigint, $5::bytea, $6::bytea, $7::bytea, $8::text,
    $9::bigint, $10::bigint, $11::bigint)
  ON CONFLICT (run_id) DO NOTHING RETURNING birth
), new AS (
  INSERT INTO @records (birth, epoch, seq, kind, time_ms, crc, body)
  SELECT run.birth, 1, r.* FROM run,
    unnest($12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bytea[]) r
)
SELECT 1 FROM run UNION ALL SELECT 1 FROM @runs WHERE run_id = $1 AND birth = $2)";

// 1 owner, 2 lease; of each batch 3 run, 4 birth, 5 epoch, 6 status, 7 time (0: no records), 8 last
// sequence; of each record 9 number of its batch (from 1), 10 sequence, 11 kind, 12 time, 13
// checksum, 14 body; of each batch 15 the newest record that was acknowledged to its owner. Returns
// for each batch, in order: whether the lease is the newest; the first sequence stored with other
// content (null: none); nothing; the newest record there is, if the server has lost acknowledged
// ones (else null): it takes none behind the hole.
inline constexpr const char* append = R"(
WITH given AS MATERIALIZED (
  SELECT * FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[],
    $8::bigint[], $15::bigint[])
    WITH ORDINALITY AS g(run_id, birth, epoch, status, time_ms, last, known, n)
), held AS MATERIALIZED (
  SELECT g.n, r.run_id, r.birth, r.epoch, r.last AS stored, r.last < g.known AS lost
  FROM given g JOIN @runs r ON r.run_id = g.run_id
  WHERE r.birth = g.birth AND r.epoch = g.epoch AND r.owner = $1::text
  ORDER BY r.run_id FOR UPDATE OF r
), record AS MATERIALIZED (
  SELECT * FROM unnest($9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
    $14::bytea[]) AS r(n, seq, kind, time_ms, crc, body)
), other AS MATERIALIZED (
  SELECT held.n, min(record.seq) AS seq FROM record JOIN held USING (n)
  WHERE record.seq <= held.stored AND NOT held.lost AND NOT EXISTS (
    SELECT FROM @records s WHERE s.birth = held.birth AND s.seq = record.seq
      AND s.kind = record.kind AND s.time_ms = record.time_ms AND s.body = record.body)
  GROUP BY held.n
), new AS (
  INSERT INTO @records (birth, seq, epoch, kind, time_ms, crc, body)
  SELECT held.birth, record.seq, held.epoch, record.kind, record.time_ms, record.crc, record.body
  FROM record JOIN held USING (n)
  WHERE record.seq > held.stored AND NOT held.lost
    AND NOT EXISTS (SELECT FROM other WHERE other.n = record.n)
), noted AS (
  UPDATE @runs r SET status = g.status, last = greatest(r.last, g.last),
    updated_ms = CASE WHEN g.last > r.last THEN g.time_ms ELSE r.updated_ms END,
    until_ms = )" TRIAGE_PG_NOW R"( + $2::bigint
  FROM held JOIN given g USING (n)
  WHERE r.run_id = held.run_id AND NOT held.lost
    AND NOT EXISTS (SELECT FROM other WHERE other.n = g.n)
)
SELECT held.n IS NOT NULL, other.seq, CASE WHEN g.status = 'suspended' THEN )" TRIAGE_PG_TELL
                                      R"( END, CASE WHEN held.lost THEN held.stored END
FROM given g LEFT JOIN held USING (n) LEFT JOIN other USING (n) ORDER BY g.n)";

// 1 run, 2 birth, 3 epoch, 4 owner, 5 lease; of each range of sequences that go 6 first, 7 last; of
// each record that comes 8 sequence, 9 kind, 10 time, 11 checksum, 12 body. Answers if the lease is
// the newest.
inline constexpr const char* replace = R"(
WITH held AS (
  UPDATE @runs SET until_ms = )" TRIAGE_PG_NOW R"( + $5::bigint
  WHERE run_id = $1::text AND birth = $2::bigint AND epoch = $3::bigint AND owner = $4::text
  RETURNING birth, epoch
), instead AS MATERIALIZED (
  SELECT * FROM unnest($8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[])
    AS i(seq, kind, time_ms, crc, body)
), gone AS (
  DELETE FROM @records r USING held, unnest($6::bigint[], $7::bigint[]) AS g(first, last)
  WHERE r.birth = held.birth AND r.seq BETWEEN g.first AND g.last
    AND NOT EXISTS (SELECT FROM instead i WHERE i.seq = r.seq)
), come AS (
  INSERT INTO @records AS r (birth, seq, epoch, kind, time_ms, crc, body)
  SELECT held.birth, i.seq, held.epoch, i.kind, i.time_ms, i.crc, i.body FROM held, instead i
  ON CONFLICT (birth, seq) DO UPDATE SET epoch = excluded.epoch, kind = excluded.kind,
    time_ms = excluded.time_ms, crc = excluded.crc, body = excluded.body
)
SELECT 1 FROM held)";

// Run, birth, epoch, owner, lease. Answers if the lease is the newest.
inline constexpr const char* renew = "UPDATE @runs SET until_ms = " TRIAGE_PG_NOW
                                     " + $5::bigint WHERE run_id = $1::text AND birth = "
                                     "$2::bigint AND epoch = $3::bigint AND owner = $4::text "
                                     "RETURNING 1";

// Run, birth, epoch, owner.
inline constexpr const char* release =
    "UPDATE @runs SET owner = '' WHERE run_id = $1::text AND birth = $2::bigint AND epoch = "
    "$3::bigint AND owner = $4::text";

// 1 run; 2 birth, 3 epoch, 4 owner as seen; 5 the new owner, 6 a random word, 7 lease. Returns the
// new epoch if it was taken, now or by an earlier try.
inline constexpr const char* acquire = R"(
WITH taken AS (
  UPDATE @runs SET epoch = epoch + 1, owner = $5::text, word = $6::bigint,
    until_ms = )" TRIAGE_PG_NOW R"( + $7::bigint
  WHERE run_id = $1::text AND birth = $2::bigint AND epoch = $3::bigint AND owner = $4::text
  RETURNING epoch
)
SELECT epoch FROM taken
UNION ALL SELECT epoch FROM @runs WHERE run_id = $1 AND birth = $2 AND word = $6)";

// Of each run 1 run, 2 birth, 3 epoch, 4 owner as seen; 5 limit; 6 the new owner, 7 a random
// number, 8 lease. Returns run, birth and epoch of those that were taken, now or by an earlier try.
// Skips runs that another statement is taking.
inline constexpr const char* claim = R"(
WITH free AS MATERIALIZED (
  SELECT r.run_id FROM @runs r
  JOIN unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS c(run_id, birth, epoch, owner)
    ON r.run_id = c.run_id
  WHERE r.birth = c.birth AND r.epoch = c.epoch AND r.owner = c.owner AND r.status = 'running'
  ORDER BY r.started_ms, r.run_id
  LIMIT greatest(0, $5::bigint - (
    SELECT count(*) FROM @runs m WHERE m.status = 'running' AND m.owner = $6::text
      AND m.word = $7::bigint))
  FOR UPDATE OF r SKIP LOCKED
), taken AS (
  UPDATE @runs r SET epoch = r.epoch + 1, owner = $6::text, word = $7::bigint,
    until_ms = )" TRIAGE_PG_NOW R"( + $8::bigint
  FROM free WHERE r.run_id = free.run_id RETURNING r.run_id, r.birth, r.epoch
)
SELECT run_id, birth, epoch FROM taken
UNION ALL SELECT run_id, birth, epoch FROM @runs
WHERE status = 'running' AND owner = $6 AND word = $7)";

// Run and birth, of a run that was taken over before: nobody appends to it any more. In one
// statement, so that nobody who dies in between leaves its records behind.
inline constexpr const char* erase = R"(
WITH gone AS (
  DELETE FROM @runs WHERE run_id = $1::text AND birth = $2::bigint RETURNING birth
)
DELETE FROM @records r USING gone WHERE r.birth = gone.birth)";

inline constexpr const char* get =
    "SELECT value, version FROM @keys WHERE space = $1::bytea AND key = $2::bytea";

// 1 space, 2 key, 3 expected version, 4 a random word, 5 value. Returns the newest version first,
// and whether it is ours.
inline constexpr const char* put = R"(
WITH made AS (
  INSERT INTO @keys SELECT $1::bytea, $2::bytea, 1, $4::bigint, $5::bytea WHERE $3::bigint = 0
  ON CONFLICT (space, key) DO NOTHING RETURNING version
), changed AS (
  UPDATE @keys SET version = version + 1, word = $4, value = $5
  WHERE space = $1 AND key = $2 AND version = $3 AND $3 > 0 RETURNING version
)
SELECT version, true, )" TRIAGE_PG_TELL_SIGNAL R"( FROM made
UNION ALL SELECT version, true, )" TRIAGE_PG_TELL_SIGNAL R"( FROM changed
UNION ALL SELECT version, word = $4, '' FROM @keys WHERE space = $1 AND key = $2
ORDER BY 1 DESC)";

// Space, key, expected version. Returns the stored version if it differs.
inline constexpr const char* remove = R"(
WITH gone AS (
  DELETE FROM @keys WHERE space = $1::bytea AND key = $2::bytea AND version = $3::bigint
)
SELECT version FROM @keys WHERE space = $1 AND key = $2 AND version <> $3)";

// Space, first key, end key (exclusive; null: none).
inline constexpr const char* keys = R"(
SELECT key FROM @keys WHERE space = $1::bytea AND key >= $2::bytea
  AND ($3::bytea IS NULL OR key < $3) ORDER BY key)";

#undef TRIAGE_PG_TELL_SIGNAL
#undef TRIAGE_PG_TELL
#undef TRIAGE_PG_NOW
#undef TRIAGE_PG_FACTS

}  // namespace triage::inline v0_1::detail::postgres_sql
