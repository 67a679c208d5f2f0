-- One selection of one variant for one tracking id. `segment` is the combination of learning attributes, `policy` the
-- model snapshot that decided, `weights` the probabilities of all eligible variants, `propensity` that of the chosen
-- one (null when forced). No window columns: the adaptive window. No foreign key: a decision outlives its template.
CREATE TABLE IF NOT EXISTS decisions (
  org_slug text NOT NULL,
  tracking_id text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  user_id text,
  mode text NOT NULL,
  propensity double precision,
  weights json,
  segment text NOT NULL,
  policy text NOT NULL,
  lookback_days double precision,
  offset_days double precision,
  decided_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, tracking_id, template_id)
);
