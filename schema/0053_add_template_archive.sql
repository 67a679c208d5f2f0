-- The time of archiving: the template is kept with its results and not served. Null: in use.
ALTER TABLE templates ADD COLUMN IF NOT EXISTS archived_at timestamptz;
