-- Settled decisions weighted to an even choice, by day (UTC). A decision has the weight (1 / K) / p: it was chosen among K
-- variants with the probability p. `people` is one of 32 groups that people are divided into by chance. `measure` is
-- `decisions`, or an outcome; then only decisions with that outcome count. `weight` and `square` are the sums of the
-- weights and of their squares, in millionths. `left_out` counts decisions in which a variant could hardly be chosen.
CREATE TABLE IF NOT EXISTS even_split_tallies (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamptz NOT NULL,
  people smallint NOT NULL,
  measure text NOT NULL,
  count bigint NOT NULL,
  weight bigint NOT NULL,
  square bigint NOT NULL,
  PRIMARY KEY (org_slug, template_id, day, people, measure)
);
