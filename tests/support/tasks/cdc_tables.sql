-- Tables with all types, and rows for the snapshot; the last row is in zlast.
CREATE EXTENSION IF NOT EXISTS hstore;
CREATE EXTENSION IF NOT EXISTS citext;
CREATE EXTENSION IF NOT EXISTS ltree;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN price AS numeric(8,3);
CREATE TABLE numbers (id bigserial PRIMARY KEY, s smallint, i int NOT NULL DEFAULT 7, b bigint, f real, d double
precision, n numeric, n52 numeric(5,2), n10 numeric(10), m money, o oid, bo boolean DEFAULT true, dom positive, pr
price);
CREATE TABLE texts (id int PRIMARY KEY, t text DEFAULT 'hi', v varchar(10), c char(5), bc "char", x xml, j json, jb
jsonb, u uuid, e mood DEFAULT 'ok', h hstore, ci citext, lt ltree, ine inet, cid cidr, mac macaddr, mac8 macaddr8);
CREATE TABLE binaries (id int PRIMARY KEY, b bytea, bit1 bit(1), bit5 bit(5), bit64 bit(64), bit70 bit(70), vb varbit,
vb9 varbit(9), p point);
CREATE TABLE times (id int PRIMARY KEY, da date, t time, t0 time(0), t3 time(3), tz timetz, ts timestamp, ts0
timestamp(0), ts3 timestamp(3), ts6 timestamp(6), tstz timestamptz, tstz3 timestamptz(3), iv interval, dd date DEFAULT
'2020-01-02', dts timestamp DEFAULT '2020-01-01 00:00:00');
CREATE TABLE ranges (id int PRIMARY KEY, i4 int4range, i8 int8range, nr numrange, tsr tsrange, tstzr tstzrange, dr
daterange);
CREATE TABLE arrays (id int PRIMARY KEY, ia int[], ba bigint[], sa smallint[], ta text[], va varchar(5)[], ca
char(3)[], na numeric(10,2)[], fa real[], da double precision[], boa boolean[], dta date[], tsa timestamp[], tstza
timestamptz[], tma time[], ua uuid[], ja json[], jba jsonb[], ea mood[], ina inet[], i4a int4range[], bya bytea[]);
CREATE TABLE composite (a int, b text, v text, PRIMARY KEY (b, a));
CREATE TABLE nokey (a int, b text);
CREATE TABLE fullkey (id int PRIMARY KEY, b text, big text);
ALTER TABLE fullkey REPLICA IDENTITY FULL;
ALTER TABLE nokey REPLICA IDENTITY FULL;
CREATE TABLE toast (id int PRIMARY KEY, big text, small int, arr text[], bin bytea);
ALTER TABLE toast ALTER COLUMN big SET STORAGE EXTERNAL;
ALTER TABLE toast ALTER COLUMN bin SET STORAGE EXTERNAL;
CREATE TABLE uniq (id int NOT NULL, v text);
CREATE UNIQUE INDEX uniq_id ON uniq (id);
ALTER TABLE uniq REPLICA IDENTITY USING INDEX uniq_id;
CREATE TABLE changing (id int PRIMARY KEY, v text);
CREATE TABLE "Odd Name$1" ("Id" int PRIMARY KEY, "My Col" text, "a-b" int);
CREATE TABLE zlast (id int PRIMARY KEY, v text);
INSERT INTO numbers VALUES (nextval('numbers_id_seq'), -32768, 2147483647, 9223372036854775807, 1.5, -2.25,
123456789012345678901234567890.12345, 123.45, 9999999999, 1234.56, 4294967295, false, 5, 1.5);
INSERT INTO numbers (i) VALUES (DEFAULT);
INSERT INTO texts VALUES (1, 'täxt', 'var', 'c', 'z', '<a>1</a>', '{"a": 1}', '{"b": [1, 2.50]}',
'123e4567-e89b-12d3-a456-426614174000', 'happy', 'a=>1, b=>NULL', 'CiText', 'a.b.c', '192.168.1.1/24', '10.0.0.0/8',
'08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05');
INSERT INTO texts (id, t) VALUES (2, NULL);
INSERT INTO binaries VALUES (1, '\x00ff10', B'1', B'10110',
B'1000000000000000000000000000000000000000000000000000000000000001', repeat('10', 35)::bit(70), B'1011', B'101',
point(1.5, -2));
INSERT INTO binaries (id) VALUES (2);
INSERT INTO times VALUES (1, '2024-02-29', '12:34:56.789012', '01:02:03', '23:59:59.999', '12:34:56.789+02',
'2024-02-29 12:34:56.789012', '2024-02-29 12:34:56', '1969-12-31 23:59:59.999', '1850-03-01 00:00:00', '2024-02-29
12:34:56.789012+02', '2024-02-29 12:34:56.7+00', '1 year 2 mons 3 days 04:05:06.789');
INSERT INTO times (id, iv, dd, dts) VALUES (2, '-1 mon -2 days', NULL, NULL);
INSERT INTO ranges VALUES (1, '[1,5)', '(,9]', '[1.5,2.5]', '[2024-01-01,2024-02-01)', '[2024-01-01 00:00+00,)',
'[2024-01-01,2024-01-05]');
INSERT INTO arrays VALUES (1, '{1,NULL,3}', '{1,2}', '{1}', '{a,"b c",NULL,"NULL","q\"uo"}', '{ab}', '{x}',
'{1.50,2.25}', '{1.5}', '{2.5}', '{t,f}', '{2024-01-01}', '{"2024-01-01 10:00:00"}', '{"2024-01-01 10:00:00+02"}',
'{10:00}', '{123e4567-e89b-12d3-a456-426614174000}', ARRAY['{"a":1}'::json], ARRAY['{"a":1}'::jsonb], '{ok,sad}',
'{10.0.0.1}', '{"[1,3)"}', ARRAY['\x01'::bytea]);
INSERT INTO arrays (id, ia) VALUES (2, '{}');
INSERT INTO composite VALUES (1, 'x', 'v');
INSERT INTO nokey VALUES (1, 'x');
INSERT INTO fullkey VALUES (1, 'x', repeat('abcd', 1000));
INSERT INTO toast SELECT 1, string_agg(md5(n::text), ''), 1, array_agg(md5(n::text)), decode(string_agg(md5(n::text),
''), 'hex') FROM generate_series(1, 300) n;
INSERT INTO uniq VALUES (1, 'a');
INSERT INTO changing VALUES (1, 'a');
INSERT INTO "Odd Name$1" VALUES (1, 'a', 2);
CREATE TABLE strict (id int PRIMARY KEY, i2 smallint NOT NULL, i int NOT NULL, b bigint NOT NULL, r real NOT NULL, d
double precision NOT NULL, n numeric NOT NULL, n52 numeric(5,2) NOT NULL, t text NOT NULL, v varchar(5) NOT NULL, c
char(3) NOT NULL, bo bool NOT NULL, by bytea NOT NULL, da date NOT NULL, ti time NOT NULL, t3 time(3) NOT NULL, tz
timetz NOT NULL, ts timestamp NOT NULL, ts3 timestamp(3) NOT NULL, tstz timestamptz NOT NULL, iv interval NOT NULL, u
uuid NOT NULL, j json NOT NULL, e mood NOT NULL, ia int[] NOT NULL, h hstore NOT NULL, bi bit(3) NOT NULL, b1 bit(1)
NOT NULL, ine inet NOT NULL, x xml NOT NULL, p point NOT NULL, rg int4range NOT NULL, o oid NOT NULL);
CREATE TABLE bits2 (id int PRIMARY KEY, b16 bit(16), vb varbit, tstz0 timestamptz(0), tstz1 timestamptz(1), ttz
timetz, ttz0 timetz(0), iv interval, d double precision, f real);
CREATE TABLE defaults (id int PRIMARY KEY, s smallint DEFAULT -3, b bigint DEFAULT '9223372036854775807'::bigint, d
double precision DEFAULT 1.5, r real DEFAULT '2.5', n numeric DEFAULT 1.25, n52 numeric(5,2) DEFAULT 3.1, t2 text
DEFAULT md5('a'), v varchar(9) DEFAULT 'v'::varchar, bo bool DEFAULT false, ts timestamp DEFAULT '2020-01-02
03:04:05', tstz2 timestamptz DEFAULT '2020-01-02 03:04:05+00', da date DEFAULT '2024-01-01', ti time DEFAULT
'10:11:12', u2 uuid DEFAULT '123e4567-e89b-12d3-a456-426614174000', j json DEFAULT '{}', jb jsonb DEFAULT '{"a": 1}',
ia int[] DEFAULT '{}', iv interval DEFAULT '1 day', by bytea DEFAULT '\x01', b1 bit(1) DEFAULT B'1', b5 bit(5) DEFAULT
B'10101', nulls text DEFAULT NULL, c char(3) DEFAULT 'x', i int DEFAULT (1 + 2), ident int GENERATED BY DEFAULT AS
IDENTITY, dom positive DEFAULT 3);
CREATE TABLE toast2 (id int PRIMARY KEY, big text, small int, jb jsonb);
ALTER TABLE toast2 REPLICA IDENTITY FULL;
CREATE TABLE toast3 (id int PRIMARY KEY, small int, v varchar, jb jsonb, j json, x xml, ia int[], ba bigint[], by
bytea, n numeric, ua uuid[], h hstore, nn text NOT NULL, vb varbit, da date[]);
ALTER TABLE toast2 ALTER COLUMN big SET STORAGE EXTERNAL;
INSERT INTO toast2 SELECT 1, string_agg(md5(n::text), ''), 1, jsonb_agg(md5(n::text)) FROM generate_series(1, 400) n;
INSERT INTO toast3 SELECT 1, 1, string_agg(md5(n::text), ''), jsonb_agg(md5(n::text)), json_agg(md5(n::text)), ('<a>'
|| string_agg(md5(n::text), '') || '</a>')::xml, array_agg(n), array_agg(n::bigint), decode(string_agg(md5(n::text),
''), 'hex'), repeat('123', 99)::numeric, array_agg(md5(n::text)::uuid), hstore(array_agg(n::text),
array_agg(md5(n::text))), string_agg(md5(n::text), ''), string_agg((n::bit(32))::text, '')::varbit,
array_agg('2020-01-01'::date + n) FROM generate_series(1, 400) n;
INSERT INTO strict VALUES (1, 1, 1, 1, 1, 1, 1, 1, 't', 'v', 'c', true, '\x01', '2020-01-01', '10:00', '10:00',
'10:00+00', '2020-01-01', '2020-01-01', '2020-01-01', '1 day', '123e4567-e89b-12d3-a456-426614174000', '{}', 'ok',
'{1}', 'a=>1', B'101', B'1', '10.0.0.1', '<a/>', '(1,2)', '[1,2)', 1);
INSERT INTO bits2 VALUES (1, B'0000000000000001', B'0000000010000000', '2024-01-01 10:00:00.5+00', '2024-01-01
10:00:00.5+00', '10:00:00.120+00', '10:00+05:30', '00:00:00', 'NaN', 'Infinity');
INSERT INTO bits2 VALUES (2, B'1000000000000000', B'', '2024-01-01 10:00:00+00', '2024-01-01 10:00+00',
'10:00:00.000001+00', '10:00:01+05:30', '100 years 11 mons 29 days -23:59:59.999999', '-Infinity', 'NaN');
INSERT INTO bits2 VALUES (3, NULL, NULL, NULL, NULL, NULL, NULL, '-00:00:00.5', 1e22, 1.1);
INSERT INTO defaults (id) VALUES (1);
INSERT INTO zlast VALUES (1, 'snapdone');
