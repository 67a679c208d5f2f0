-- Deliveries that ended, by hour, so that counting them does not read them.
CREATE TABLE IF NOT EXISTS delivery_counts (
  org_slug text NOT NULL,
  hour timestamptz NOT NULL,
  state text NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (org_slug, hour, state)
);
