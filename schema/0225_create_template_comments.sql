-- Comments on templates and variants. `text` is plain; `<@ACCOUNT_ID>` in it is a mention of a member in `mentions`.
CREATE TABLE IF NOT EXISTS template_comments (
  org_slug text NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  template_id text NOT NULL,
  -- The variant that the comment is about; null: the template. A variant may have been deleted since.
  variant_id text,
  -- `member:ACCOUNT_ID`, `key:KEY_ID` or `token`.
  author text NOT NULL,
  text text NOT NULL,
  mentions text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL,
  edited_at timestamptz,
  resolved_at timestamptz,
  resolved_by text,
  PRIMARY KEY (org_slug, id),
  FOREIGN KEY (org_slug, template_id) REFERENCES templates (org_slug, id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS template_comments_template_idx ON template_comments (org_slug, template_id, id DESC);
