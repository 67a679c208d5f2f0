CREATE TABLE IF NOT EXISTS dispatch_lanes (
  org_slug text NOT NULL,
  -- Rises with every taking of the lane: who holds an older one has lost it.
  fence bigint NOT NULL,
  owner text NOT NULL,
  lease_until timestamptz NOT NULL,
  -- Messages sent per second of late.
  sent_per_second double precision NOT NULL DEFAULT 0,
  PRIMARY KEY (org_slug)
);
