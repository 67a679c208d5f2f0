-- Entries about the whole installation, newest first: entries without an organization, and created organizations.
CREATE INDEX IF NOT EXISTS audit_entries_of_installation_idx
  ON audit_entries (id DESC) WHERE (org_slug IS NULL OR action = 'organization created');
