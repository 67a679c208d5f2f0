-- What was done to the installation as a whole, newest first: entries of no organization, and organizations made.
CREATE INDEX IF NOT EXISTS audit_entries_of_installation_idx
  ON audit_entries (id DESC) WHERE (org_slug IS NULL OR action = 'organization created');
