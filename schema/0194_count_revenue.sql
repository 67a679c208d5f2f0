-- The currency of the organization's revenue, ISO 4217. Null: values count whatever their currency.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS currency text;
-- How the conversions of a template count as revenue. Templates without a row count none.
CREATE TABLE IF NOT EXISTS revenue_rules (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  -- The most that one decision counts for.
  cap double precision NOT NULL,
  -- Conversions in another currency count without value.
  currency text,
  PRIMARY KEY (org_slug, template_id)
);
-- Revenue in thousandths, the sum of squares in billionths of the squared cap, and conversions in another currency.
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS revenue bigint NOT NULL DEFAULT 0;
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS revenue_square bigint NOT NULL DEFAULT 0;
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS other_currency integer NOT NULL DEFAULT 0;
-- Finds the decisions that have to be counted again when a rule changes.
CREATE INDEX IF NOT EXISTS events_with_value ON events (org_slug, template_id, tracking_id) WHERE value IS NOT NULL;
