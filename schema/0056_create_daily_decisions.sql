-- Decisions of each variant on each of the last days (UTC), of all tracks. Lists of templates show them without
-- summing tallies. Written together with tallies.
CREATE TABLE IF NOT EXISTS daily_decisions (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamptz NOT NULL,
  copy_id text NOT NULL,
  decisions integer NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, copy_id)
);
INSERT INTO daily_decisions (org_slug, template_id, day, copy_id, decisions)
  SELECT t.org_slug, t.template_id, date_bin('1 day', t.bucket_start, 'epoch'), t.copy_id, sum(t.decisions)
  FROM tallies t WHERE t.bucket_start >= now() - interval '15 days'
  GROUP BY 1, 2, 3, 4 HAVING sum(t.decisions) > 0
  ON CONFLICT DO NOTHING;
