-- Changes to live templates that wait for approval, and what became of them.
CREATE TABLE IF NOT EXISTS template_proposals (
  org_slug text NOT NULL REFERENCES organizations (slug),
  id bigint GENERATED ALWAYS AS IDENTITY,
  -- No reference: the template may not exist yet, or no longer.
  template_id text NOT NULL,
  -- `member:ACCOUNT_ID` or `key:KEY_ID`, also in decided_by, where `token` is the admin token.
  author text NOT NULL,
  state text NOT NULL,
  -- The live content that the change was made from; null: the template did not exist.
  base json,
  -- The content after the change; null: the template is deleted.
  proposed json,
  -- Grows with every change of the proposal, so that nobody approves what they have not seen.
  version integer NOT NULL,
  note text NOT NULL DEFAULT '',
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  decided_by text,
  decided_at timestamptz,
  comment text,
  PRIMARY KEY (org_slug, id)
);
-- An author has one open proposal for a template, which collects the changes.
CREATE UNIQUE INDEX IF NOT EXISTS template_proposals_open_idx ON template_proposals (org_slug, template_id, author)
  WHERE state = 'requested';
CREATE INDEX IF NOT EXISTS template_proposals_template_idx ON template_proposals (org_slug, template_id, id DESC);
