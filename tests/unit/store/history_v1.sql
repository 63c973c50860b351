-- A history as the first version of its schema has it.
CREATE TABLE secret (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
CREATE TABLE applied (
    revision INTEGER PRIMARY KEY,
    config_hash TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE attempt (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    trigger TEXT NOT NULL,
    status TEXT NOT NULL,
    committed INTEGER NOT NULL,
    revision_before INTEGER NOT NULL,
    revision_after INTEGER NOT NULL,
    base_hash TEXT NOT NULL,
    candidate_hash TEXT NOT NULL,
    paths TEXT NOT NULL
) STRICT;
INSERT INTO secret VALUES ('hash_key', x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f');
INSERT INTO applied VALUES (7, 'aa', 'edge: {id: e}');
INSERT INTO attempt VALUES (3, 1700000000000, 'root', 'refresh', 'applied', 1, 6, 7, '99', 'aa', '["models[m]"]');
PRAGMA user_version = 1;
