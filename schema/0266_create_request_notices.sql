-- Requests of which somebody should know, by kind and hour. Kept for a day.
CREATE TABLE IF NOT EXISTS request_notices (
  org_slug text NOT NULL REFERENCES organizations (slug),
  template_id text NOT NULL,
  -- `repeated`: a tracking id for another person or message. `unfilled`: a placeholder that nobody filled in.
  kind text NOT NULL,
  -- Start of the hour.
  hour timestamptz NOT NULL,
  requests bigint NOT NULL,
  -- The members that the latest of these requests is noticed for, such as `user_id, attrs.tier`.
  members text NOT NULL,
  PRIMARY KEY (org_slug, template_id, kind, hour)
);

-- Its successor is above. No release has it.
DROP TABLE IF EXISTS repeated_tracking_ids;
