-- Variants that could not be rendered for a decision, in the order in which they were chosen: a JSON array of objects with copy_id, and
-- for one that was drawn also mode, propensity and weights of the draw. The decision's copy_id is the variant that was sent in their
-- place. NULL if the chosen variant was rendered.
ALTER TABLE decisions ADD COLUMN IF NOT EXISTS failed json;
-- Renderings that failed. Of learned decisions they are part of `decisions`; of forced ones they are not.
ALTER TABLE tallies ADD COLUMN IF NOT EXISTS unrendered integer NOT NULL DEFAULT 0;
CREATE OR REPLACE VIEW export_decisions AS
SELECT d.org_slug, d.tracking_id, d.template_id, nullif(d.copy_id, '') AS copy_id, d.user_id, d.segment, d.mode, d.holdout,
  d.propensity, d.weights, d.policy, d.lookback_days, d.offset_days, d.decided_at, d.failed
FROM decisions d;
