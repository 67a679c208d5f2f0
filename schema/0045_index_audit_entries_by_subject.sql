-- The changes of one template, newest first: subjects are `template` or `template / variant`.
CREATE INDEX IF NOT EXISTS audit_entries_org_slug_subject_idx
  ON audit_entries (org_slug, split_part(subject, ' / ', 1), id DESC);
