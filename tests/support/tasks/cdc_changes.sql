-- Changes; the last row is in zlast.
INSERT INTO numbers (s, i, b, f, d, n, n52, n10, m, o, bo, dom, pr) SELECT s, i, b, f, d, n, n52, n10, m, o, bo, dom,
pr FROM numbers WHERE id = 1;
INSERT INTO numbers (i) VALUES (DEFAULT);
UPDATE numbers SET n = 0.10, f = '1e-30', d = 1e300, m = -0.05 WHERE id = 2;
INSERT INTO texts SELECT 3, t, v, c, bc, x, j, jb, u, e, h, ci, lt, ine, cid, mac, mac8 FROM texts WHERE id = 1;
INSERT INTO texts (id, t) VALUES (4, NULL);
INSERT INTO binaries SELECT 3, b, bit1, bit5, bit64, bit70, vb, vb9, p FROM binaries WHERE id = 1;
INSERT INTO binaries (id) VALUES (4);
INSERT INTO times SELECT 3, da, t, t0, t3, tz, ts, ts0, ts3, ts6, tstz, tstz3, iv, dd, '2024-01-01' FROM times WHERE
id = 1;
INSERT INTO times SELECT 4, da, t, t0, t3, tz, ts, ts0, ts3, ts6, tstz, tstz3, iv, dd, '2024-01-01' FROM times WHERE
id = 2;
INSERT INTO ranges SELECT 3, i4, i8, nr, tsr, tstzr, dr FROM ranges WHERE id = 1;
INSERT INTO arrays SELECT 3, ia, ba, sa, ta, va, ca, na, fa, da, boa, dta, tsa, tstza, tma, ua, ja, jba, ea, ina, i4a,
bya FROM arrays WHERE id = 1;
INSERT INTO arrays SELECT 4, ia, ba, sa, ta, va, ca, na, fa, da, boa, dta, tsa, tstza, tma, ua, ja, jba, ea, ina, i4a,
bya FROM arrays WHERE id = 2;
BEGIN; INSERT INTO composite VALUES (2, 'y', 'w'); UPDATE composite SET v = 'new' WHERE a = 1; UPDATE composite SET a
= 5 WHERE a = 2; DELETE FROM composite WHERE a = 1; COMMIT;
INSERT INTO nokey VALUES (2, 'y'), (3, 'z');
UPDATE nokey SET b = 'yy' WHERE a = 2;
DELETE FROM nokey WHERE a = 1;
UPDATE fullkey SET b = 'changed' WHERE id = 1;
UPDATE fullkey SET id = 9 WHERE id = 1;
DELETE FROM fullkey;
UPDATE toast SET small = 2;
UPDATE toast SET id = 7;
DELETE FROM toast;
INSERT INTO uniq VALUES (2, 'b');
UPDATE uniq SET v = 'c' WHERE id = 2;
DELETE FROM uniq WHERE id = 1;
INSERT INTO changing VALUES (2, 'b');
ALTER TABLE changing ADD COLUMN w int DEFAULT 5;
INSERT INTO changing VALUES (3, 'c', 6);
ALTER TABLE changing ALTER COLUMN w TYPE numeric(6,2);
ALTER TABLE changing RENAME COLUMN v TO vv;
UPDATE changing SET w = 1.5 WHERE id = 1;
ALTER TABLE changing DROP COLUMN vv;
INSERT INTO changing VALUES (4, 2);
TRUNCATE changing, uniq;
INSERT INTO "Odd Name$1" VALUES (2, 'b', 3);
UPDATE strict SET i = 2;
UPDATE strict SET id = 2;
DELETE FROM strict;
INSERT INTO bits2 SELECT id + 10, b16, vb, tstz0, tstz1, ttz, ttz0, iv, d, f FROM bits2;
INSERT INTO defaults (id) VALUES (2);
UPDATE toast2 SET small = 2;
UPDATE toast2 SET id = 2;
DELETE FROM toast2;
UPDATE toast3 SET small = 2;
CREATE TABLE later (id int PRIMARY KEY, v text NOT NULL);
INSERT INTO later VALUES (1, 'new table');
DO $$ BEGIN PERFORM pg_replication_origin_create('east'); EXCEPTION WHEN unique_violation THEN NULL; END $$;
DO $$ BEGIN LOOP BEGIN PERFORM pg_replication_origin_session_setup('east'); EXIT; EXCEPTION WHEN object_in_use THEN
PERFORM pg_sleep(0.05); END; END LOOP; END $$; SELECT pg_replication_origin_xact_setup('0/1A2B3C', now()); INSERT INTO
later VALUES (2, 'replicated from another server');
INSERT INTO later VALUES (3, 'by this server');
INSERT INTO zlast VALUES (2, 'streamdone');
