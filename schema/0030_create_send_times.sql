-- When a person was sent messages and first engaged with each: the latest 200 touches as little-endian doubles, sorted (see
-- src/delay/Touch.ts). `kind`: `user` by the id that decisions carry, or `anonymous`, where decisions without a user are
-- gathered by a digest of their tracking ids. `spot` is a digest of the person: the people with the least are a sample.
CREATE TABLE IF NOT EXISTS send_times (
  org_slug text NOT NULL,
  kind text NOT NULL,
  person text NOT NULL,
  spot bigint NOT NULL,
  touches bytea NOT NULL,
  PRIMARY KEY (org_slug, kind, person)
);
CREATE INDEX IF NOT EXISTS send_times_by_spot ON send_times (org_slug, spot);
