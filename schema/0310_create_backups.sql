-- The last backup of the embedded database, so that its age can be measured.
CREATE TABLE IF NOT EXISTS backups (
  is_last boolean PRIMARY KEY CHECK (is_last),
  shows_at timestamptz NOT NULL,
  verified_at timestamptz
);
