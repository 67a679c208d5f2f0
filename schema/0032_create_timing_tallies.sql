-- Messages about whose sending was advised, by day (UTC) of the decision: sent at the advised time or not, and how many of
-- them were engaged with.
CREATE TABLE IF NOT EXISTS timing_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  day timestamptz NOT NULL,
  followed boolean NOT NULL,
  explored boolean NOT NULL,
  sends integer NOT NULL,
  engaged integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, copy_id, followed, explored)
);
