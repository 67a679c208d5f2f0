-- Targets of tracked links that all recipients share, by a digest of the address. Each organization has its own.
CREATE TABLE IF NOT EXISTS tracked_links (
  org_slug text NOT NULL,
  -- The first 12 bytes of the SHA-256 of the target, base64url.
  key text NOT NULL,
  -- `<tracking_id>` in it stands for the tracking id of the message.
  target text NOT NULL,
  -- The last day (UTC) on which a message with this link was queued.
  used_on date NOT NULL,
  PRIMARY KEY (org_slug, key)
);
-- Targets of the tracked links that only this message has, in the order of their numbers. Null once the person has
-- been erased.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS links json;
