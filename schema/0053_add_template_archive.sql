-- Since when a template is archived: kept with its results, and served to nobody. Null: in use.
ALTER TABLE templates ADD COLUMN IF NOT EXISTS archived_at timestamptz;
