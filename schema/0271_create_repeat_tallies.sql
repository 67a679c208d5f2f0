-- Outcomes of people who had been decided about before for the same variant, by bucket of the decision. `again` counts the
-- earlier outcomes of the same kind by the same person at each outcome, `seen` the earlier decisions.
CREATE TABLE IF NOT EXISTS repeat_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  copy_id text NOT NULL,
  bucket_start timestamptz NOT NULL,
  outcome text NOT NULL,
  again bigint NOT NULL,
  seen bigint NOT NULL,
  PRIMARY KEY (org_slug, template_id, copy_id, bucket_start, outcome)
);
