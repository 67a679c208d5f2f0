-- First outcomes per variant, day of the decision (UTC) and class of delay.
CREATE TABLE IF NOT EXISTS variant_delay_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  outcome text NOT NULL,
  day timestamptz NOT NULL,
  delay_class smallint NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, copy_id, outcome, day, delay_class)
);
