-- For how many days decisions and events are kept, and received bodies that were understood.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS retention_days integer NOT NULL DEFAULT 400;
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS inbox_retention_days integer NOT NULL DEFAULT 30;
