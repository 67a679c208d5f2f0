-- The client address of the request that made the change; NULL without a request.
ALTER TABLE audit_entries ADD COLUMN IF NOT EXISTS address text;
