-- Settled decisions about people by how often they had been decided about before, by day (UTC). `level` is the class of the
-- number of earlier decisions of the template, `seen` that of earlier decisions for the variant. Outcomes count decisions.
-- `expected` are the clicks, or other outcomes of the objective, that the model expected when the decisions were settled.
CREATE TABLE IF NOT EXISTS fatigue_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamptz NOT NULL,
  copy_id text NOT NULL,
  level smallint NOT NULL,
  seen smallint NOT NULL,
  decisions integer NOT NULL,
  open integer NOT NULL,
  click integer NOT NULL,
  conversion integer NOT NULL,
  negative integer NOT NULL,
  expected double precision NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, copy_id, level, seen)
);
