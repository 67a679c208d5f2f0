-- Text of the editor that is not saved yet, of one author each. The variant is empty for a new one. The author is named as in
-- the audit log.
CREATE TABLE IF NOT EXISTS variant_drafts (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  variant_id text NOT NULL,
  author text NOT NULL,
  form json NOT NULL,
  -- The time of the variant that the text began from; null for a new variant.
  base timestamptz,
  saved_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, template_id, variant_id, author),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates (org_slug, id) ON DELETE CASCADE
);
