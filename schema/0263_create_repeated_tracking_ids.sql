-- Requests that repeated a tracking id for another person or message, by hour. Kept for a day.
CREATE TABLE IF NOT EXISTS repeated_tracking_ids (
  org_slug text NOT NULL REFERENCES organizations (slug),
  template_id text NOT NULL,
  -- Start of the hour.
  hour timestamptz NOT NULL,
  requests bigint NOT NULL,
  -- What differed in the latest of these requests, such as `user_id, attrs.tier`.
  members text NOT NULL,
  PRIMARY KEY (org_slug, template_id, hour)
);
