-- Where a request has the person's locale, and the locale of the texts in `vars`: {"attribute" or "field", "default"}. NULL for a
-- template in one locale.
ALTER TABLE templates ADD COLUMN IF NOT EXISTS locale jsonb;
-- Texts in other locales: an object of texts by variable, by locale.
ALTER TABLE variants ADD COLUMN IF NOT EXISTS locales json NOT NULL DEFAULT '{}';
ALTER TABLE variant_versions ADD COLUMN IF NOT EXISTS locales json NOT NULL DEFAULT '{}';
-- The locale of the texts that were sent, which the segment contains. NULL for a template in one locale.
CREATE OR REPLACE VIEW export_decisions AS
SELECT d.org_slug, d.tracking_id, d.template_id, nullif(d.copy_id, '') AS copy_id, d.user_id, d.segment, d.mode, d.holdout,
  d.propensity, d.weights, d.policy, d.lookback_days, d.offset_days, d.decided_at, d.failed,
  substring(d.segment FROM '(?:^|&)copy_locale=([^&]*)') AS locale
FROM decisions d;
