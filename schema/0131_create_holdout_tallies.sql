-- Decisions under a holdout with their outcomes, by day (UTC), once they are four days old. `people` is one of 32 groups
-- that people are divided into by chance. How much the groups differ tells how certain a comparison is, however often a
-- person decides.
CREATE TABLE IF NOT EXISTS holdout_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamptz NOT NULL,
  holdout text NOT NULL,
  control boolean NOT NULL,
  people smallint NOT NULL,
  decisions integer NOT NULL,
  open integer NOT NULL,
  click integer NOT NULL,
  conversion integer NOT NULL,
  negative integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, holdout, control, people)
);
