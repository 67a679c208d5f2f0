-- When addresses were last taken off the suppression list, one row for each reason: by a person, or by opting in again. Older
-- reports that arrive later do not put the address back. Owned by src/suppressions.
CREATE TABLE IF NOT EXISTS suppression_removals (
  org_slug text NOT NULL,
  address_key text NOT NULL,
  reason text NOT NULL,
  -- When the person opted in, or the entry was removed. Only increases.
  removed_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, address_key, reason)
);
-- Time of the latest report for the entry. Null: there was one report, at `suppressed_at`.
ALTER TABLE suppressions ADD COLUMN IF NOT EXISTS last_reported_at timestamptz;
-- Entries of addresses that were stored with angle brackets or a prefix around them, and had no effect.
INSERT INTO suppressions (org_slug, address_key, reason, source, suppressed_at)
SELECT s.org_slug, f.address, s.reason, s.source, s.suppressed_at
FROM suppressions s
CROSS JOIN LATERAL (
  SELECT substring(s.address_key FROM '^(?:mailto:|rfc822;|smtp:)?<?([^[:space:]@<>(),;:"]+@[a-z0-9.-]*[a-z0-9])>?[.,;]*$') AS address
) f
WHERE f.address IS NOT NULL AND f.address <> s.address_key
ON CONFLICT DO NOTHING;
