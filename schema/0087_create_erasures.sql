-- Requests to erase people, until they are done. `people` is a list of `{"user", "email"}`, and NULL once they are
-- erased. `counts` and `kept` describe the erased and the kept data. A row is worked on until `lease_until`;
-- `attempts` are counted before each, and after three that failed the state is `failed`, with the `reason` of the
-- latest. `origin` is `management` (a person asked) or `webhook` (a platform did).
CREATE TABLE IF NOT EXISTS erasures (
  id bigint GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  origin text NOT NULL,
  people json,
  requested_at timestamptz NOT NULL,
  state text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  lease_until timestamptz NOT NULL,
  counts json NOT NULL DEFAULT '{}',
  kept json NOT NULL DEFAULT '[]',
  reason text,
  finished_at timestamptz,
  PRIMARY KEY (org_slug, id)
);
CREATE INDEX IF NOT EXISTS erasures_pending ON erasures (org_slug, id) WHERE state = 'pending';
