-- Settled decisions with an attribute in a period of four weeks, with their outcomes: by variant and value, the numbers of
-- decisions, clicks, opens, conversions and negative outcomes. `counts` is NULL for an attribute with too many values.
CREATE TABLE IF NOT EXISTS attribute_outcomes (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  period timestamptz NOT NULL,
  name text NOT NULL,
  is_rounded boolean NOT NULL,
  counts json,
  PRIMARY KEY (org_slug, template_id, period, name)
);
