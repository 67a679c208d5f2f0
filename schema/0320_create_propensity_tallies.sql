-- Settled decisions weighted by the inverse of their propensity, by day (UTC), set of candidates and variant. `candidates` is a
-- digest of the ids of all candidates. `measure` is `offered` (decisions with the variant as a candidate, and the sum of its
-- inverse propensities), `decisions` (decisions that chose the variant), or an outcome of these. `weight` and `square` are sums
-- of inverse propensities and of their squares, in thousandths.
CREATE TABLE IF NOT EXISTS propensity_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamptz NOT NULL,
  candidates text NOT NULL,
  copy_id text NOT NULL,
  measure text NOT NULL,
  count bigint NOT NULL,
  weight bigint NOT NULL,
  square bigint NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, candidates, copy_id, measure)
);
